"""`scalers/README.md` is what the scalers declare, and what `scalers/reference.toml` says besides."""

import ast
import json
import tomllib
from pathlib import Path

import pytest
import re2

from keda_py.sdk.advanced import Trigger
from keda_py.sdk.context import EngineContext
from keda_py.sdk.reference import render_reference
from keda_py.sdk.registry import build, scaler_class, trigger_types
from keda_py.sdk.type_pages import page_of
from keda_py.testing import as_secrets, shared_context
from tests.scalers.recorded.metadata_cases import recorded_types

SCALERS = Path(__file__).parent.parent / "scalers"
EXCHANGES = Path(__file__).parent / "golden" / "scaler_http.json"


def test_the_table_of_scalers_is_in_step_with_their_declarations() -> None:
    remedy = "run: python -m keda_py.sdk.reference > scalers/README.md"
    assert (SCALERS / "README.md").read_text(encoding="utf-8") == render_reference(), remedy


def test_every_type_has_its_own_names_for_its_keys() -> None:
    for trigger_type in trigger_types():
        slots = [
            (source, name)
            for key in scaler_class(trigger_type).metadata_model.declared_keys()
            for source in key.order
            for name in key.names
        ]
        assert len(slots) == len(set(slots)), trigger_type


@pytest.mark.parametrize("trigger_type", trigger_types())
async def test_the_example_of_a_type_is_taken_as_it_stands(trigger_type: str) -> None:
    page = page_of(trigger_type)
    trigger = Trigger(type=trigger_type, metadata=page.example, auth=as_secrets(page.auth))
    async with shared_context() as lent:
        context = EngineContext(
            shared_context=lent,
            namespace="default",
            scaled_object="app",
            trigger_index=0,
            metric_type=page.metric_type,  # type: ignore[arg-type] # as written in the file
        )
        await build(trigger, context).aclose()
        await context.aclose()
    assert page.example, "an example belongs into scalers/reference.toml"
    unknown = scaler_class(trigger_type).metadata_model.unknown_keys(page.example)
    assert unknown == () or trigger_type.startswith("external")


def test_every_type_tells_its_metric_and_what_it_needs_at_its_source() -> None:
    pages = [page_of(name) for name in trigger_types()]
    told = {page.type: (page.summary, page.metric, page.permissions, page.tested) for page in pages}
    assert {name: facts for name, facts in told.items() if not all(facts)} == {}


def imported(module: str, seen: set[str]) -> set[str]:
    """The modules of `scalers` that this one imports, late or not, and what those import."""
    path = SCALERS.parent / f"{module.replace('.', '/')}.py"
    if module in seen or not path.exists():
        return seen
    seen.add(module)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scalers."):
            for name in (str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)):
                imported(name, seen)
    return seen


def extras_of(module: str) -> set[str]:
    texts = [(SCALERS.parent / f"{one.replace('.', '/')}.py").read_text() for one in imported(module, set())]
    return {name for text in texts for name in re2.findall(r'needs_extra\("([^"]+)"\)', text)}


@pytest.mark.parametrize("trigger_type", trigger_types())
def test_the_page_of_a_type_names_the_extra_that_its_files_ask_for(trigger_type: str) -> None:
    extra = page_of(trigger_type).extra
    assert {extra} - {""} == extras_of(scaler_class(trigger_type).__module__)


def test_a_type_is_called_tested_by_recorded_exchanges_where_a_reading_was_recorded() -> None:
    types = json.loads(EXCHANGES.read_bytes())["types"]
    read = {
        name
        for name, ones in types.items()
        if any(result.get("requests") for one in ones for result in one.get("results", []))
    }
    told = {name for name in trigger_types() if "recorded exchanges of KEDA" in page_of(name).tested}
    assert told == read


def test_every_key_is_explained() -> None:
    pages = [page_of(name) for name in trigger_types()]
    mute = [
        f"{page.type}: {key.name}" for page in pages for key, meaning in page.keys if not meaning and not key.removed
    ]
    assert mute == [], "write a docstring below the field, or a line into scalers/reference.toml"


def test_the_file_of_facts_speaks_of_types_and_keys_that_exist() -> None:
    facts = tomllib.loads((SCALERS / "reference.toml").read_text(encoding="utf-8"))
    assert set(facts["types"]) <= {*recorded_types(), *trigger_types()}
    for trigger_type in set(facts["types"]) & set(trigger_types()):
        keys = scaler_class(trigger_type).metadata_model.declared_keys()
        names = {name for key in keys for name in key.names}
        assert set(facts["types"][trigger_type].get("keys", {})) <= names, trigger_type
