"""Who is held back after a death, for how long, and what is said of it."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.quarantine import (
    BYSTANDER_SECONDS,
    HOLD_SECONDS,
    NAMESPACE_DEATHS,
    REMEMBERED_SECONDS,
    UNKNOWN_SECONDS,
    Hold,
    Mark,
    Trace,
    Work,
    clear,
    deaths_in,
    describe,
    edition_of,
    hold_for_namespace_budget,
    judge,
    read_held_back,
    write_held_back,
)
from keda_py.core.values.object_key import ObjectKey

NOW = int(datetime(2026, 11, 20, 12, 0, tzinfo=UTC).timestamp())


def work(name: str, namespace: str = "shop", edition: int = 1) -> Work:
    return Work(ObjectKey("ScaledObject", namespace, name), edition)


def trace(name: str, mark: Mark = Mark.UNDER_WAY, group: int = 1, **more: int) -> Trace:
    return Trace(work=work(name), mark=mark, group=group, **more)


def verdicts(*traces: Trace, on_cpu: int = 0) -> dict[str, tuple[int, int]]:
    """Deaths and seconds of each that is held."""
    holds = judge(traces, on_cpu, NOW)
    return {key.name: (hold.deaths, hold.seconds) for key, hold in holds.items() if hold.held}


def test_nothing_under_way_is_nothing_held_back() -> None:
    assert judge((), 0, NOW) == judge((), 7, NOW) == {}


def test_all_that_was_under_way_is_suspected_where_nobody_was_on_the_cpu() -> None:
    assert verdicts(trace("a", group=1), trace("b", group=2)) == {"a": (0, UNKNOWN_SECONDS), "b": (0, UNKNOWN_SECONDS)}


def test_whose_step_had_not_ended_is_blamed_and_the_others_are_soon_back() -> None:
    found = verdicts(trace("poison", group=1), trace("innocent", group=2), on_cpu=1)
    assert found == {"poison": (1, HOLD_SECONDS[0]), "innocent": (0, BYSTANDER_SECONDS)}


def test_members_of_a_common_question_are_suspected_together() -> None:
    found = verdicts(trace("a", group=1), trace("b", group=1), trace("c", group=2), on_cpu=1)
    assert found == {"a": (0, UNKNOWN_SECONDS), "b": (0, UNKNOWN_SECONDS), "c": (0, BYSTANDER_SECONDS)}


def test_two_works_on_one_object_are_one_object() -> None:
    assert verdicts(trace("a", group=1), trace("a", group=2), on_cpu=2) == {"a": (1, HOLD_SECONDS[0])}


def test_what_was_tried_alone_is_the_culprit_for_certain() -> None:
    before = trace("poison", Mark.HELD, 0, died=NOW - 60, seconds=30)
    waiting = trace("other", Mark.HELD, 0, died=NOW - 60, seconds=30)
    found = verdicts(before, waiting, trace("poison", Mark.TRIAL), trace("ordinary", group=2))
    assert found == {"poison": (2, 300), "other": (0, 30), "ordinary": (0, BYSTANDER_SECONDS)}


def test_an_ordinary_object_on_the_cpu_takes_the_blame_from_the_one_that_is_tried() -> None:
    found = verdicts(trace("tried", Mark.TRIAL, 1), trace("ordinary", group=2), on_cpu=2)
    assert found == {"tried": (0, BYSTANDER_SECONDS), "ordinary": (1, HOLD_SECONDS[0])}


def test_two_trials_that_wait_for_their_sources_are_both_only_suspected() -> None:
    found = verdicts(trace("a", Mark.TRIAL, 1), trace("b", Mark.TRIAL, 2), trace("ordinary", group=3))
    assert found == {"a": (0, UNKNOWN_SECONDS), "b": (0, UNKNOWN_SECONDS), "ordinary": (0, BYSTANDER_SECONDS)}


def test_a_hang_that_the_watchdog_has_seen_is_certain_at_once() -> None:
    assert verdicts(trace("poison", Mark.HUNG), trace("b", group=2), on_cpu=1) == {"poison": (2, 300), "b": (0, 5)}
    assert verdicts(trace("a", Mark.HUNG), trace("b", Mark.HUNG), on_cpu=1) == {"a": (0, 30), "b": (0, 30)}


def test_the_hold_grows_with_each_death_up_to_an_hour() -> None:
    seconds, hold = [], (0, 0)
    for _ in range(8):
        earlier = trace("poison", Mark.CLEARED, 0, deaths=hold[0], died=NOW)
        hold = verdicts(earlier, trace("poison"), on_cpu=1)["poison"]
        seconds.append(hold[1])
    assert seconds == [30, 300, 600, 1200, 2400, 3600, 3600, 3600]


def test_an_hour_after_its_hold_an_object_begins_anew() -> None:
    earlier = trace("a", Mark.CLEARED, 0, deaths=5, died=NOW - REMEMBERED_SECONDS - 1)
    assert verdicts(earlier, trace("a"), on_cpu=1) == {"a": (1, 30)}
    assert judge([earlier], 0, NOW) == {}


def test_what_is_held_stays_held_over_a_death_of_another_cause() -> None:
    held = trace("poison", Mark.HELD, 0, deaths=3, died=NOW - 100, seconds=600)
    assert judge([held, trace("b", group=2)], 0, NOW)[held.work.key].until == NOW + 500


def test_a_clock_that_was_set_back_makes_no_hold_longer() -> None:
    future = trace("a", Mark.HELD, 0, deaths=1, died=NOW + 10**9, seconds=2**32 - 1)
    assert judge([future], 0, NOW)[future.work.key].until <= NOW + 3600


def test_a_clear_object_is_remembered_for_an_hour() -> None:
    hold = Hold(work=work("a"), deaths=2, died=NOW, seconds=300)
    cleared = clear(hold, NOW + 400)
    assert (cleared.held, cleared.deaths, cleared.forgotten_at) == (False, 2, NOW + 400 + REMEMBERED_SECONDS)


def test_a_namespace_of_many_deaths_is_not_believed() -> None:
    """Many bad objects, or one that is edited again and again, end no more processes than one."""
    holds = [
        Hold(work=work(str(number)), deaths=1, died=NOW - number, seconds=30) for number in range(NAMESPACE_DEATHS)
    ]
    assert hold_for_namespace_budget(work("new"), holds[1:], NOW) is None
    assert hold_for_namespace_budget(work("new", "bank"), holds, NOW) is None
    hold = hold_for_namespace_budget(work("new"), holds, NOW)
    assert hold is not None
    assert (hold.deaths, hold.until) == (0, NOW + 300)
    worse = [*holds, Hold(work=work("x"), deaths=9, died=NOW, seconds=3600)]
    assert hold_for_namespace_budget(work("new"), worse, NOW) == Hold(
        work=work("new"), deaths=0, died=NOW, seconds=3600
    )
    assert deaths_in("shop", holds, NOW + 2 * REMEMBERED_SECONDS) == 0


@pytest.mark.parametrize(
    ("deaths", "in_namespace", "words"),
    [
        (0, 0, "work on it was under way when the operator's process ended, perhaps for another reason"),
        (1, 0, "work on it has ended the operator's process once"),
        (3, 0, "work on it has ended the operator's process 3 times"),
        (0, 6, "work on objects of this namespace has ended the operator's process 6 times"),
    ],
)
def test_the_message_says_what_happened_when_it_is_tried_again_and_what_to_do(
    deaths: int, in_namespace: int, words: str
) -> None:
    hold = Hold(work=work("a"), deaths=deaths, died=NOW, seconds=300)
    text = describe(hold, hold.until, in_namespace)
    assert text.startswith(f"held back: {words}. It is tried again, alone, after 2026-11-20T12:05:00Z; until then")
    assert "What you can do: " in text


def test_what_one_replica_writes_another_one_reads() -> None:
    hold = Hold(work=work("a"), deaths=2, died=NOW, seconds=300)
    own = write_held_back(hold, hold.until, 4, "2026-11-20T12:00:00Z")
    assert own["reason"] == "HeldBack"
    assert read_held_back({"kedaPy": own}, work("a"), 4, NOW) == hold
    assert read_held_back({"kedaPy": own}, work("a"), 5, NOW) is None


def test_a_status_that_somebody_else_wrote_holds_for_no_longer_than_ours() -> None:
    def said(**fields: Any) -> Hold | None:
        heldback = {"deaths": 1, "generation": 1, "until": "2026-11-20T12:00:10Z"} | fields
        return read_held_back({"kedaPy": {"heldBack": heldback}}, work("a"), 1, NOW)

    assert said(until="9999-01-01T00:00:00Z") == Hold(work=work("a"), deaths=1, died=NOW, seconds=30)
    assert said(until="0001-01-01T00:00:00Z") == Hold(work=work("a"), deaths=1, died=NOW, seconds=0)
    assert said(deaths=10**30, until="9999-01-01T00:00:00Z") == Hold(
        work=work("a"), deaths=1000, died=NOW, seconds=3600
    )
    assert said(deaths=-5, until="9999-01-01T00:00:00Z") == Hold(work=work("a"), deaths=0, died=NOW, seconds=3600)
    assert said(until="soon") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes().map(datetime.isoformat),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    kedapy=JSON
    | st.fixed_dictionaries({"heldBack": st.dictionaries(st.sampled_from(["deaths", "generation", "until"]), JSON)})
)
def test_any_status_is_read_without_an_error(kedapy: Any) -> None:
    hold = read_held_back({"kedaPy": kedapy}, work("a"), 0, NOW)
    assert hold is None or 0 <= hold.seconds <= 3600


def test_an_edition_changes_with_the_spec_and_with_the_object() -> None:
    assert len({edition_of("u1", 1), edition_of("u1", 2), edition_of("u2", 1)}) == 3


MARKS = st.sampled_from(Mark)
NUMBERS = st.integers(0, 2**31)


@given(
    traces=st.lists(
        st.builds(
            lambda name, mark, group, deaths, died: trace(name, mark, group, deaths=deaths, died=died),
            st.sampled_from("abc"),
            MARKS,
            st.integers(0, 3),
            st.integers(0, 1000),
            st.integers(-(2**63), 2**63 - 1),
        )
    ),
    on_cpu=st.integers(0, 3),
)
def test_whatever_was_left_all_that_was_under_way_is_held_and_nothing_for_long(
    traces: list[Trace], on_cpu: int
) -> None:
    holds = judge(traces, on_cpu, NOW)
    for one in traces:
        if one.mark in (Mark.UNDER_WAY, Mark.TRIAL, Mark.HUNG):
            assert holds[one.work.key].held
    assert all(hold.until <= NOW + 3600 and hold.deaths <= 1000 for hold in holds.values())
