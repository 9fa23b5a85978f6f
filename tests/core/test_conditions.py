"""Conditions as they are set and read."""

import pytest

from keda_py.core.conditions import ACTIVE, ConditionValue, inactive, resumed

ASLEEP = inactive("AsleepByEnvironment", "asleep by environment dev")


def test_what_sleeps_says_by_what() -> None:
    told = "Scaling is not performed: asleep by environment dev"
    assert ConditionValue("False", "AsleepByEnvironment", told) == ASLEEP


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ASLEEP, ConditionValue("Unknown")),
        (inactive("HeldByOverride", "held"), ConditionValue("Unknown")),
        (ACTIVE, ACTIVE),
    ],
    ids=["asleep", "held", "active"],
)
def test_awake_again_an_object_whose_triggers_have_told_nothing_is_not_asleep(
    before: ConditionValue, after: ConditionValue
) -> None:
    assert resumed(before) == after
