"""Stand-ins for rich where it is not installed, as in the operator's image: the same text without colours.

They have what `console.py` and `table.py` use and no more. The operator itself prints only logs.
"""

import shutil
from collections.abc import Iterable
from typing import Any, TextIO


class Text:
    """A text whose style is not shown; the signatures are those of rich.Text."""

    def __init__(self, text: str = "", style: str = "", **_layout: Any) -> None:
        self.plain, self.style = text, style

    def __str__(self) -> str:
        return self.plain

    def append(self, more: "str | Text", _style: str | None = None) -> "Text":
        """Put `more` behind what is there."""
        self.plain += str(more)
        return self

    def rstrip(self) -> None:
        """Take the blanks off the end."""
        self.plain = self.plain.rstrip()

    def join(self, parts: Iterable["Text"]) -> "Text":
        """Join texts into one, with this one between any two."""
        return Text(self.plain.join(part.plain for part in parts))

    @staticmethod
    def assemble(*parts: "str | Text | tuple[str, str]") -> "Text":
        """Join parts into one text; a pair is a text and its style."""
        return Text("".join(part[0] if isinstance(part, tuple) else str(part) for part in parts))


class Console:
    """Writes texts to a file; a pipe has the width that it is given."""

    def __init__(self, file: TextIO, *, width: int | None = None, **_highlighting: Any) -> None:
        self.file, self.is_terminal = file, file.isatty()
        self.width = width or shutil.get_terminal_size().columns

    def print(self, *texts: "str | Text", sep: str = " ", **_wrapping: Any) -> None:
        """Write the texts one after another, and end the line."""
        self.file.write(sep.join(map(str, texts)) + "\n")
