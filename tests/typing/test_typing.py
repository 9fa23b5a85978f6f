"""What the types promise, asked of the type checker."""

from pathlib import Path

import pytest
import re2

mypy = pytest.importorskip("mypy.api", reason="mypy comes with the extra dev")
HERE = Path(__file__).parent


@pytest.mark.parametrize("name", ["credential_keys.py", "sdk.py"])
def test_what_must_be_refused_is_refused_and_nothing_else(name: str, tmp_path: Path) -> None:
    file = HERE / name
    root = HERE.parents[1]
    options = ["--config-file", str(root / "pyproject.toml"), "--cache-dir", str(tmp_path), "--no-pretty"]
    told, crashed, _ = mypy.run([*options, "--hide-error-context", str(file)])
    found = {
        (int(match.group(1)), match.group(2))
        for line in told.splitlines()
        if (match := re2.match(r".*\.py:(\d+): error: .*\[([\w-]+)\]$", line))
    }
    lines = enumerate(file.read_text().splitlines(), start=1)
    expected = {(number, line.rpartition("  # ")[2]) for number, line in lines if "  # " in line}
    assert not crashed
    assert found == expected, told
