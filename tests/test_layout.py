"""The house: no room with more than sixteen files, nothing loose in the hall, no circle between rooms."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.places import ROOT

MOST_FILES = 16
LOOSE = {"__init__", "__main__", "clock", "errors", "logs", "testing"}
"""The modules of `keda_py` itself, each a room of its own."""


def modules() -> dict[str, Path]:
    """By dotted name; a package is called as its folder."""
    found = [path for top in ("keda_py", "scalers") for path in (ROOT / top).rglob("*.py")]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in found}


def room_of(name: str, path: Path) -> str:
    """The folder a module is in."""
    if path.name == "__init__.py":
        return name
    parent = name.rpartition(".")[0]
    return name if parent == "keda_py" else parent


def imports() -> dict[str, set[str]]:
    """Room -> the rooms that it imports from, also for types alone."""
    known = modules()
    graph: dict[str, set[str]] = defaultdict(set)
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for target in _targets(node):
                module = target if target in known else target.rpartition(".")[0]
                if module in known and room_of(module, known[module]) != room_of(name, path):
                    graph[room_of(name, path)].add(room_of(module, known[module]))
    return graph


def _targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The rooms of one circle, none: there is no circle."""
    done: set[str] = set()

    def walk(room: str, way: list[str]) -> list[str]:
        if room in way:
            return [*way[way.index(room) :], room]
        if room not in done:
            for following in sorted(graph.get(room, ())):
                if found := walk(following, [*way, room]):
                    return found
            done.add(room)
        return []

    return next((found for room in sorted(graph) if (found := walk(room, []))), [])


def test_no_folder_has_more_files_than_one_can_know() -> None:
    # A trigger type is a file in `scalers`, however many there are.
    folders = {path.parent for path in modules().values()} - {ROOT / "scalers"}
    counts = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: count for name, count in counts.items() if count > MOST_FILES + 1} == {}


def test_no_module_is_loose_at_the_root() -> None:
    assert {path.stem for path in (ROOT / "keda_py").glob("*.py")} == LOOSE


def test_no_circle_leads_from_folder_to_folder() -> None:
    assert circle(imports()) == []


def test_a_circle_would_be_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
