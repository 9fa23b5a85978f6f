"""Consoles: a terminal has colours and a width (COLUMNS is obeyed); a pipe has neither, its lines never wrap.

Commands that the image runs take `Text` and `Console` from here: rich's, or the plain ones where rich is not installed.
"""

from typing import TextIO

from keda_py.terminal.wrapping import cells_of, wrap

try:
    from rich.console import Console
    from rich.text import Text
except ModuleNotFoundError:
    from keda_py.terminal.plain import Console, Text  # type: ignore[assignment]

__all__ = ["Console", "Text", "console_of", "tell"]

UNBOUNDED = 1_000_000
"""Columns of a pipe: wider than any line."""


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
