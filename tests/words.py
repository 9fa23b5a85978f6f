"""Phrases that the code does without: it names the client, replica, user or scaler instead. `python -m tests.words`."""

import sys
from collections.abc import Collection, Iterable

import re2

from tests.places import ROOT

FOLDERS = ("keda_py", "scalers", "charts", "examples")
SUFFIXES = {".py", ".md", ".tpl", ".yaml", ".json", ".txt"}
NOUNS = ("name", "number", "address", "type", "kind", "text", "time", "object")
PHRASES = (
    *("whoever", "whatever is", "nobody", "somebody", "that is none", "there is none"),
    *("lendings", "namesakes"),
    *(f"is no {noun}" for noun in NOUNS),
)
ALLOWED: frozenset[str] = frozenset()
"""Texts that must stay, word for word, because KEDA or Kubernetes print them."""
_GAP = r"[\s#]+"  # a phrase may be broken over two lines, also of a comment
_PATTERN = re2.compile("(?i)" + "|".join(rf"\b{phrase.replace(' ', _GAP)}\b" for phrase in PHRASES))


def hits_in(text: str, allowed: Collection[str] = ALLOWED) -> list[tuple[int, str]]:
    """The number and the text of each line on which a phrase begins."""
    for known in allowed:
        text = text.replace(known, re2.sub(r"[^\n]", "-", known))
    starts = [text.count("\n", 0, found.start()) for found in _PATTERN.finditer(text)]
    lines = text.split("\n")
    return [(start + 1, lines[start].strip()) for start in dict.fromkeys(starts)]


def hits(folders: Iterable[str] = FOLDERS) -> list[str]:
    """`path:line: text` of each line of our code, charts and examples that has a phrase."""
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    paths = [path for path in found if path.suffix in SUFFIXES and path.is_file()]
    return [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in paths
        for line, text in hits_in(path.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    sys.exit("\n".join(hits()) or 0)
