"""A shell that plays the console blocks of a page: files are written, commands typed, and what they print is compared."""

import os
import re  # noqa: TID251 - constant patterns over our own files
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.programs.client import Running, run, start
from tests.waiting import PAUSE

SECONDS = 120
_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Terminal:
    """A shell's folder and environment, and the cluster that was started behind it; `command` stands for keda-py."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self.folder = folder
        self.command = command
        self.environment = {**os.environ, "NO_COLOR": "1", "TZ": "UTC", "COLUMNS": "100"}
        self._behind: list[Running] = []

    def type(self, line: str) -> str:
        """What the command prints, "" for one that stays behind or sets a variable."""
        words = shlex.split(line)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.environment[name] = str(self.folder / value)
            return ""
        if words[0] == "keda-py":
            words[:1] = self.command
        if words[-1] == "&":
            self._start(words[:-1])
            return ""
        done = run(words[1:], program=words[:1], cwd=self.folder, env=self.environment)
        return done.stdout + done.stderr

    def _start(self, words: list[str]) -> None:
        """Start it behind the others, and wait for the kubeconfig that it writes."""
        written = self.folder / words[words.index("--kubeconfig") + 1]
        self._behind.append(start(words[1:], program=words[:1], cwd=self.folder, env=self.environment))
        end = time.monotonic() + SECONDS
        while not written.exists() or "server" not in written.read_text():
            assert time.monotonic() < end, "the cluster did not start"
            time.sleep(PAUSE)

    def close(self) -> None:
        """End what was started behind the others."""
        for process in self._behind:
            process.terminate()
            process.wait(SECONDS)


def play(page: str, terminal: Terminal, typed: Callable[[str], None] = lambda line: None) -> int:
    """Play a page, and return how many commands it has; `typed` hears each before it runs. Fails on another output."""
    commands = 0
    for kind, title, text in _BLOCK.findall(page):
        if title:
            (terminal.folder / title).write_text(text, encoding="utf-8")
        for line, expected in _steps(text) if kind == "console" else ():
            typed(line)
            printed = terminal.type(line)
            missing = [one for one in expected if one not in printed]
            assert not missing, f"$ {line}\n{printed}"
            commands += 1
    return commands


def _steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a block, and the lines that it is said to print."""
    for part in text.split("$ ")[1:]:
        line, *expected = part.strip().splitlines()
        yield line, expected
