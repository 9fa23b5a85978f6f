"""Text that tenants, files and sources wrote, for a terminal, a page or a program: none of it is obeyed.

Control characters (C0 and C1), bidirectional and invisible ones, and separators of lines and paragraphs are written as
`\\u202e`: a reader sees that they are there, and in JSON the escape means the character itself.
"""

import sys
from collections.abc import Mapping
from typing import Any
from unicodedata import category

_INSTEAD = {"\t": " ", "\r": "", "\n": "\n"}


def printable(text: str) -> str:
    """Replace by escapes what a terminal or a browser would obey; line feeds stay."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _INSTEAD.get(one) or _escaped(one) for one in text)


def printable_values(value: Any) -> Any:
    """Escape all texts of a JSON value, for a page that shows them."""
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {printable(key): printable_values(one) for key, one in value.items()}
        case list() | tuple():
            return [printable_values(one) for one in value]
    return value


def json_of(body: Any, *, indent: bool = True) -> str:
    """Encode JSON with a line feed: the same values for a program, and nothing that a terminal would obey."""
    import orjson  # not for the pages of help

    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z | (orjson.OPT_INDENT_2 if indent else 0)
    return printable(orjson.dumps(body, option=option).decode())


def write_json(body: Any, *, indent: bool = True) -> None:
    """Print a JSON document that is harmless on a terminal."""
    sys.stdout.buffer.write(json_of(body, indent=indent).encode())


def _escaped(letter: str) -> str:
    """`\\u202e`, an escape as in JSON, two of them beyond U+FFFF. A wide blank is harmless and stays."""
    if letter == "\r" or category(letter) == "Zs":
        return "" if letter == "\r" else letter
    pairs = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pairs[at]:02x}{pairs[at + 1]:02x}" for at in range(0, len(pairs), 2))
