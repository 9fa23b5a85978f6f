"""Prose that names a file names one that exists: in docstrings, comments and documents, between backticks."""

import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import re2

from tests.places import ROOT

NAMED = re2.compile(r"`([A-Za-z0-9_.*-]+(?:/[A-Za-z0-9_.*-]+)*\.py|[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*/)`")
SOURCES = ("keda_py", "scalers", "tests")
SAID_OF_OTHERS = {"x.py", "your_scaler.py", "acme.py"}
"""Files of users in examples."""


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and texts that are comments or docstrings; all of a document."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and '"""' in token.string):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def places(path: Path) -> list[Path]:
    """Where a name may begin: beside the file, in each of its packages, at the root, below keda_py or tests."""
    packages = [folder for folder in path.parents if folder == ROOT or ROOT in folder.parents]
    return [*packages, ROOT / "keda_py", ROOT / "tests", ROOT / "scalers"]


def exists(name: str, path: Path) -> bool:
    if path.suffix != ".py" and is_ours(name):
        return True
    for place in places(path):
        if "*" in name:
            if any(place.glob(name)):
                return True
        elif (found := place / name).is_dir() if name.endswith("/") else (found := place / name).is_file():
            return found.resolve().is_relative_to(ROOT)
    return False


@cache
def is_ours(name: str) -> bool:
    """Anywhere below keda_py."""
    return any((ROOT / "keda_py").rglob(name))


def lost(text: str, path: Path) -> list[str]:
    """The names in a text of that file that lead nowhere."""
    return [name for name in NAMED.findall(text) if name not in SAID_OF_OTHERS and not exists(name, path)]


def documents() -> list[Path]:
    sources = [path for top in SOURCES for path in (ROOT / top).rglob("*.py")]
    pages = [path for top in ("charts", "docs") for path in (ROOT / top).rglob("*.md")]
    return sorted([*sources, *pages, *ROOT.glob("*.md")])


def missing() -> list[str]:
    """Which part of a file is prose takes long to tell: only of a file that has such a name anywhere."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {name}"
        for path in documents()
        if lost(path.read_text(encoding="utf-8"), path)
        for number, line in prose(path)
        for name in lost(line, path)
    ]


def test_every_file_that_prose_names_exists() -> None:
    assert missing() == []


def test_a_file_that_does_not_exist_would_be_found() -> None:
    assert not exists("no_such_module.py", ROOT / "keda_py" / "clock.py")
    assert not exists("no_such_room/", ROOT / "keda_py" / "clock.py")
    assert exists("core/decision.py", ROOT / "keda_py" / "clock.py")
    assert NAMED.findall("see `core/decision.py`, `core/` and `x.pyc`") == ["core/decision.py", "core/"]
