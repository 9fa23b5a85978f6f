"""What a trigger of a type that no recording has is taken for: a table for each type, beside this file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from keda_py.sdk.context import SharedContext
from keda_py.sdk.registry import trigger_types
from tests.scalers.recorded.metadata_cases import MetadataCase, recorded_types

TABLES = sorted(Path(__file__).parent.glob("*.toml"))


def cases(table: Path) -> list[Mapping[str, Any]]:
    listed: list[Mapping[str, Any]] = tomllib.loads(table.read_text(encoding="utf-8"))["case"]
    return listed


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
async def test_a_trigger_is_taken_or_refused_as_its_table_says(table: Path, lent: SharedContext) -> None:
    found = {}
    for case in cases(table):
        difference = await MetadataCase(table.stem, case).difference(lent)
        if bool(difference) != ("differs" in case):
            found[case["name"]] = difference or "listed as different, but equal"
    assert found == {}


def test_every_type_of_ours_is_recorded_or_has_a_table() -> None:
    assert set(trigger_types()) - set(recorded_types()) == {table.stem for table in TABLES}
