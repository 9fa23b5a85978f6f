"""The tutorial, played as it stands: its files are written, its commands typed, and the terminal says what the page says."""

import os
import re  # noqa: TID251 - constant patterns over our own files
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.waiting import PAUSE

PAGE = (ROOT / "docs" / "pages" / "tutorial.md").read_text(encoding="utf-8")
SECONDS = 120
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


class Terminal:
    """A shell's folder and environment, and the cluster that was started behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "NO_COLOR": "1", "TZ": "UTC", "COLUMNS": "100"}
        self.behind: list[subprocess.Popen[bytes]] = []

    def type(self, line: str) -> str:
        """What the command prints, "" for one that stays behind or sets a variable."""
        words = shlex.split(line)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.environment[name] = str(self.folder / value)
            return ""
        if words[0] == "keda-py":
            words[:1] = [sys.executable, "-m", "keda_py"]
        if words[-1] == "&":
            self._start(words[:-1])
            return ""
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        return done.stdout + done.stderr

    def _start(self, words: list[str]) -> None:
        """Start it behind the others, and wait for the kubeconfig that it writes."""
        written = self.folder / words[words.index("--kubeconfig") + 1]
        quiet = subprocess.DEVNULL
        self.behind.append(subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=quiet, stderr=quiet))
        end = time.monotonic() + SECONDS
        while not written.exists() or "server" not in written.read_text():
            assert time.monotonic() < end, "the cluster did not start"
            time.sleep(PAUSE)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    for process in opened.behind:
        process.terminate()
        process.wait(SECONDS)


def test_each_command_of_the_tutorial_prints_what_its_page_says(terminal: Terminal) -> None:
    commands = 0
    for kind, title, text in BLOCK.findall(PAGE):
        if title:
            (terminal.folder / title).write_text(text, encoding="utf-8")
        for typed, expected in _steps(text) if kind == "console" else ():
            printed = terminal.type(typed)
            missing = [line for line in expected if line not in printed]
            assert not missing, f"$ {typed}\n{printed}"
            commands += 1
    assert commands > 8


def _steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a block, and the lines that it is said to print."""
    for part in text.split("$ ")[1:]:
        typed, *expected = part.strip().splitlines()
        yield typed, expected
