"""Phrases that the code does without, and openings that its docstrings do without. `python -m tests.words`.

The code names the client, replica, user or scaler; a docstring begins with a verb or a noun.
"""

import ast
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


_OPENINGS = re2.compile(
    r"(?i)^(Of (one|each|an?|the|what)\b|What (is|was|of|it)\b|Whether as many|From now on\b|Nothing is\b|None where\b"
    r"|How it\b|That of\b|As it is\b|Where it\b|Who (is|was|may)\b)"
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def riddles_in(code: str) -> list[tuple[int, str]]:
    """Return the line and the first line of each docstring that begins with neither a verb nor a noun."""
    documented = (node for node in ast.walk(ast.parse(code)) if isinstance(node, _DOCUMENTED))
    texts = ((getattr(node, "lineno", 1), ast.get_docstring(node) or "") for node in documented)
    return [(line, text.partition("\n")[0]) for line, text in texts if _OPENINGS.search(text)]


def riddles(folders: Iterable[str] = ("keda_py", "scalers")) -> list[str]:
    """Return `path:line: text` of each such docstring of our code."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in paths
        for line, text in riddles_in(path.read_text(encoding="utf-8"))
    ]


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
    sys.exit("\n".join([*hits(), *riddles()]) or 0)
