"""The last activity: remembered on monotonic time, told on the wall clock."""

from datetime import UTC, datetime, timedelta

import pytest

from keda_py.core.activity import last_active_before, note_activity, restore_activity

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)


def test_an_object_that_was_active_at_take_over_cools_down_from_the_first_look() -> None:
    status = {
        "conditions": [{"type": "Active", "status": "True"}],
        "lastActiveTime": "2026-11-20T06:00:00Z",
    }
    state = restore_activity(status, NOW, 100.0)
    later = NOW + timedelta(seconds=20)
    assert last_active_before(state, later, 120.0) == later


def test_an_object_in_its_cooldown_at_take_over_goes_on_with_it_and_never_ends_it_early() -> None:
    status = {"conditions": [{"type": "Active", "status": "False"}], "lastActiveTime": "2026-11-20T10:29:00Z"}
    restored = last_active_before(restore_activity(status, NOW, 100.0), NOW, 100.0)
    assert restored == NOW - timedelta(seconds=59)  # it may have been a moment before 10:29:01


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z"])
def test_a_time_at_the_end_of_the_calendar_is_as_long_ago_as_can_be_reckoned_with_or_now(text: str) -> None:
    status = {"conditions": [{"type": "Active", "status": "False"}], "lastActiveTime": text}
    last = last_active_before(restore_activity(status, NOW, 100.0), NOW, 100.0)
    assert last == (NOW - timedelta(days=366) if text.startswith("0001") else NOW + timedelta(seconds=1))


def test_an_object_that_was_never_active_has_no_last_activity() -> None:
    assert last_active_before(restore_activity({}, NOW, 100.0), NOW, 100.0) is None


def test_a_stepped_wall_clock_makes_a_cooldown_neither_shorter_nor_longer() -> None:
    state = note_activity(NOW, now=NOW, monotonic=100.0, until=None)
    stepped = NOW + timedelta(hours=1, seconds=30)
    last = last_active_before(state, stepped, 130.0)
    assert last is not None
    assert stepped - last == timedelta(seconds=30)


def test_a_schedule_was_last_active_at_the_end_of_its_window() -> None:
    end = NOW + timedelta(minutes=10)
    state = note_activity(NOW, now=NOW, monotonic=100.0, until=end)
    seen_at = end + timedelta(milliseconds=5)
    assert last_active_before(state, seen_at, 700.005) == end


def test_a_boundary_still_ahead_is_no_activity_yet() -> None:
    end = NOW + timedelta(minutes=10)
    state = note_activity(NOW, now=NOW, monotonic=100.0, until=end)
    assert last_active_before(state, NOW + timedelta(seconds=30), 130.0) == NOW


def test_inactivity_keeps_the_last_activity_and_forgets_the_boundary() -> None:
    later = NOW + timedelta(seconds=30)
    quiet = note_activity(NOW, now=later, monotonic=130.0, until=None)
    assert not quiet.active
    after = NOW + timedelta(minutes=5)
    assert last_active_before(quiet, after, 400.0) == NOW


def test_a_clock_stepped_over_the_end_of_a_window_leaves_the_cooldown_whole() -> None:
    end = NOW + timedelta(minutes=10)
    state = note_activity(NOW, now=NOW, monotonic=100.0, until=end)
    stepped = NOW + timedelta(hours=1, seconds=20)
    assert last_active_before(state, stepped, 120.0) == stepped
