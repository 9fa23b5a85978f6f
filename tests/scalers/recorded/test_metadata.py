"""Triggers that KEDA judged, 2 500 of them, judged by ours: an error or none, and the metrics, are the same."""

import pytest

from keda_py.sdk.context import SharedContext
from keda_py.sdk.registry import trigger_types
from tests.scalers.recorded.differences import FOLDER, check_differences
from tests.scalers.recorded.metadata_cases import recorded_types

KNOWN = [name for name in recorded_types() if name in trigger_types()]


@pytest.mark.parametrize("trigger_type", KNOWN)
async def test_a_trigger_is_taken_or_refused_as_recorded(trigger_type: str, lent: SharedContext) -> None:
    cases = [case for case in recorded_types()[trigger_type] if "server" not in case.recorded]
    found = {case.name: difference for case in cases if (difference := await case.difference(lent))}
    check_differences("metadata", trigger_type, found, [case.name for case in cases])


def test_differences_are_listed_of_types_that_exist() -> None:
    assert {file.stem for file in FOLDER.glob("*.toml")} <= set(KNOWN)
