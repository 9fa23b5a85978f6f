"""Consoles: a terminal has colours and a width (COLUMNS is obeyed); a pipe has neither, its lines never wrap.

Commands that the image runs take `Text` and `Console` from here: rich's, or the plain ones where rich is not installed.
"""

import sys
from collections.abc import Iterable
from types import TracebackType
from typing import TextIO

from keda_py.errors import ConfigError
from keda_py.terminal.wrapping import cells_of, wrap

try:
    from rich.console import Console
    from rich.text import Text
except ModuleNotFoundError:
    from keda_py.terminal.plain import Console, Text  # type: ignore[assignment]

__all__ = ["Console", "Text", "console_of", "tell"]

UNBOUNDED = 1_000_000
"""Columns of a pipe: wider than any line."""


# A bar on stderr that shows how far something is, where a person watches; nothing in a pipe.


_WIDTH = 30


class Bar:
    """Use it as a context manager: it is gone afterwards."""

    def __init__(self, title: str) -> None:
        self._title, self._shown = title, ""

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def show(self, share: float, at: str) -> None:
        """A share from 0 to 1, and a word for what is done now."""
        if not sys.stderr.isatty():
            return
        done = round(share * _WIDTH)
        shown = f"{self._title} [{'#' * done}{'.' * (_WIDTH - done)}] {share:4.0%} {at}"
        if shown != self._shown:
            self._shown = shown
            sys.stderr.write(f"\r\x1b[K{shown}")
            sys.stderr.flush()


def console_of(file: TextIO) -> Console:
    """Make a console that writes to `file` and breaks no line if that is a pipe or a file."""
    console = Console(file=file, highlight=False)
    return console if console.is_terminal else Console(file=file, highlight=False, width=UNBOUNDED)


def tell(console: Console, text: str, *, style: str = "", indent: str = "") -> None:
    """Print a sentence that breaks between words; `indent` stands before the first line, blanks before the others."""
    lines = wrap(text, console.width - cells_of(indent))
    for number, line in enumerate(lines):
        before = indent if number == 0 else " " * cells_of(indent)
        console.print(Text.assemble(before, (line, style)), soft_wrap=True)


# One question before something is done to several objects: what will happen is listed, then asked.
#
# List and question go to stderr, so that what is done, which goes to stdout, can be piped.

_YES = ("y", "yes")


def confirm(listed: Iterable[str], question: str, *, yes: bool) -> bool:
    """Whether the user agrees; with `yes` without a question. Raises ConfigError where there is no terminal to ask at.

    It blocks until a line is typed: do not call it on an event loop.
    """
    console = console_of(sys.stderr)
    for line in listed:
        tell(console, line)
    if yes:
        return True
    if not sys.stdin.isatty():
        text = f"--yes: {question} There is no terminal to ask at; add --yes to do it, or --dry-run to see it only"
        raise ConfigError(text, field="--yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _YES
