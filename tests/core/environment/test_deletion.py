"""`deleteAfter` as values: what is refused, and that no order of looks, gaps and clocks makes a count longer."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.environments.cluster_environment import ClusterEnvironment
from keda_py.apis.parsing import parse_object
from keda_py.core.admission.environments import check_cluster_environment
from keda_py.core.environment.decision.deletion import (
    LONGEST_GAP,
    NOTICE,
    DeletionStep,
    IdleCount,
    count_idle,
    is_protected,
    plan_deletion,
    read_count,
    resume,
    write_count,
)
from keda_py.core.environment.decision.state import Activity
from keda_py.errors import ConfigError
from tests.builders import obj
from tests.core.environment.builders import NOON, environment

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
QUIET = Activity(last=NOON, in_use=False, revisions="")
ALWAYS: dict[str, Any] = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}


def counted(idle: timedelta, announced: timedelta | None = None) -> IdleCount:
    return IdleCount(span="2026-11-20T12:00:00Z", idle=idle, announced=announced, seen=NOON)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"deleteAfter": "14d"}, "give spec.idleAfter, too"),
        ({"deleteAfter": "24h", "idleAfter": "48h"}, "'24h' is shorter than spec.idleAfter, '48h'"),
        ({"deleteAfter": "23h", "idleAfter": "1h"}, "is shorter than 1d"),
        ({"deleteAfter": "soon", "idleAfter": "1h"}, "is not a duration"),
        ({"deleteAfter": "14d", "idleAfter": "1h", "selector": {"matchLabels": {"a": "b"}}}, "the whole namespace"),
        ({"deleteAfter": "14d", "idleAfter": "1h", "exclude": {"matchLabels": {"a": "b"}}}, "the whole namespace"),
    ],
)
def test_what_would_delete_too_soon_or_too_much_is_refused_by_its_field(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=r"spec\.deleteAfter") as refused:
        environment(**spec)
    assert text in str(refused.value)


def test_a_mistake_in_idle_after_is_not_taken_for_a_missing_one() -> None:
    with pytest.raises(ConfigError) as refused:
        environment(deleteAfter="14d", idleAfter="1m")
    assert [one.field for one in refused.value.each] == ["spec.idleAfter"]


@pytest.mark.parametrize(
    ("template", "field"),
    [
        ({"calendar": ALWAYS, "idleAfter": "48h", "deleteAfter": "24h"}, "spec.template.deleteAfter"),
        ({"calendar": {**ALWAYS, "holidays": [{"dates": ["soon"]}]}}, "spec.template.calendar.holidays"),
        ({"calendar": {**ALWAYS, "timeZone": "Mars/Olympus"}}, "spec.template.calendar.timeZone"),
    ],
)
def test_a_template_is_checked_at_admission_with_its_calendar(template: dict[str, Any], field: str) -> None:
    spec = {"namespaceSelector": {"matchLabels": {"a": "b"}}, "template": template}
    written = parse_object(ClusterEnvironment, obj("keda-py.dev/v1alpha1", "ClusterEnvironment", "office", spec=spec))
    with pytest.raises(ConfigError) as refused:
        list(check_cluster_environment(written))
    assert field in str(refused.value)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-anything", "openshift", "openshift-x", "keda"])
def test_a_namespace_of_the_cluster_or_the_operator_is_protected(name: str) -> None:
    assert is_protected(name, "keda")
    assert not is_protected(f"team-{name}", "keda")


STEPS = st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(-400, 400), st.booleans()), max_size=30)


@given(STEPS)
def test_no_clock_and_no_gap_makes_the_count_longer_than_what_was_watched(
    steps: list[tuple[float, int, bool]],
) -> None:
    count, watched, now = count_idle(None, QUIET, timedelta(0), NOON), timedelta(0), NOON
    for seconds, days, restarted in steps:
        now = now + days * DAY if 2000 < (now + days * DAY).year < 2100 else now
        assert count is not None
        if restarted:
            stored = read_count(write_count("pr-1", count))
            assert stored is not None
            count = resume(stored, now)
        else:
            elapsed = timedelta(seconds=seconds)
            watched += elapsed if timedelta(0) <= elapsed <= LONGEST_GAP else timedelta(0)
            count = count_idle(count, QUIET, elapsed, now)
        assert count is not None
        assert count.idle <= watched


@given(st.integers(0, 500), st.integers(0, 500), st.integers(24, 400), st.booleans())
def test_it_is_deleted_only_a_day_after_the_announcement_and_after_the_whole_time(
    idle: int, announced: int, after: int, asleep: bool
) -> None:
    known = counted(idle * HOUR, announced * HOUR if announced <= idle else None)
    plan = plan_deletion(known, after * HOUR, "", NOON, asleep=asleep)
    if plan.step is DeletionStep.DELETE:
        assert asleep
        assert known.announced is not None
        assert known.idle >= after * HOUR
        assert known.idle - known.announced >= NOTICE
    refused = plan_deletion(known, after * HOUR, "a pod runs", NOON, asleep=asleep)
    assert refused.step in (DeletionStep.NONE, DeletionStep.WITHDRAW)
    assert refused.count.announced is None


def test_use_ends_a_count_and_another_span_begins_anew() -> None:
    known = counted(9 * DAY)
    assert count_idle(known, None, HOUR, NOON) is None
    assert count_idle(known, Activity(last=NOON, in_use=True), HOUR, NOON) is None
    later = Activity(last=NOON + HOUR, in_use=False)
    begun = count_idle(known, later, HOUR, NOON + 2 * HOUR)
    assert begun is not None
    assert begun.idle == timedelta(0)


@pytest.mark.parametrize("gap", [timedelta(seconds=-1), LONGEST_GAP + timedelta(seconds=1)])
def test_after_a_gap_or_with_a_clock_that_went_back_it_is_announced_anew(gap: timedelta) -> None:
    known = counted(9 * DAY, 8 * DAY)
    assert resume(known, known.seen + HOUR) == known
    assert resume(known, known.seen + gap).announced is None


def test_the_time_that_is_shown_stays_while_it_is_about_the_same() -> None:
    first = plan_deletion(counted(HOUR), 2 * DAY, "", NOON, asleep=True)
    second = plan_deletion(counted(2 * HOUR), 2 * DAY, "", NOON + HOUR + SHORT, asleep=True, shown=first.at)
    assert (second.at, second.status) == (first.at, first.status)


SHORT = timedelta(milliseconds=900)


def test_a_time_is_rounded_up_to_the_minute() -> None:
    at: datetime = plan_deletion(counted(timedelta(0)), 2 * DAY, "", NOON + SHORT, asleep=False).at
    assert at == NOON + 2 * DAY + timedelta(minutes=1)


def test_the_instant_that_was_named_is_waited_for_to_its_second() -> None:
    announced = counted(2 * DAY, DAY)
    named = plan_deletion(announced, 2 * DAY, "", NOON + SHORT, asleep=True)
    assert named.step is DeletionStep.NONE
    assert named.look_after == named.at - (NOON + SHORT) > timedelta(0)
    assert plan_deletion(announced, 2 * DAY, "", named.at, asleep=True, shown=named.at).step is DeletionStep.DELETE
