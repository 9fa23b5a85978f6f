"""The way of a new user, timed: `python -m tests.docs.new_user` installs the wheel, plays the tutorial and the page about an
own trigger type, and upgrades, in an environment of its own; each command is printed with its seconds.

It needs an index of packages and kubectl.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.docs.terminal import Terminal, play
from tests.places import ROOT


class Timer:
    """Seconds of each command, printed when the next one begins."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._line = ""

    def typed(self, line: str) -> None:
        """Tell how long the command before took."""
        now = time.monotonic()
        if self._line:
            sys.stdout.write(f"{now - self._last:6.1f} s  {self._line}\n")
        self._line, self._last = line, now

    def end(self) -> None:
        """Tell the last command, and all together."""
        self.typed("")
        sys.stdout.write(f"{time.monotonic() - self._began:6.1f} s  in all\n")


def main() -> int:
    """Go the whole way; any command that fails ends it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheel = _wheel(folder)
        timer = Timer()
        bin_ = folder / "venv" / "bin"
        pip = f"{bin_}/python -m pip install --quiet --disable-pip-version-check"
        _run(timer, f"{sys.executable} -m venv {folder / 'venv'}")
        _run(timer, f"{pip} keda-py[all]@file://{wheel}")
        terminal = Terminal(folder, [str(bin_ / "keda-py")])
        try:
            play((ROOT / "docs" / "pages" / "tutorial.md").read_text(encoding="utf-8"), terminal, timer.typed)
        finally:
            terminal.close()
        shutil.copytree(ROOT / "examples" / "custom-scaler", folder / "custom-scaler")
        _run(timer, f"{pip} {folder / 'custom-scaler'} pytest")
        _run(timer, f"{bin_}/keda-py scalers acme-queue")
        _run(timer, f"{bin_}/python -m pytest -q {folder / 'custom-scaler'}")
        _run(timer, f"{pip} --upgrade --force-reinstall --no-deps keda-py[all]@file://{wheel}")
        _run(timer, f"{bin_}/keda-py --version")
        timer.end()
    return 0


def _wheel(folder: Path) -> Path:
    """Build the wheel that the index would have."""
    source = folder / "source"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    built = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)]
    subprocess.run(built, check=True)
    (wheel,) = folder.glob("keda_py-*.whl")
    return wheel


def _run(timer: Timer, line: str) -> None:
    timer.typed(line)
    subprocess.run(line.split(), check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
