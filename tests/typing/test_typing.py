"""What the types promise, asked of the type checker."""

import sys
from pathlib import Path

import pytest
import re2

mypy = pytest.importorskip("mypy.api", reason="mypy comes with the extra dev")
HERE = Path(__file__).parent


FILES = [HERE / "credential_keys.py", HERE / "sdk.py"]


def test_what_must_be_refused_is_refused_and_nothing_else(tmp_path: Path) -> None:
    root = HERE.parents[1]
    options = ["--config-file", str(root / "pyproject.toml"), "--cache-dir", str(tmp_path), "--no-pretty"]
    limit = sys.getrecursionlimit()  # which mypy raises
    told, crashed, _ = mypy.run([*options, "--hide-error-context", *map(str, FILES)])
    sys.setrecursionlimit(limit)
    found = {
        (match.group(1), int(match.group(2)), match.group(3))
        for line in told.splitlines()
        if (match := re2.match(r".*?(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", line))
    }
    expected = {
        (file.name, number, line.rpartition("  # ")[2])
        for file in FILES
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if "  # " in line
    }
    assert not crashed
    assert found == expected, told
