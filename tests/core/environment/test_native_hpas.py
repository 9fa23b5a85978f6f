"""What is decided of the mark that the controller of an HPA has put on a zero of its own."""

from dataclasses import replace

import pytest

from keda_py.core.environment.decision.members import (
    MarkChange,
    MemberGoal,
    MemberReason,
    SetReplicas,
    Wish,
    act,
    observe,
)
from keda_py.core.environment.decision.observation import MemberSeen
from keda_py.core.environment.decision.state import MemberState, Stage
from keda_py.core.hpa.conditions import ZeroMark
from keda_py.core.hpa.wire import read_zero_mark
from tests.core.environment.builders import NIGHT, member, remembered

UP, DOWN, LEAVE = (MemberGoal(wish=wish) for wish in (Wish.UP, Wish.DOWN, Wish.LEAVE))
PIN = MemberGoal(wish=Wish.EXACTLY)
SET, HELD, NONE = ZeroMark.SET, ZeroMark.HELD, ZeroMark.NONE
HOLD, GIVE_BACK = MarkChange.HOLD, MarkChange.GIVE_BACK
ZERO, TWO = remembered(Stage.DOWN, 0), remembered(Stage.DOWN, 2)


def seen(count: int, mark: ZeroMark, **more: str) -> MemberSeen:
    return member(count=count, zero_mark=mark, **more)


@pytest.mark.parametrize(
    ("count", "mark", "state", "want", "change"),
    [
        pytest.param(0, SET, None, DOWN, HOLD, id="the zero of an HPA in the evening"),
        pytest.param(2, SET, None, DOWN, HOLD, id="a mark that a person's count has outlived"),
        pytest.param(0, SET, TWO, DOWN, HOLD, id="a mark that comes at night"),
        pytest.param(0, HELD, ZERO, DOWN, None, id="it is held already"),
        pytest.param(0, NONE, ZERO, DOWN, None, id="a zero of another client"),
        pytest.param(0, SET, None, UP, None, id="by day it is the HPA's"),
        pytest.param(0, SET, None, replace(DOWN, turn=False), None, id="its wave has still to come"),
        pytest.param(0, SET, None, replace(DOWN, crowded=True), None, id="it cannot be remembered"),
        pytest.param(0, SET, None, PIN, HOLD, id="an Override of exactly 0"),
        pytest.param(0, SET, None, LEAVE, None, id="an Override that holds"),
        pytest.param(0, HELD, ZERO, UP, GIVE_BACK, id="a zero in the morning"),
        pytest.param(0, HELD, ZERO, replace(UP, turn=False), None, id="a zero whose wave has still to come"),
        pytest.param(0, HELD, TWO, UP, None, id="the count comes first"),
        pytest.param(2, HELD, remembered(Stage.RISING, 2), UP, GIVE_BACK, id="the count is back"),
        pytest.param(0, HELD, None, UP, GIVE_BACK, id="nothing is remembered any more"),
        pytest.param(3, HELD, remembered(Stage.KEPT, 0), DOWN, None, id="a person has scaled it up at night"),
        pytest.param(3, HELD, remembered(Stage.KEPT, 0), UP, GIVE_BACK, id="the morning after that"),
    ],
)
def test_the_mark_is_off_while_the_member_is_to_be_at_zero(
    count: int, mark: ZeroMark, state: MemberState | None, want: MemberGoal, change: MarkChange | None
) -> None:
    found = seen(count, mark)
    assert act(found, observe(found, state, want, NIGHT), want, NIGHT).mark is change


def test_the_member_of_another_environment_keeps_its_mark() -> None:
    assert act(seen(0, SET, owned_by="other"), None, DOWN, NIGHT).mark is None


def test_a_zero_is_remembered_until_its_mark_is_seen() -> None:
    given = act(seen(0, HELD), ZERO, UP, NIGHT)
    assert given.state is not None
    assert observe(seen(0, HELD), given.state, UP, NIGHT) == given.state
    assert observe(seen(0, SET), given.state, UP, NIGHT) is None


def test_a_count_that_the_hpa_gives_it_meanwhile_is_its_own() -> None:
    given = act(seen(0, HELD), ZERO, UP, NIGHT)
    assert observe(seen(4, NONE), given.state, UP, NIGHT) is None


def test_an_hpa_that_has_woken_it_from_a_zero_that_is_remembered_gets_that_count_back() -> None:
    woken = seen(4, NONE, manager="kube-controller-manager")
    asleep = act(woken, observe(woken, ZERO, DOWN, NIGHT), DOWN, NIGHT)
    assert (asleep.action, asleep.reason) == (SetReplicas(0), MemberReason.PUT_TO_SLEEP)
    assert asleep.state is not None
    assert asleep.state.replicas == 4


@pytest.mark.parametrize(
    ("condition", "mark"),
    [
        ({"status": "True", "reason": "ScaledToZero"}, SET),
        ({"status": "False", "reason": "NotScaledToZero"}, NONE),
        ({"status": "False", "reason": "HeldAsleep"}, HELD),
        ({}, NONE),
    ],
)
def test_the_mark_is_read_from_the_condition_of_the_hpa(condition: dict[str, str], mark: ZeroMark) -> None:
    others = [{"type": "ScalingActive", "status": "True"}]
    assert read_zero_mark({"status": {"conditions": [*others, {"type": "ScaledToZero", **condition}]}}) is mark


@pytest.mark.parametrize("hpa", [{}, {"status": None}, {"status": {"conditions": {"type": "ScaledToZero"}}}])
def test_an_hpa_of_any_shape_has_no_mark(hpa: dict[str, object]) -> None:
    assert read_zero_mark(hpa) is NONE
