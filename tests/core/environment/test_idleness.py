"""`idleAfter`: an Environment without use sleeps in its hours, and what is unknown counts as use."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from keda_py.core.environment.decision.decision import EnvironmentDecision, decide
from keda_py.core.environment.decision.goal import GoalReason
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen, SessionsSeen
from keda_py.core.environment.decision.state import EnvironmentState, Phase, read_state
from keda_py.core.environment.overrides import Overrides, OverrideSpec
from keda_py.errors import ConfigError
from tests.core.environment.builders import NOON, environment, member, override
from tests.core.environment.deciding import AWAKE, OFFICE, SO, run

SPEC = environment(idleAfter="2h")
HOUR = timedelta(hours=1)
WEB = member(revision="1")


def look(
    *seen: MemberSeen,
    after: EnvironmentDecision | None = None,
    now: datetime = NOON,
    overrides: tuple[OverrideSpec, ...] = (),
    sessions: SessionsSeen | None = None,
) -> EnvironmentDecision:
    """One decision, from the state that the one before has stored in the status."""
    state: EnvironmentState = AWAKE if after is None else read_state(after.status)
    found = EnvironmentSeen(members=seen, sessions=sessions)
    return decide(SPEC, OFFICE, Overrides(overrides), found, state, now)


def use(decision: EnvironmentDecision) -> dict[str, str]:
    assert decision.status.idle is not None
    return {one.name: one.use for one in decision.status.idle.signals}


def test_it_sleeps_when_no_use_was_seen_for_so_long_and_says_so_beforehand() -> None:
    first = look(WEB)
    assert first.goal.reason is GoalReason.OPEN
    assert first.next_change is not None
    assert (first.next_change.at, first.next_change.to.value) == (NOON + 2 * HOUR, "Asleep")
    assert first.look_again_at == NOON + 2 * HOUR
    before = look(WEB, after=first, now=NOON + 2 * HOUR - timedelta(seconds=1))
    assert before.goal.reason is GoalReason.OPEN
    then = look(WEB, after=before, now=NOON + 2 * HOUR)
    assert (then.goal.reason, then.state.phase) == (GoalReason.IDLE, Phase.FALLING_ASLEEP)
    quiet, not_watched = ("Triggers", "Overrides", "Rollouts"), ("Requests", "ExecAndPortForward")
    assert use(then) == dict.fromkeys(quiet, "Quiet") | dict.fromkeys(not_watched, "NotWatched")


USES: list[tuple[str, str, tuple[MemberSeen, ...], tuple[OverrideSpec, ...]]] = [
    ("Triggers", "Active", (WEB, member(SO, triggers_active=True)), ()),
    ("Triggers", "Unknown", (WEB, member(SO, triggers_unknown=True)), ()),
    ("Overrides", "Active", (WEB,), (override("o", "2026-11-23T12:00:00Z", state="Awake"),)),
    ("Overrides", "Active", (WEB,), (override("o", "2026-11-23T12:00:00Z", target="Deployment/web", state="Hold"),)),
    ("Rollouts", "Active", (member(revision="2"),), ()),
    ("Rollouts", "Active", (WEB, member("Deployment/new")), ()),
    ("Rollouts", "Unknown", (member(count=None, revision="1"),), ()),
]


@pytest.mark.parametrize(("name", "value", "seen", "overrides"), USES, ids=[" ".join(row[:2]) for row in USES])
def test_each_signal_keeps_it_awake_and_the_time_begins_again_when_it_ends(
    name: str, value: str, seen: tuple[MemberSeen, ...], overrides: tuple[OverrideSpec, ...]
) -> None:
    first = look(WEB)
    used = look(*seen, after=first, now=NOON + 2 * HOUR, overrides=overrides)
    assert used.goal.state.value in ("Awake", "Hold")
    assert use(used)[name] == value
    quiet = tuple(replace(one, triggers_active=False, triggers_unknown=False, count=3) for one in seen)
    ended = look(*quiet, after=used, now=NOON + 3 * HOUR)
    assert ended.goal.reason is GoalReason.OPEN
    late = look(*quiet, after=ended, now=NOON + 5 * HOUR)
    assert late.goal.reason is GoalReason.IDLE


@pytest.mark.parametrize("seen", [(member(revision="2"),), (WEB, member(SO, triggers_active=True))])
def test_use_wakes_what_was_idle(seen: tuple[MemberSeen, ...]) -> None:
    asleep = look(WEB, after=look(WEB), now=NOON + 2 * HOUR)
    assert look(*seen, after=asleep, now=NOON + 3 * HOUR).goal.reason is GoalReason.OPEN


def test_lasting_use_changes_nothing_in_the_status() -> None:
    busy = (WEB, member(SO, triggers_active=True))
    first = look(*busy)
    again = look(*busy, after=first, now=NOON + 5 * HOUR)
    assert again.status.idle == first.status.idle
    assert again.goal.reason is GoalReason.OPEN


def test_a_clock_that_was_ahead_does_not_keep_it_awake_for_years() -> None:
    ahead = look(WEB, now=NOON.replace(year=2030))
    back = look(WEB, after=ahead, now=NOON)
    assert back.goal.reason is GoalReason.OPEN
    assert look(WEB, after=back, now=NOON + 2 * HOUR).goal.reason is GoalReason.IDLE


def test_without_the_field_nothing_is_remembered() -> None:
    found = run(WEB, state=AWAKE, now=NOON)
    assert found.status.idle is None


@pytest.mark.parametrize("text", ["1m", "0s", "soon", "999d"])
def test_a_span_that_cannot_be_meant_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(ConfigError, match=r"spec\.idleAfter"):
        environment(idleAfter=text)


def test_sessions_that_are_not_known_yet_neither_begin_a_sleep_nor_begin_the_count_anew() -> None:
    first = look(WEB)
    late = NOON + 3 * HOUR
    waiting = look(WEB, after=first, now=late, sessions=SessionsSeen())
    assert waiting.goal.reason is GoalReason.OPEN
    assert use(waiting)["ExecAndPortForward"] == "Unknown"
    assert look(WEB, after=waiting, now=late, sessions=SessionsSeen(open=False)).goal.reason is GoalReason.IDLE


def test_sessions_that_cannot_be_read_keep_awake_what_is_awake_and_asleep_what_sleeps() -> None:
    broken = SessionsSeen(error="no answer")
    first = look(WEB)
    awake = look(WEB, after=first, now=NOON + 3 * HOUR, sessions=broken)
    assert awake.goal.reason is GoalReason.OPEN
    counting = look(WEB, after=awake, now=NOON + 4 * HOUR, sessions=SessionsSeen(open=False))
    assert (counting.goal.reason, counting.look_again_at) == (GoalReason.OPEN, NOON + 6 * HOUR)
    asleep = look(WEB, after=first, now=NOON + 3 * HOUR)
    assert look(WEB, after=asleep, now=NOON + 4 * HOUR, sessions=broken).goal.reason is GoalReason.IDLE
    opened = look(WEB, after=asleep, now=NOON + 4 * HOUR, sessions=SessionsSeen(open=True))
    assert opened.goal.reason is GoalReason.OPEN
