"""Each type keeps the SDK's contract with the smallest trigger that was recorded of it."""

import pytest

from keda_py.sdk.context import SharedContext
from keda_py.sdk.registry import scaler_class, trigger_types
from keda_py.testing import check_scaler
from tests.scalers.recorded.metadata_cases import recorded_types
from tests.scalers.triggers import trigger_of

TYPES = [name for name in recorded_types() if name in trigger_types() and name not in ("external", "external-push")]
"""Without those whose metrics only their own server knows."""


@pytest.mark.parametrize("trigger_type", TYPES)
async def test_the_contract_is_kept(trigger_type: str, lent: SharedContext) -> None:
    minimal = next(case for case in recorded_types()[trigger_type] if case.name == "minimal")
    given = minimal.recorded
    trigger = trigger_of(trigger_type, given["metadata"], env=given.get("env"), auth=given.get("auth"))
    await check_scaler(scaler_class(trigger_type), trigger, minimal.context(lent))
