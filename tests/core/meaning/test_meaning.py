"""What is told of an object as a whole, and what is not: each rule at its edges."""

from collections.abc import Mapping
from typing import Any

import pytest

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.admission.codes import IGNORE, ignored_codes
from keda_py.core.meaning.notes import notes_of
from keda_py.core.meaning.scaled_object import check_meaning
from keda_py.core.meaning.windows import MOST_WINDOWS
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.kube.resources import Obj
from tests.builders import bare_scaled_object, cpu, cron

PAUSED = "autoscaling.keda.sh/paused"
QUEUE = {"type": "redis", "metadata": {"address": "redis:6379", "listName": "jobs"}}
ROLLOUT = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"}


def spec(*triggers: Obj, annotations: Mapping[str, str] | None = None, **fields: Any) -> ScalingSpec:
    body = bare_scaled_object(*triggers, annotations=annotations, namespace="shop", **fields)
    return AS_WRITTEN.of(parse_object(ScaledObject, body))


def codes(*triggers: Obj, annotations: Mapping[str, str] | None = None, **fields: Any) -> list[str]:
    return [warning.code for warning in check_meaning(spec(*triggers, annotations=annotations, **fields))]


DAY, NIGHT = cron("0 8 * * *", "0 20 * * *", 3), cron("0 20 * * *", "0 8 * * *", 1)
LUNCH = cron("0 12 * * *", "0 13 * * *", 5)


@pytest.mark.parametrize(
    ("triggers", "expected"),
    [
        ([DAY], []),
        ([NIGHT], ["window-swapped"]),
        ([DAY, NIGHT], []),
        ([DAY, LUNCH], []),
        ([LUNCH, cron("0 8 * * *", "0 20 * * *", 5)], ["windows-overlap"]),
        ([DAY, cron("0 8 * * *", "0 20 * * *", 3, "Asia/Seoul")], []),
        ([DAY, cron("0 12 1 * *", "0 13 1 * *", 3)], []),
        ([cron("0 20 * * 5", "0 8 * * 1")], []),
        ([cron("TZ=Asia/Seoul 0 8 * * *", "TZ=UTC 0 8 * * *")], []),
        ([cron("TZ=Asia/Seoul 0 8 * * 1-5", "TZ=Asia/Seoul 0 1 * * 1-5")], ["window-over-weekend"]),
        ([cron("0 8 * * 1-5", "0 20 * * *")], ["window-over-weekend"]),
        ([cron("0 8 30 2 *", "0 20 * * *")], ["window-always-open"]),
        ([cron("0 8 * * *", "0 8 * * *")], []),
        ([cron("0 8 * * *", "nonsense")], []),
        ([cron(timezone="Mars/Olympus")], []),
        ([cron(timezone="Etc/GMT")], []),
        ([cron(timezone="Etc/GMT0")], []),
        ([cron(timezone="Etc/GMT-9")], ["zone-sign"]),
    ],
)
def test_windows(triggers: list[Obj], expected: list[str]) -> None:
    assert codes(*triggers) == expected


@pytest.mark.parametrize(
    ("cooldown", "expected"),
    [(300, []), (3599, []), (3600, ["cooldown-outlasts-gap"]), (7200, ["cooldown-outlasts-gap"])],
)
def test_a_cooldown_is_compared_with_the_shortest_gap(cooldown: int, expected: list[str]) -> None:
    halves = cron("0 8,13 * * 1-5", "0 12,18 * * 1-5")
    assert codes(halves, cooldownPeriod=cooldown) == expected
    assert codes(halves, cooldownPeriod=cooldown, minReplicaCount=1) == []
    assert codes(halves, cron(timezone="Mars/Olympus"), cooldownPeriod=cooldown) == [], "not all windows are known"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"maxReplicaCount": 3}, []),
        ({"maxReplicaCount": 2}, ["replicas-above-max"]),
        ({"minReplicaCount": 2}, []),
        ({"minReplicaCount": 3}, ["never-sleeps"]),
        ({"minReplicaCount": 3, "idleReplicaCount": 0}, []),
    ],
)
def test_counts_beside_a_window_of_three(fields: dict[str, int], expected: list[str]) -> None:
    assert codes(DAY, **fields) == expected


@pytest.mark.parametrize(
    ("triggers", "fields", "expected"),
    [
        ([cpu(), DAY], {}, []),
        ([cpu(), QUEUE], {}, []),
        ([cpu()], {"minReplicaCount": 1}, []),
        ([cpu()], {}, []),  # of a Deployment KEDA denies it
        ([cpu()], {"scaleTargetRef": ROLLOUT}, ["cannot-wake"]),
        ([cpu()], {"minReplicaCount": 1, "idleReplicaCount": 0}, ["cannot-wake"]),
        ([cpu(), cron("0 8 * * *", "0 20 30 2 *")], {}, ["window-never-opens", "cannot-wake"]),
    ],
)
def test_what_can_wake_it(triggers: list[Obj], fields: dict[str, Any], expected: list[str]) -> None:
    assert codes(*triggers, **fields) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (PAUSED, "true", []),
        (PAUSED, "F", []),
        (PAUSED, "", ["annotation-value"]),
        (PAUSED, "no", ["annotation-value"]),
        (f"{PAUSED}-replicas", "0", []),
        (f"{PAUSED}-replicas", "-1", ["annotation-value"]),
        (f"{PAUSED}-scale-in", "true", []),
        ("autoscaling.keda.sh/pause", "true", ["unknown-annotation"]),
        ("autoscaling.keda.sh/", "true", ["unknown-annotation"]),
        ("keda-py.dev/pause-until", "2026-11-27T09:00:00Z", ["unknown-annotation"]),
        ("keda-py.dev/max-replicas-by-trigger", "a=1", ["unknown-annotation"]),
        ("keda-py.dev/hours", "office", []),
        ("example.com/paused", "no", []),
    ],
)
def test_annotations(name: str, value: str, expected: list[str]) -> None:
    assert codes(DAY, annotations={name: value}) == expected


def test_of_very_many_windows_the_first_are_looked_at_and_none_compared() -> None:
    assert codes(*[DAY] * MOST_WINDOWS) == ["windows-overlap"] * (MOST_WINDOWS - 1)
    assert codes(*[DAY] * (MOST_WINDOWS + 1)) == []


@pytest.mark.parametrize("written", [None, "", 3, ["never-sleeps"], "," * 100_000, "x" * 100_000])
def test_an_odd_annotation_switches_nothing_off(written: Any) -> None:
    assert not ignored_codes({IGNORE: written}) & {"never-sleeps", "window-swapped"}


def test_notes_tell_windows_what_does_not_wake_it_and_what_a_deletion_leaves() -> None:
    told = [note.message for note in notes_of(spec(DAY, cpu()))]
    assert told == [
        "spec.triggers[0]: daily 08:00-20:00 UTC, 84 h a week: 3 replicas",
        "spec.triggers[1]: cpu does not wake it from 0, and counts while another trigger keeps it up",
        "deleting it while Deployment app is at 0 leaves that at 0; set spec.advanced.restoreToOriginalReplicaCount: true",
    ]
    assert len(list(notes_of(spec(DAY, cpu(), minReplicaCount=1)))) == 1
