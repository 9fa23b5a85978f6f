"""Text in lines, broken between words alone: a name or an address is copied whole."""

import shutil
import sys
from unicodedata import east_asian_width

from keda_py.terminal.foreign import printable

ELLIPSIS = "…"


def page_width(most: int) -> int:
    """Return the columns of a help page: those of the terminal (COLUMNS is obeyed) up to `most`; `most` for a pipe."""
    return min(shutil.get_terminal_size((most, 24)).columns, most) if sys.stdout.isatty() else most


def cells_of(text: str) -> int:
    """Count the columns that a text takes; East Asian letters take two."""
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text) if not text.isascii() else len(text)


def wrap(text: str, width: int) -> list[str]:
    """Break into lines of at most `width` cells; a longer word stays whole, so that an address can be copied."""
    lines: list[str] = []
    for given in printable(text).split("\n"):
        line, taken = given, 0
        if cells_of(given) > width:
            line = ""
            for word in given.split():
                size = cells_of(word)
                if line and taken + 1 + size > width:
                    lines.append(line)
                    line, taken = "", 0
                line, taken = (f"{line} {word}", taken + 1 + size) if line else (word, size)
        lines.append(line)
    return lines


def wrap_indented(text: str, width: int) -> list[str]:
    """Wrap a text that begins with blanks, so that each of its lines begins with them."""
    blanks = " " * (len(text) - len(text.lstrip(" ")))
    return [f"{blanks}{line}" for line in wrap(text.lstrip(" "), width - len(blanks))]


def cut(text: str, width: int) -> str:
    """Cut a name to `width` cells: its beginning, an ellipsis, its end, since names often differ at either."""
    if cells_of(text) <= width:
        return text
    head, tail = "", ""
    while cells_of(head) + cells_of(tail) < width - 1:
        if cells_of(head) <= cells_of(tail):
            head += text[len(head)]
        else:
            tail = text[-len(tail) - 1] + tail
    while cells_of(head) + cells_of(tail) > max(width - 1, 0):  # the last letter took two cells
        head, tail = (head[:-1], tail) if head else ("", tail[1:])
    return f"{head}{ELLIPSIS}{tail}"
