"""Colours and examples of the command line; plain text where stdout is no terminal or NO_COLOR is set."""

import os
import sys
from collections.abc import Iterable
from typing import Literal

from keda_py.terminal.foreign import printable

Style = Literal["heading", "command", "comment", "error", "warning"]
_STYLES: dict[Style, str] = {"heading": "1", "command": "36", "comment": "2", "error": "31", "warning": "33"}

COMPLETING = "_ARGCOMPLETE"
"""A variable that a shell sets to ask how the words of a line go on: argcomplete's name."""

Examples = Iterable[tuple[str, str]]
"""(command line, what it is good for)."""


def paint(text: str, style: Style) -> str:
    """The text in a style, for a terminal."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def foreign(text: str) -> str:
    """What files, a cluster or a source wrote: it commands no terminal, and begins no line as ours begin."""
    return printable(text).replace("\n", "\n    ")


def render_examples(examples: Examples) -> str:
    """The examples as a block of a help page; nothing where there are none."""
    rows = [f"  {paint(line, 'command')}\n      {paint(purpose, 'comment')}" for line, purpose in examples]
    return "\n".join([paint("examples:", "heading"), *rows, ""]) if rows else ""
