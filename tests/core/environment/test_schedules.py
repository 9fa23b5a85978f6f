from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.apis.environments.calendar import CalendarRef
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.core.decision import Keep, Observation, ScaleTo, decide
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.decision.members import Overlay, OverlayAsleep, OverlayHold, OverlayReplicas
from keda_py.core.environment.overrides import Overrides, TargetKey
from keda_py.core.environment.scaling.overlays import lay_over, overlay_of
from keda_py.core.environment.scaling.schedules import (
    BoundsSpec,
    ScheduleSpec,
    build_schedule,
    conflicts_of,
    in_force,
    lay_bounds_over,
    schedule_of,
)
from keda_py.core.evaluation import evaluate
from keda_py.core.fallback import FallbackState
from keda_py.core.metric_names import name_metrics
from keda_py.core.metric_specs import ExternalMetric
from keda_py.core.reading import MetricReading, Round
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.errors import ConfigError, ScalerError
from tests.core.environment.builders import LONG_AGO, NIGHT, calendar, override

DAY = {
    "name": "day",
    "hours": [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}],
    "minReplicas": 3,
    "maxReplicas": 10,
}
NOON_PEAK = {"name": "lunch", "hours": [{"from": "12:00", "to": "13:00"}], "replicas": 8}
PLANT = {"name": "plant", "calendarRef": {"name": "plant"}, "triggers": "Closed"}


def find(reference: CalendarRef) -> Calendar:
    if reference.name != "plant":
        raise ConfigError(f"Calendar {reference.name} is missing", field="spec.periods[0].calendarRef")
    return calendar()


def schedule(name: str = "s", created: str = LONG_AGO, **spec: Any) -> ScheduleSpec:
    body = {
        "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": created},
        "spec": {"names": ["queue"], "timeZone": "Europe/Prague"} | spec,
    }
    return build_schedule(ScalingSchedule.model_validate(body), find)


def scaled(annotations: dict[str, str] | None = None, **spec: Any) -> ScalingSpec:
    target = {"scaleTargetRef": {"name": "queue"}, "triggers": [{"type": "cron", "metadata": {}}]}
    metadata = {"name": "queue", "namespace": "shop", "annotations": annotations or {}}
    return AS_WRITTEN.read({"metadata": metadata, "spec": target | {"minReplicaCount": 1, "maxReplicaCount": 5} | spec})


def at(day: int, hour: int, minute: int = 0) -> datetime:
    """Return an instant of Prague in the week from Monday 23 November 2026."""
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC) - timedelta(hours=1)


def test_the_first_period_whose_time_it_is_holds() -> None:
    found = schedule(periods=[NOON_PEAK, DAY], otherwise={"triggers": "Closed", "minReplicas": 0})
    told = [
        (in_force(found, now).period, in_force(found, now).changes_at, in_force(found, now).changes_to)
        for now in (at(23, 9), at(23, 12, 30), at(27, 20))
    ]
    assert told == [("day", at(23, 12), "lunch"), ("lunch", at(23, 13), "day"), ("otherwise", at(28, 12), "lunch")]
    assert in_force(found, at(27, 20)).bounds == BoundsSpec(min_replicas=0, closed=True)
    assert in_force(schedule(periods=[DAY]), at(28, 9)).bounds is None


def test_a_boundary_that_changes_nothing_is_no_change() -> None:
    twice = schedule(periods=[{"name": "all", "hours": [{"from": "00:00", "to": "24:00"}], "replicas": 2}, DAY])
    assert in_force(twice, at(23, 9)).period == "all"
    assert in_force(schedule(periods=[PLANT]), datetime(2026, 11, 23, 12, tzinfo=UTC)).changes_at == datetime(
        2026, 11, 23, 18, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("bounds", "spec", "limits", "paused_at"),
    [
        (BoundsSpec(replicas=8), {}, (8, 8, None), None),
        (BoundsSpec(replicas=0), {}, (0, 5, None), "0"),
        (BoundsSpec(min_replicas=0), {}, (0, 5, None), None),
        (BoundsSpec(min_replicas=8), {}, (8, 8, None), None),
        (BoundsSpec(max_replicas=20), {}, (1, 20, None), None),
        (BoundsSpec(max_replicas=2), {"minReplicaCount": 4}, (2, 2, None), None),
        (BoundsSpec(min_replicas=3, max_replicas=10), {}, (3, 10, None), None),
        (BoundsSpec(min_replicas=1), {"minReplicaCount": 3, "idleReplicaCount": 0}, (1, 5, 0), None),
        (BoundsSpec(min_replicas=1), {"minReplicaCount": 3, "idleReplicaCount": 2}, (1, 5, None), None),
        (BoundsSpec(closed=True), {}, (0, 5, None), "1"),
        (BoundsSpec(closed=True, min_replicas=0), {}, (0, 5, None), "0"),
        (BoundsSpec(closed=True), {"minReplicaCount": 3, "idleReplicaCount": 0}, (0, 5, None), "0"),
        (None, {}, (1, 5, None), None),
    ],
)
def test_bounds_lie_over_the_manifest(
    bounds: BoundsSpec | None, spec: dict[str, Any], limits: tuple[int, int, int | None], paused_at: str | None
) -> None:
    found = lay_bounds_over(scaled(**spec), bounds)
    assert (found.min_replicas, found.max_replicas, found.idle_replicas) == limits
    assert found.pause.replicas == paused_at


def test_what_its_owner_paused_is_left_alone() -> None:
    paused = scaled({"autoscaling.keda.sh/paused-replicas": "2"})
    assert lay_bounds_over(paused, BoundsSpec(replicas=8)) is paused
    assert lay_over(paused, OverlayAsleep()) is paused
    assert lay_over(scaled({"autoscaling.keda.sh/paused": "true"}), OverlayAsleep()).pause.replicas is None


@pytest.mark.parametrize(
    ("overlay", "limits", "paused_at", "stopped"),
    [
        (None, (1, 5), None, False),
        (OverlayAsleep(), (0, 5), "0", True),
        (OverlayAsleep(triggers_wake=True), (0, 5), None, False),
        (OverlayHold(), (1, 5), None, True),
        (OverlayReplicas(3), (3, 3), None, False),
        (OverlayReplicas(0), (0, 5), "0", True),
    ],
)
def test_sleep_lies_over_the_spec(
    overlay: Overlay | None, limits: tuple[int, int], paused_at: str | None, stopped: bool
) -> None:
    found = lay_over(scaled(), overlay)
    assert (found.min_replicas, found.max_replicas) == limits
    assert (found.pause.replicas, found.pause.stopped) == (paused_at, stopped)


def test_sleep_wins_over_a_schedule_and_an_exact_count_over_closed_triggers() -> None:
    closed = lay_bounds_over(scaled(), BoundsSpec(closed=True))
    assert lay_over(closed, OverlayAsleep()).pause.replicas == "0"
    assert lay_over(closed, OverlayAsleep(triggers_wake=True)).pause.replicas == "0"
    assert lay_over(closed, OverlayReplicas(3)).pause.replicas is None


@pytest.mark.parametrize("failures", [0, 1, 1000])
@pytest.mark.parametrize("fallback", [None, {"failureThreshold": 1, "replicas": 4}])
def test_a_source_that_cannot_be_read_neither_wakes_nor_keeps_awake(failures: int, fallback: Any) -> None:
    asleep = lay_over(scaled(fallback=fallback), OverlayAsleep(triggers_wake=True))
    metrics = name_metrics(asleep, [[ExternalMetric(name="cron", target=5)]])
    broken = tuple(MetricReading(metric=one, outcome=ScalerError("away"), taken_at=NIGHT) for one in metrics.external)
    health = {one.name: FallbackState(failures=failures) for one in metrics.external}
    found = evaluate(asleep, metrics, Round(readings=broken), health, 3, 3)
    assert (found.active, found.failing) == (False, True)

    def action(replicas: int) -> object:
        return decide(asleep, Observation(replicas=replicas, active=found.active, failing=found.failing), NIGHT).action

    assert action(3) == ScaleTo(replicas=0, activates=False)
    assert action(0) == Keep()


def test_cpu_cannot_wake_what_has_no_pods() -> None:
    cpu = scaled(triggers=[{"type": "cpu", "metadata": {"value": "50"}}])
    assert lay_over(cpu, OverlayAsleep(triggers_wake=True)).pause.replicas == "0"


def test_an_active_trigger_wakes_and_keeps_awake() -> None:
    asleep = lay_over(scaled(fallback={"failureThreshold": 1, "replicas": 4}), OverlayAsleep(triggers_wake=True))
    assert decide(asleep, Observation(replicas=0, active=True), NIGHT).action == ScaleTo(replicas=1, activates=True)
    assert decide(asleep, Observation(replicas=3, active=True), NIGHT).action == Keep()


def test_an_override_works_without_an_environment() -> None:
    queue = TargetKey("ScaledObject", "queue")

    def overlay(**spec: Any) -> Overlay | None:
        return overlay_of(
            Overrides([override("o", "2026-11-23T19:00:00Z", "ScaledObject/queue", **spec)]).verdict([queue], NIGHT)
        )

    assert overlay(state="Asleep") == OverlayAsleep()
    assert overlay(state="Hold") == OverlayHold()
    assert overlay(replicas=2) == OverlayReplicas(2)
    assert overlay(state="Awake") is None
    assert overlay(state="Asleep", **{"for": "1h"}) is None


def test_the_older_of_two_schedules_rules_and_the_other_names_it() -> None:
    old = schedule("old", periods=[DAY], names=["queue", "other"])
    new = schedule("new", "2026-02-01T00:00:00Z", periods=[DAY], names=[], selector={"matchLabels": {"tier": "batch"}})
    labels = {"queue": {"tier": "batch"}, "third": {"tier": "batch"}}
    assert schedule_of([new, old], "queue", labels["queue"]) is old
    assert conflicts_of(new, [new, old], labels) == {"queue": "old"}
    assert conflicts_of(old, [new, old], labels) == {}
    assert schedule_of([new, old], "none", {}) is None


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"names": [], "periods": [DAY]}, "spec: chooses no ScaledObject; give names or a selector"),
        ({"periods": [DAY, DAY]}, "spec.periods[1].name: 'day' is taken; give each period a name of its own"),
        ({"periods": [DAY | {"name": "otherwise"}]}, "spec.periods[0].name: 'otherwise' is taken; give each period a name of its own"),
        ({"periods": [{"name": "a", "replicas": 1}]}, "spec.periods[0]: give one of calendarRef and hours"),
        ({"periods": [{"name": "a", "hours": DAY["hours"]}]}, "spec.periods[0]: changes nothing; give replicas, minReplicas, maxReplicas or triggers"),
        ({"periods": [DAY | {"replicas": 2}]}, "spec.periods[0].replicas: 2 is exact; leave out minReplicas, maxReplicas and triggers"),
        ({"periods": [DAY | {"minReplicas": 20}]}, "spec.periods[0].minReplicas: 20 is more than maxReplicas 10; lower it"),
        ({"periods": [DAY], "timeZone": "Mars/Olympus"}, "spec.timeZone: 'Mars/Olympus' is not a known time zone; write an IANA name, e.g. Europe/Prague or UTC"),
        ({"periods": [{"name": "a", "calendarRef": {"name": "gone"}, "replicas": 1}]}, "Calendar gone is missing"),
    ],
)  # fmt: skip
def test_a_schedule_that_cannot_be_meant_is_refused(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        schedule(**spec)
    assert str(refused.value) == text
