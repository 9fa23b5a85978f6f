"""A stored status that cannot be read as a whole is read piece by piece, and says what cannot be read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.environment.decision.state import Phase, Stage
from keda_py.core.environment.decision.stored import read_stored

NOON = "2026-11-20T12:00:00Z"
SOUND = {"stage": "Down", "replicas": 3, "since": NOON}
WHOLE: dict[str, Any] = {
    "phase": "Asleep",
    "phaseSince": NOON,
    "transition": {"to": "Asleep", "started": NOON, "wave": 1},
    "wakes": [60],
    "lastWake": {"started": NOON, "ready": NOON, "seconds": 60},
    "members": {"Deployment/web": SOUND},
}


def test_what_can_be_read_as_a_whole_is() -> None:
    stored = read_stored(WHOLE)
    assert (stored.state.phase, stored.state.wakes, stored.lost, stored.unreadable) == (Phase.ASLEEP, (60,), (), {})
    assert stored.state.members["Deployment/web"].replicas == 3


@pytest.mark.parametrize(
    ("piece", "told"),
    [
        ({"phase": "Napping"}, 'status.phase: "Napping" is unknown'),
        ({"phaseSince": "0001-01-01T00:00:00Z"}, "status.phaseSince: '0001-01-01T00:00:00Z' is not of the years"),
        ({"transition": {"to": "Awake", "started": "x"}}, "status.transition.started: 'x' is not a time"),
        ({"transition": "x"}, "status.transition: must be a map"),
        ({"wakes": [-1]}, "status.wakes[0]: -1 is too low"),
        ({"lastWake": {"started": NOON, "seconds": "x"}}, "status.lastWake.seconds: "),
        ({"members": {"Deployment/web": SOUND, "b": {**SOUND, "since": "9999-01-01T00:00:00Z"}}}, "status.members[b]"),
        ({"members": {"Deployment/web": SOUND, "b": {**SOUND, "workload": "x"}}}, "status.members[b].workload: 'x' is"),
    ],
)
def test_a_piece_that_cannot_be_read_is_told_and_keeps_no_other_from_being_read(
    piece: dict[str, Any], told: str
) -> None:
    stored = read_stored(WHOLE | piece)
    (lost,) = stored.lost
    assert lost.startswith(told)
    assert stored.unreadable == {}
    assert stored.state.members["Deployment/web"].replicas == 3
    assert len(stored.state.members) == len((WHOLE | piece)["members"])


@pytest.mark.parametrize(
    "entry",
    [{**SOUND, "stage": "Napping"}, {**SOUND, "replicas": -1}, {**SOUND, "replicas": "3"}, "x", None, [1]],
)
def test_a_member_of_which_no_count_and_stage_can_be_read_is_left_alone(entry: object) -> None:
    stored = read_stored(WHOLE | {"members": {"Deployment/web": SOUND, "Deployment/odd": entry}})
    assert list(stored.unreadable) == ["Deployment/odd"]
    assert stored.unreadable["Deployment/odd"].startswith("status.members.Deployment/odd")
    assert {key: one.stage for key, one in stored.state.members.items()} == {"Deployment/web": Stage.DOWN}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([NOON, "Down", "Awake"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("stage", "replicas", "from", "to", "since", "by", "putBacks", "workload")


@given(
    status=st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(WHOLE, JSON),
            "members": JSON | st.dictionaries(st.text(), st.dictionaries(st.sampled_from(FIELDS), JSON), max_size=3),
        },
    )
)
def test_there_is_no_status_that_raises_an_error(status: dict[str, Any]) -> None:
    stored = read_stored({**status, "members": {**_members(status), "Deployment/web": SOUND}})
    assert stored.state.members["Deployment/web"].replicas == 3


def _members(status: dict[str, Any]) -> dict[str, Any]:
    found = status.get("members")
    return found if isinstance(found, dict) else {}
