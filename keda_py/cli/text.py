"""Colours and examples of the command line; plain text if stdout is not a terminal or NO_COLOR is set."""

import os
import sys
from collections.abc import Iterable
from typing import Literal

from keda_py.terminal.foreign import printable

Style = Literal["heading", "command", "comment", "error", "warning"]
_STYLES: dict[Style, str] = {"heading": "1", "command": "36", "comment": "2", "error": "31", "warning": "33"}

COMPLETING = "_ARGCOMPLETE"
"""Variable of argcomplete that a shell sets to ask for completions."""

Examples = Iterable[tuple[str, str]]
"""(command line, its purpose)."""


def paint(text: str, style: Style) -> str:
    """Add a style to the text if stdout is a terminal."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def foreign(text: str) -> str:
    """Make a text of files, a cluster or a source harmless: no control characters, and no line that looks like ours."""
    return printable(text).replace("\n", "\n    ")


def render_examples(examples: Examples) -> str:
    """Render the examples as a block of a help page; an empty text without examples."""
    rows = [f"  {paint(line, 'command')}\n      {paint(purpose, 'comment')}" for line, purpose in examples]
    return "\n".join([paint("examples:", "heading"), *rows, ""]) if rows else ""


def read_names(text: str) -> tuple[str, ...]:
    """Split names that are separated by commas."""
    return tuple(name for part in text.split(",") if (name := part.strip()))
