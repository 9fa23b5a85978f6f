"""The order between namespaces: an Environment waits for groups that are not done, and for a limited time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.environment.decision.decision import EnvironmentDecision, decide
from keda_py.core.environment.decision.goal import GoalReason
from keda_py.core.environment.decision.observation import EnvironmentSeen
from keda_py.core.environment.decision.state import EnvironmentState
from keda_py.core.environment.namespaces.order import (
    IDLE,
    NamespaceProgress,
    NamespaceTurn,
    NamespaceWait,
    OrderTally,
    progress_of,
)
from keda_py.core.environment.overrides import Overrides, OverrideSpec
from tests.core.environment.builders import MINUTE, calendar, environment, member, override
from tests.core.environment.deciding import ASLEEP, AWAKE
from tests.core.environment.namespaces.test_coverage import policy

OPENS, CLOSES = datetime(2026, 11, 23, 8, tzinfo=UTC), datetime(2026, 11, 23, 18, tzinfo=UTC)
SHARED = NamespaceWait(awaited="shared", longest=5 * MINUTE)
TURN = NamespaceTurn(wake=SHARED, sleep=SHARED)
ORDER = [
    {"name": "shared", "selector": {"matchLabels": {"tier": "shared"}}, "timeout": "2m"},
    {"name": "data", "selector": {"matchLabels": {"tier": "data"}}, "timeout": "1m"},
]


def at(
    now: datetime, state: EnvironmentState, turn: NamespaceTurn = TURN, *overrides: OverrideSpec, **spec: Any
) -> EnvironmentDecision:
    seen = EnvironmentSeen(members=[member(count=0)], turn=turn)
    return decide(environment(**spec), calendar(), Overrides(overrides), seen, state, now)


def test_a_wake_by_the_hours_waits_and_begins_by_itself_after_the_timeouts() -> None:
    waiting = at(OPENS + MINUTE, ASLEEP)
    assert waiting.goal.reason is GoalReason.AWAITS_ORDER
    assert waiting.goal.because.startswith("it waits for shared, until 08:05 UTC at most; ")
    assert waiting.state.phase == "Asleep"
    assert waiting.look_again_at is not None
    assert waiting.look_again_at <= OPENS + 5 * MINUTE
    assert at(OPENS + 5 * MINUTE, ASLEEP).goal.reason is GoalReason.OPEN
    assert at(OPENS + MINUTE, ASLEEP, NamespaceTurn()).goal.reason is GoalReason.OPEN


def test_an_early_wake_waits_from_when_it_would_have_begun() -> None:
    state = replace(ASLEEP, wakes=(600,))
    lead = at(OPENS - timedelta(hours=1), state, NamespaceTurn(), readyBy=True).status.lead
    assert lead
    begins = OPENS - timedelta(seconds=int(lead.removesuffix("s")))
    assert at(begins + MINUTE, state, TURN, readyBy=True).goal.reason is GoalReason.AWAITS_ORDER
    assert at(begins + 5 * MINUTE, state, TURN, readyBy=True).goal.reason is GoalReason.READY_BY


def test_falling_asleep_waits_for_those_after_it() -> None:
    assert at(CLOSES + MINUTE, AWAKE).goal.reason is GoalReason.AWAITS_ORDER
    assert at(CLOSES + MINUTE, AWAKE).state.phase == "Awake"
    assert at(CLOSES + 5 * MINUTE, AWAKE).goal.reason is GoalReason.CLOSED


def test_what_has_begun_goes_on_and_a_person_waits_for_nothing() -> None:
    assert at(OPENS + MINUTE, AWAKE).goal.reason is GoalReason.OPEN
    night = OPENS - timedelta(hours=2)
    wakes = override("up", "2026-11-23T05:00:00Z", state="Awake", until="2026-11-23T09:00:00Z")
    assert at(night, ASLEEP, TURN, wakes).goal.reason is GoalReason.OVERRIDE_AWAKE


STATUSES = {
    ("Asleep", ""): (True, False),
    ("Waking", ""): (True, True),
    ("Awake", ""): (False, True),
    ("FallingAsleep", ""): (True, False),
    ("Asleep", "evening"): (False, False),
    ("", ""): (False, False),
}


def test_an_override_takes_a_namespace_out_of_the_order() -> None:
    for (phase, ruling), (wake, sleep) in STATUSES.items():
        live = {"status": {"phase": phase, "override": {"name": ruling}}}
        assert progress_of(live) == NamespaceProgress(delays_wake=wake, delays_sleep=sleep), (phase, ruling)
    falling = {"status": {"phase": "FallingAsleep", "transition": {"to": "Asleep"}}}
    assert progress_of(falling).delays_sleep


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 2), st.none() | st.builds(NamespaceProgress, delays_wake=st.booleans(), delays_sleep=st.booleans()))
    )
)  # fmt: skip
def test_the_tally_of_many_changes_is_that_of_the_last_states(
    changes: list[tuple[int, int, NamespaceProgress | None]],
) -> None:
    tally, last = OrderTally(policy(order=ORDER)), dict[str, tuple[int, NamespaceProgress]]()
    for number, group, progress in changes:
        name = f"n{number}"
        if progress is None:
            tally.forget(name)
            last.pop(name, None)
        else:
            tally.note(name, group, progress)
            last[name] = group, progress
    names = ("shared", "data", "rest")
    for name, (group, _) in last.items():
        turn = tally.turn_of(name)
        before = [names[at] for at in range(group) if any(g == at and p.delays_wake for g, p in last.values())]
        after = [names[at] for at in range(group + 1, 3) if any(g == at and p.delays_sleep for g, p in last.values())]
        assert (turn.wake.awaited, turn.sleep.awaited) == (", ".join(before), ", ".join(after))
        assert turn.wake.longest == sum([2 * MINUTE, MINUTE][:group], timedelta(0))


def test_an_environment_that_sleeps_because_nothing_uses_it_delays_no_wake() -> None:
    idle = environment(idleAfter="2h")
    begun = decide(idle, calendar(), Overrides(()), EnvironmentSeen(members=[member(count=0)]), ASLEEP, OPENS)
    unused = replace(ASLEEP, activity=begun.state.activity)
    asleep = EnvironmentSeen(members=[member(count=0)])
    later = decide(idle, calendar(), Overrides(()), asleep, unused, OPENS + 120 * MINUTE)
    assert (later.goal.reason, later.state.phase) == (GoalReason.IDLE, "Asleep")
    progress = progress_of({"metadata": {}, "status": later.status.model_dump(by_alias=True)})
    assert progress == NamespaceProgress(delays_wake=False, delays_sleep=False)
    closed = decide(idle, calendar(), Overrides(()), asleep, unused, OPENS - MINUTE)
    before = progress_of({"metadata": {}, "status": closed.status.model_dump(by_alias=True)})
    assert before == NamespaceProgress(delays_wake=True, delays_sleep=False)
    assert GoalReason.IDLE.value == IDLE
