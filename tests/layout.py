"""The layout of the code as its packages tell it. `python -m tests.layout` writes it into CONTRIBUTING.md."""

import ast
from pathlib import Path

from tests.places import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
MARK = "layout"


def layout() -> str:
    """A table: each package at the top, and the first line of its docstring; those below are listed by their parent."""
    patterns = ("keda_py/__init__.py", "keda_py/*/__init__.py", "scalers/__init__.py")
    packages = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    rows = [f"| `{path.parent.relative_to(ROOT)}/` | {_first_line(path)} |" for path in packages]
    return "\n".join(["| folder | what it holds |", "|---|---|", *rows, ""])


def _first_line(path: Path) -> str:
    told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert told, f"{path} says nothing of itself"
    return told.partition("\n")[0].replace("|", "\\|")


def write() -> None:
    """Put it between the marks of the page."""
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {MARK} -->\n")
    _, end, after = rest.partition(f"<!-- /{MARK} -->")
    PAGE.write_text(f"{before}{mark}{layout()}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    write()
