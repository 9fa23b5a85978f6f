"""Environments as the page shows them."""

from typing import Any

import pytest

from keda_py.dashboard.forecast import Forecasts
from keda_py.dashboard.state import state_of
from tests.builders import environment
from tests.dashboard.story import NOW

MESSAGE = (
    "1 still up: Deployment/new: created at 2026-11-20T17:19:20Z, left alone until 2026-11-20T17:34:20Z: grace 15 min"
)


@pytest.mark.parametrize(
    ("transition", "because"), [({}, f"outside of the hours; {MESSAGE}"), ({"to": "Asleep"}, "outside of the hours")]
)
def test_one_that_is_to_be_asleep_says_what_is_up_when_its_waves_are_over(transition: Any, because: str) -> None:
    asleep = {"type": "Asleep", "status": "False", "reason": "MembersStillUp", "message": MESSAGE}
    status = {"phase": "FallingAsleep", "because": "outside of the hours", "ready": "1/2", "up": "1/2"}
    live = environment(namespace="shop") | {"status": status | {"conditions": [asleep], "transition": transition}}
    (shown,) = state_of([], [live], [], Forecasts(), NOW)["environments"]
    assert (shown["phase"], shown["up"], shown["because"]) == ("FallingAsleep", "1/2", because)
