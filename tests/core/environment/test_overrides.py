from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.apis.environments.override import Override
from keda_py.core.environment.overrides import Overrides, TargetKey, check_override, read_override, removable_at
from keda_py.core.environment.spec import owner_of
from keda_py.core.values.own_annotations import EXCLUDE
from keda_py.core.values.times import write_time
from keda_py.errors import ConfigError
from tests.core.environment.builders import NIGHT, NOON, calendar, environment, override
from tests.costs import cpu_of

DEV, WEB, QUEUE = TargetKey("Environment", "dev"), TargetKey("Deployment", "web"), TargetKey("ScaledObject", "queue")
AT_19 = "2026-11-23T19:00:00Z"


def test_an_override_rules_from_its_begin_to_its_end() -> None:
    late = override("late", AT_19, state="Awake", until="2026-11-23T22:00:00+00:00", reason="release")
    overrides = Overrides([late])
    assert overrides.verdict([DEV], datetime(2026, 11, 23, 18, 59, 59, tzinfo=UTC)).rules is None
    verdict = overrides.verdict([DEV], datetime(2026, 11, 23, 20, tzinfo=UTC))
    assert verdict.rules is late
    assert verdict.because == "Override late by jana (Awake until 2026-11-23T22:00:00Z): release"
    assert verdict.changes_at == late.ends
    assert overrides.verdict([DEV], NIGHT).rules is None
    assert removable_at(late) == datetime(2026, 11, 24, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "starts", "ends"),
    [
        ({"for": "3h"}, AT_19, "2026-11-23T22:00:00Z"),
        ({"from": "2026-11-24T01:00:00+01:00", "for": "30m"}, "2026-11-24T00:00:00Z", "2026-11-24T00:30:00Z"),
        ({"until": "NextChange"}, AT_19, "2026-11-24T08:00:00Z"),
        ({"from": "2026-11-24T09:00:00Z", "until": "NextChange"}, "2026-11-24T09:00:00Z", "2026-11-24T18:00:00Z"),
        ({"from": "2020-01-01T00:00:00Z"}, AT_19, None),
    ],
)
def test_times_are_fixed_when_it_is_read(spec: dict[str, str], starts: str, ends: str | None) -> None:
    found = override("o", AT_19, state="Awake", **spec)
    assert write_time(found.starts) == starts
    assert (None if found.ends is None else write_time(found.ends)) == ends


def test_an_end_that_was_looked_up_once_stays() -> None:
    body = {
        "metadata": {"name": "o", "creationTimestamp": AT_19},
        "spec": {"target": {"kind": "Environment", "name": "dev"}, "state": "Awake", "until": "NextChange"},
        "status": {"ends": "2026-11-24T07:00:00Z"},
    }
    assert read_override(Override.model_validate(body), None).ends == datetime(2026, 11, 24, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "starts", "ends"),
    [
        ({"for": "6h"}, AT_19, "2026-11-24T01:00:00Z"),
        ({"until": "2026-11-24T03:00:00Z"}, AT_19, "2026-11-24T03:00:00Z"),
        ({}, AT_19, None),
        ({"from": "2026-11-23T23:30:00Z", "for": "1h"}, "2026-11-23T23:30:00Z", "2026-11-24T00:30:00Z"),
        ({"until": "NextChange"}, AT_19, "2026-11-24T08:00:00Z"),
        ({"from": "2026-11-24T08:30:00Z", "until": "NextChange"}, "2026-11-24T08:30:00Z", "2026-11-24T18:00:00Z"),
    ],
)
def test_an_edited_spec_holds_and_not_the_end_that_was_told_before(
    spec: dict[str, str], starts: str, ends: str | None
) -> None:
    body = {
        "metadata": {"name": "o", "creationTimestamp": AT_19, "generation": 2},
        "spec": {"target": {"kind": "Environment", "name": "dev"}, "state": "Awake", **spec},
        "status": {"ends": "2026-11-23T22:00:00Z", "starts": AT_19, "observedGeneration": 1},
    }
    found = read_override(Override.model_validate(body), calendar(), now=NIGHT)
    assert write_time(found.starts) == starts
    assert (None if found.ends is None else write_time(found.ends)) == ends


def test_next_change_of_an_edit_is_the_next_one_from_then_and_without_an_edit_the_first_after_its_begin() -> None:
    late = datetime(2026, 11, 24, 12, tzinfo=UTC)
    for generation, ends in ((2, "2026-11-24T18:00:00Z"), (1, "2026-11-24T07:00:00Z"), (0, "2026-11-24T08:00:00Z")):
        told = {"ends": "2026-11-24T07:00:00Z", "observedGeneration": 1} if generation else {}
        body = {
            "metadata": {"name": "o", "creationTimestamp": AT_19, "generation": generation},
            "spec": {"target": {"kind": "Environment", "name": "dev"}, "state": "Awake", "until": "NextChange"},
            "status": told,
        }
        found = read_override(Override.model_validate(body), calendar(), now=late)
        assert found.ends is not None
        assert write_time(found.ends) == ends


def test_of_several_for_one_target_the_newest_rules_and_says_so() -> None:
    old = override("old", "2026-11-23T19:00:00Z", state="Asleep", until="2026-11-24T22:00:00Z")
    new = override("new", "2026-11-23T20:00:00Z", state="Awake", until="2026-11-23T23:30:00Z")
    overrides = Overrides([new, old])
    verdict = overrides.verdict([DEV], NIGHT)
    assert verdict.rules is new
    assert verdict.because.endswith("it is newer than old")
    assert verdict.changes_at == new.ends
    assert overrides.standing(old, NIGHT).phase == "Outranked"
    assert overrides.standing(old, NIGHT).because == "Override new for the same target is newer"
    assert overrides.standing(new, NIGHT).phase == "Active"
    assert overrides.standing(new, NIGHT + timedelta(hours=1)).phase == "Ended"
    assert overrides.verdict([DEV], NIGHT + timedelta(hours=1)).rules is old
    assert overrides.standing(new, datetime(2026, 11, 23, 19, 30, tzinfo=UTC)).phase == "Pending"


def test_one_for_another_target_rules_nothing() -> None:
    overrides = Overrides([override("web", AT_19, "Deployment/web", replicas=1, **{"for": "9h"})])
    assert overrides.verdict([DEV], NIGHT).rules is None
    assert (
        overrides.verdict([QUEUE, WEB], NIGHT).because == "Override web by jana (1 replicas until 2026-11-24T04:00:00Z)"
    )


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"state": "Awake", "for": "soon"}, "spec.for: 'soon' is not a duration up to 366d; write for example 90s, 5m or 1h30m"),
        ({"state": "Awake", "for": "0s"}, "spec.for: '0s' has no length; write for example 3h"),
        ({"state": "Awake", "until": "22:00"}, "spec.until: '22:00' is not a time with its offset; write for example 2026-11-23T22:00:00+01:00"),
        ({"state": "Awake", "until": "2026-11-23T22:00:00"}, "spec.until: '2026-11-23T22:00:00' is not a time with its offset; write for example 2026-11-23T22:00:00+01:00"),
        ({"state": "Awake", "until": "9999-12-31T23:00:00Z"}, "spec.until: '9999-12-31T23:00:00Z' is not of the years 1970 to 2200; correct it"),
        ({"state": "Awake", "from": "9999-12-31T23:00:00Z", "for": "3h"}, "spec.from: '9999-12-31T23:00:00Z' is not of the years 1970 to 2200; correct it"),
        ({"state": "Awake", "from": "0001-01-01T00:00:00+14:00"}, "spec.from: '0001-01-01T00:00:00+14:00' is not of the years 1970 to 2200; correct it"),
        ({"state": "Awake", "until": "NextChange", "for": "3h"}, "spec: give one of until and for"),
        ({"replicas": 3}, "spec.replicas: an Environment has no count; use state, or name a ScaledObject, Deployment or StatefulSet"),
        ({"replicas": 10_001}, "spec.replicas: 10001 is too high; use 10000 or less"),
        ({}, "spec: give one of state and replicas"),
        ({"state": "Awake", "replicas": 3}, "spec: give one of state and replicas"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        override("o", AT_19, **spec)
    assert str(refused.value) == text


def test_next_change_needs_a_calendar_and_a_target_must_be_named() -> None:
    def read(spec: dict[str, Any], environment: str = "") -> None:
        read_override(
            Override.model_validate({"metadata": {"name": "o", "creationTimestamp": AT_19}, "spec": spec}),
            None,
            environment=environment,
        )

    with pytest.raises(
        ConfigError, match=r"spec.until: NextChange needs an Environment whose calendar opens or closes"
    ):
        read({"state": "Awake", "until": "NextChange"}, "dev")
    with pytest.raises(ConfigError, match=r"spec.target: is required, as the namespace has no Environment or several"):
        read({"state": "Awake"})


def test_the_admission_refuses_an_end_in_the_past_and_a_flood() -> None:
    late = override("late", AT_19, state="Awake", until="2026-11-23T22:00:00Z")
    check_override(late, NOON, 199)
    with pytest.raises(
        ConfigError, match=r"spec.until: 2026-11-23T22:00:00Z is over before it begins; write a later time"
    ):
        check_override(late, NIGHT, 0)
    with pytest.raises(
        ConfigError, match="the namespace has 200 Overrides that have not ended, 200 at most; delete some first"
    ):
        check_override(late, NOON, 200)


def test_a_thousand_overrides_cost_little() -> None:
    many = [override(f"o{number}", AT_19, state="Awake", **{"for": f"{number + 1}m"}) for number in range(1000)]
    assert cpu_of(lambda: Overrides(many).verdict([DEV], NIGHT), ConfigError) < 0.01


def test_the_older_of_two_environments_has_a_workload() -> None:
    front = {"matchLabels": {"tier": "front"}}
    old, new = environment("old", selector=front), environment("new", created="2026-02-01T00:00:00Z")
    assert owner_of([new, old], {"tier": "front"}, {}) is old
    assert owner_of([new, old], {"tier": "back"}, {}) is new
    assert owner_of([new, old], {"tier": "front"}, {EXCLUDE: "true"}) is None
    assert owner_of([environment(exclude=front)], {"tier": "front"}, {}) is None


def test_waves_are_found_by_selector_and_those_without_come_last() -> None:
    spec = environment(
        waves=[{"name": "data", "selector": {"matchLabels": {"wave": "data"}}, "timeout": "2m"}, {"name": "empty"}]
    )
    assert [spec.wave_of({"wave": "data"}), spec.wave_of({})] == [0, 2]
    assert [spec.wave_name(0), spec.wave_name(2)] == ["data", "rest"]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"waves": [{"name": "a"}, {"name": "a"}]}, "spec.waves[1].name: 'a' is taken; give each wave a name of its own"),
        ({"waves": [{"name": "a", "timeout": "five"}]}, "spec.waves[0].timeout: 'five' is not a duration up to 366d; write for example 90s, 5m or 1h30m"),
        ({"waves": [{"name": "a" * 9999}]}, f"spec.waves[0].name: {'a' * 253!r} has more than 253 characters; write a shorter one"),
        ({"kinds": [{"apiVersion": "a/v1", "kind": "B" * 9999}]}, f"spec.kinds[0].kind: {'B' * 253!r} has more than 253 characters; write a shorter one"),
        ({"grace": "-1m"}, "spec.grace: '-1m' is not a duration up to 366d; write for example 90s, 5m or 1h30m"),
        ({"calendar": None}, "spec: give one of calendarRef and calendar"),
        ({"selector": {"matchLabels": {str(n): "" for n in range(101)}}}, "spec.selector: has more than 100 requirements; write fewer"),
    ],
)  # fmt: skip
def test_an_environment_that_cannot_be_meant_is_refused(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        environment(**spec)
    assert str(refused.value) == text
