"""A function whose name asks a question changes nothing, so that `if state.is_due(now)` needs no second look."""

import ast
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.controller.state import Remembered
from keda_py.operator.sharding.tenures import LOST
from tests.places import ROOT

OPERATOR = ROOT / "keda_py/operator"
PACKAGES = ("controller", "decisions", "process", "scaled_objects", "scaled_jobs", "sharding", "standby")
QUESTIONS = ("is_", "has_", "find", "matches", "covers", "only_", "shows_", "owns", "may_", "knows")


def questions(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.lstrip("_").startswith(QUESTIONS):
            yield node


def changes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it assigns to, or deletes, an attribute or a part of one."""
    written = (node for node in ast.walk(function) if isinstance(node, ast.Attribute | ast.Subscript))
    return any(isinstance(node.ctx, ast.Store | ast.Del) for node in written)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_question_assigns_an_attribute(package: str) -> None:
    files: list[Path] = sorted((OPERATOR / package).glob("*.py"))
    assert files
    asked = [(file.name, function) for file in files for function in questions(file.read_text())]
    assert [f"{name}: {function.name}" for name, function in asked if changes(function)] == []


def test_a_question_that_assigns_is_found() -> None:
    told = "class A:\n    def _is_new(self):\n        self.seen = True\n        return self.seen\n"
    assert [function.name for function in questions(told) if changes(function)] == ["_is_new"]


def version(number: int, generation: int = 1) -> Obj:
    metadata = {"namespace": "shop", "name": "orders", "uid": "u", "resourceVersion": str(number)}
    return {"metadata": metadata | {"generation": generation}}


async def test_a_memory_that_is_asked_stays_as_it_is() -> None:
    state = Remembered(resource=SCALED_OBJECTS, key=ObjectKey("ScaledObject", "shop", "orders"), uid="u")
    state.reconciled.follow(version(1))
    state.reconciled.finish(version(1))
    before = deepcopy(state, {id(LOST): LOST})
    for live in (version(1), version(2), version(3, generation=2)):
        state.reconciled.matches(live)
        state.reconciled.covers(live)
        state.only_looks(live)
    assert not state.due.is_due(-1.0)
    assert state == before
