"""Charts rendered by Helm itself, as the objects that they hold."""

import json
import pickle
from functools import lru_cache
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
    return "\n---\n".join(_manifests(folder, values)).strip()


def render(**values: Any) -> list[Obj]:
    """charts/keda-py with these values; the objects are the caller's own."""
    return [document for page in _pages(json.dumps(values)) for document in pickle.loads(_documents(page))]


def _manifests(folder: Path, values: Obj) -> list[str]:
    """The text of each template that is not empty, without the notes."""
    with helm().Chart.load(str(folder)) as chart:
        pages = chart.render(values, name="keda", namespace="keda")
    texts = (page.strip() for name, page in pages.items() if not name.endswith("NOTES.txt"))
    return [page for page in texts if page]


@lru_cache(maxsize=8)
def _pages(values: str) -> list[str]:
    """Templates of charts/keda-py, rendered once for tests that follow each other with the same values."""
    return _manifests(KEDA_PY, json.loads(values))


@lru_cache(maxsize=256)
def _documents(page: str) -> bytes:
    """Documents of one template, pickled. Most templates are the same whatever the values are, and reading the
    definitions takes Python four times as long as Helm takes for the whole chart."""
    return pickle.dumps([document for document in read_all(page) if document])


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
