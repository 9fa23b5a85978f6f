"""What the types promise, asked of the type checker."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import re2

from tests.places import ROOT

HERE = Path(__file__).parent


FILES = [HERE / "credential_keys.py", HERE / "sdk.py"]


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy comes with the extra dev")
def test_what_must_be_refused_is_refused_and_nothing_else() -> None:
    """In a process of its own, whose 200 MB end with it; what `make lint` has found out already is in its cache."""
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--no-pretty", "--hide-error-context"]
    command = [sys.executable, "-m", "mypy", *options, *map(str, FILES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    found = {
        (match.group(1), int(match.group(2)), match.group(3))
        for line in done.stdout.splitlines()
        if (match := re2.match(r".*?(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", line))
    }
    expected = {
        (file.name, number, line.rpartition("  # ")[2])
        for file in FILES
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if "  # " in line
    }
    assert done.returncode == 1, done.stderr
    assert found == expected, done.stdout
