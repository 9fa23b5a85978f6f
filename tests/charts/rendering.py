"""Charts rendered by Helm itself, as the objects that they hold."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.documents import read_all
from tests.places import ROOT

CHARTS = ROOT / "charts"
KEDA_PY = CHARTS / "keda-py"
SCALED_APP = CHARTS / "scaled-app"
Obj = dict[str, Any]

if find_spec("helm_python") is None:
    pytest.skip("pip install helm-python-sdk", allow_module_level=True)


def helm() -> ModuleType:
    """Helm, a large library in another language: loaded by who uses it, not by each worker that collects the tests."""
    return import_module("helm_python")


def text(folder: Path, values: Obj) -> str:
    """Everything but the notes; raises what Helm raises."""
    with helm().Chart.load(str(folder)) as chart:
        pages = chart.render(values, name="keda", namespace="keda")
    manifests = (page.strip() for name, page in pages.items() if not name.endswith("NOTES.txt"))
    return "\n---\n".join(page for page in manifests if page).strip()


def render(**values: Any) -> list[Obj]:
    """charts/keda-py with these values."""
    return [document for document in read_all(text(KEDA_PY, values)) if document]


def only(objects: list[Obj], kind: str, name: str, namespace: str = "") -> Obj:
    """The one object of that kind and name."""
    wanted = (kind, name, namespace)
    (found,) = [
        one for one in objects if (one["kind"], one["metadata"]["name"], one["metadata"].get("namespace", "")) == wanted
    ]
    return found


def is_hook(one: Obj) -> bool:
    """Whether Helm creates it at an occasion alone, such as before it uninstalls."""
    return "helm.sh/hook" in (one["metadata"].get("annotations") or {})
