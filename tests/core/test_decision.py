"""The table of activation, row by row, and what holds for every input."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.conditions import ACTIVE, BROKEN, COOLDOWN, FORCED, NOT_ACTIVE, PARTIAL, READY, ConditionValue
from keda_py.core.decision import Decision, Keep, Observation, Reason, ScaleTo, decide, lasts
from keda_py.core.round import Outcome, settle
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.core.waking.slices import WakersWait

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=3)
JUST_NOW = NOW - timedelta(seconds=299)


def spec_of(annotations: dict[str, str] | None = None, **fields: Any) -> ScalingSpec:
    trigger = {"type": "redis", "metadata": {"listName": "jobs"}}
    meta = {"name": "web", "namespace": "shop", "creationTimestamp": "2026-11-20T09:00:00Z"}
    body = {"scaleTargetRef": {"name": "web"}, "triggers": [trigger], **fields}
    return build_spec(
        ScaledObject.model_validate({"metadata": {**meta, "annotations": annotations or {}}, "spec": body})
    )


def seen(replicas: int | None, **fields: Any) -> Observation:
    return Observation(replicas=replicas, **{"active": False, **fields})


FALLBACK = {"failureThreshold": 3, "replicas": 6}
ZERO_FALLBACK = {"failureThreshold": 3, "replicas": 0}
IN = {"autoscaling.keda.sh/paused-scale-in": "true"}
OUT = {"autoscaling.keda.sh/paused-scale-out": "true"}
FORCE = {"autoscaling.keda.sh/force-activation": "true"}

NO_SLICE = WakersWait(because="Service web does not lead to wakers yet")
NO_SLICE_YET = ConditionValue("False", "WakersPending", f"Scaling to 0 waits: {NO_SLICE.because}")

STEPWISE = {"keda-py.dev/cooldown": "after-scale-in"}

ROWS = [
    # name, spec, observation, reason, replicas to scale to (None: keep), Ready, Active
    ("unreadable replicas", spec_of(), seen(None, replicas_error="gone"), Reason.REPLICAS_UNKNOWN, None, None, None),
    ("paused", spec_of({"autoscaling.keda.sh/paused": ""}), seen(3), Reason.PAUSED, None, READY, None),
    ("paused at a count", spec_of({"autoscaling.keda.sh/paused-replicas": "0"}), seen(3), Reason.PAUSED, None, READY, None),
    ("A1 scale-out paused at zero", spec_of(OUT), seen(0, active=True), Reason.SCALE_OUT_PAUSED, None, READY, ACTIVE),
    ("A2 from zero to one", spec_of(), seen(0, active=True), Reason.ACTIVATED, 1, READY, ACTIVE),
    ("A2 from zero to min", spec_of(minReplicaCount=4), seen(0, active=True), Reason.ACTIVATED, 4, READY, ACTIVE),
    ("A2 from idle to min", spec_of(minReplicaCount=4, idleReplicaCount=1), seen(1, active=True), Reason.ACTIVATED, 4, READY, ACTIVE),
    ("A2 forced by annotation", spec_of(FORCE), seen(0), Reason.ACTIVATED, 1, READY, FORCED),
    ("A2 forced while triggers are active", spec_of(FORCE), seen(0, active=True), Reason.ACTIVATED, 1, READY, FORCED),
    ("A4 forced while triggers are active", spec_of(FORCE), seen(2, active=True), Reason.ACTIVE, None, READY, FORCED),
    ("A2 although another trigger fails", spec_of(), seen(0, active=True, failing=True), Reason.ACTIVATED, 1, READY, ACTIVE),
    ("A3 active, another trigger fails", spec_of(), seen(2, active=True, failing=True), Reason.SOME_TRIGGERS_FAIL, None, PARTIAL, ACTIVE),
    ("A4 active, the HPA scales", spec_of(), seen(2, active=True), Reason.ACTIVE, None, READY, ACTIVE),
    ("A4 below min without idle is the HPA's", spec_of(minReplicaCount=4), seen(2, active=True), Reason.ACTIVE, None, READY, ACTIVE),
    ("I1 failing, fallback is counting", spec_of(fallback=FALLBACK), seen(2, failing=True), Reason.AWAITING_FALLBACK, None, READY, NOT_ACTIVE),
    ("I2 failing, no fallback", spec_of(), seen(2, failing=True), Reason.TRIGGERS_FAIL, None, BROKEN, NOT_ACTIVE),
    ("I3 failing, fallback of zero goes down", spec_of(fallback=ZERO_FALLBACK), seen(2, failing=True, last_active=LONG_AGO), Reason.DEACTIVATED, 0, READY, NOT_ACTIVE),
    ("I3 scale-in paused", spec_of(IN), seen(2, last_active=LONG_AGO), Reason.SCALE_IN_PAUSED, None, READY, NOT_ACTIVE),
    ("I3 cluster out of sight", spec_of(), seen(2, last_active=LONG_AGO, known=False), Reason.CLUSTER_UNKNOWN, None, READY, NOT_ACTIVE),
    ("I3 cooling down", spec_of(), seen(2, last_active=JUST_NOW), Reason.COOLING_DOWN, None, READY, COOLDOWN),
    ("I3 initial cooldown", spec_of(initialCooldownPeriod=7200), seen(2), Reason.COOLING_DOWN, None, READY, COOLDOWN),
    ("I3 never active goes down at once", spec_of(), seen(2), Reason.DEACTIVATED, 0, READY, NOT_ACTIVE),
    ("I3 to zero", spec_of(), seen(7, last_active=LONG_AGO), Reason.DEACTIVATED, 0, READY, NOT_ACTIVE),
    ("I3 to zero before its Services lead to wakers", spec_of(), seen(7, last_active=LONG_AGO, wakers=NO_SLICE), Reason.WAKERS_PENDING, None, READY, NO_SLICE_YET),
    ("I3 to idle, whatever its Services do", spec_of(minReplicaCount=4, idleReplicaCount=1), seen(7, last_active=LONG_AGO, wakers=NO_SLICE), Reason.DEACTIVATED, 1, READY, NOT_ACTIVE),
    ("I3 to idle", spec_of(minReplicaCount=4, idleReplicaCount=1), seen(7, last_active=LONG_AGO), Reason.DEACTIVATED, 1, READY, NOT_ACTIVE),
    ("I3 the HPA scales in first", spec_of(STEPWISE), seen(2, last_active=LONG_AGO), Reason.SCALING_IN, None, READY, NOT_ACTIVE),
    ("I3 the HPA scales in to min first", spec_of(STEPWISE, minReplicaCount=4, idleReplicaCount=0), seen(5, last_active=LONG_AGO), Reason.SCALING_IN, None, READY, NOT_ACTIVE),
    ("I3 from min to idle", spec_of(STEPWISE, minReplicaCount=4, idleReplicaCount=0), seen(4, last_active=LONG_AGO), Reason.DEACTIVATED, 0, READY, NOT_ACTIVE),
    ("I3 from one to zero", spec_of(STEPWISE), seen(1, last_active=LONG_AGO), Reason.DEACTIVATED, 0, READY, NOT_ACTIVE),
    ("I3 cooling down at one", spec_of(STEPWISE), seen(1, last_active=JUST_NOW), Reason.COOLING_DOWN, None, READY, COOLDOWN),
    ("I3 scale-in paused before the HPA is left to it", spec_of(STEPWISE | IN), seen(5, last_active=LONG_AGO), Reason.SCALE_IN_PAUSED, None, READY, NOT_ACTIVE),
    ("I2 failing while the HPA scales in", spec_of(STEPWISE), seen(5, failing=True), Reason.TRIGGERS_FAIL, None, BROKEN, NOT_ACTIVE),
    ("A4 active above one", spec_of(STEPWISE), seen(5, active=True), Reason.ACTIVE, None, READY, ACTIVE),
    ("I4 raised to min", spec_of(minReplicaCount=4), seen(2), Reason.RAISED_TO_MIN, 4, READY, NOT_ACTIVE),
    ("I5 at zero", spec_of(), seen(0), Reason.INACTIVE, None, READY, NOT_ACTIVE),
    ("I5 at idle", spec_of(minReplicaCount=4, idleReplicaCount=1), seen(1), Reason.INACTIVE, None, READY, NOT_ACTIVE),
    ("I5 min above zero is the HPA's", spec_of(minReplicaCount=2), seen(5), Reason.INACTIVE, None, READY, NOT_ACTIVE),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_row_of_the_table_decides_as_stated(row: tuple[Any, ...]) -> None:
    _, spec, observation, reason, replicas, ready, active = row
    decision = decide(spec, observation, NOW)
    assert decision.reason == reason
    assert (decision.action.replicas if isinstance(decision.action, ScaleTo) else None) == replicas
    assert decision.active == active
    if ready is not None:
        assert decision.ready == ready


def test_the_table_reaches_every_reason() -> None:
    assert {row[3] for row in ROWS} | {Reason.AWAITING_TURN} == set(Reason)


def test_unreadable_replicas_are_told_with_their_cause() -> None:
    decision = decide(spec_of(), seen(None, replicas_error="deployments.apps is forbidden"), NOW)
    assert decision.ready.reason == "ErrorGettingCurrentReplicas"
    assert decision.ready.message == (
        "Error getting current replicas count for ScaleTarget: deployments.apps is forbidden"
    )


def test_a_cooldown_is_over_at_its_last_second_and_not_before() -> None:
    end = LONG_AGO + timedelta(seconds=300)
    observation = seen(1, last_active=LONG_AGO)
    before = decide(spec_of(), observation, end - timedelta(milliseconds=1))
    assert (before.reason, before.look_again_at) == (Reason.COOLING_DOWN, end)
    assert decide(spec_of(), observation, end).reason == Reason.DEACTIVATED


def test_activity_is_noted_while_active_but_not_while_a_trigger_fails() -> None:
    assert decide(spec_of(), seen(2, active=True, last_active=LONG_AGO), NOW).last_active == NOW
    assert decide(spec_of(), seen(2, active=True, failing=True, last_active=LONG_AGO), NOW).last_active == LONG_AGO
    assert decide(spec_of(OUT), seen(0, active=True, last_active=LONG_AGO), NOW).last_active == LONG_AGO


def test_a_known_change_is_when_to_look_again() -> None:
    soon = NOW + timedelta(minutes=4)
    assert decide(spec_of(), seen(1, active=True, changes_at=soon), NOW).look_again_at == soon
    at_night = decide(spec_of(), seen(1, last_active=JUST_NOW, changes_at=soon), NOW)
    assert at_night.look_again_at == JUST_NOW + timedelta(seconds=300)


def apply(spec: ScalingSpec, observation: Observation, error: str = "") -> tuple[Decision, Any]:
    decision = decide(spec, observation, NOW)
    return decision, settle(spec, observation, decision, Outcome(before=observation.replicas or 0, error=error))


def test_an_activation_tells_what_triggered_it() -> None:
    _, settled = apply(spec_of(), seen(0, active=True, active_metrics=("s0-redis-jobs", "s1-cron")))
    assert settled.event.reason == "KEDAScaleTargetActivated"
    assert settled.event.note == "Scaled apps/v1.Deployment shop/web from 0 to 1, triggered by s0-redis-jobs;s1-cron"
    for observation in (seen(0), seen(0, active=True, active_metrics=("s0-redis-jobs",))):
        _, forced = apply(spec_of(FORCE), observation)
        forced_note = "Scaled apps/v1.Deployment shop/web from 0 to 1, caused by forced activation annotation"
        assert forced.event.note == forced_note


def test_a_deactivation_tells_from_where_to_where() -> None:
    _, settled = apply(spec_of(), seen(3, last_active=LONG_AGO))
    assert settled.event.reason == "KEDAScaleTargetDeactivated"
    assert settled.event.note == "Deactivated apps/v1.Deployment shop/web from 3 to 0"


def test_a_failed_activation_warns_and_leaves_the_last_activity_as_it_was() -> None:
    _, settled = apply(spec_of(), seen(0, active=True, last_active=LONG_AGO), error="forbidden")
    assert (settled.event.type, settled.event.reason) == ("Warning", "KEDAScaleTargetActivationFailed")
    assert settled.last_active == LONG_AGO


def test_a_failed_deactivation_warns() -> None:
    _, settled = apply(spec_of(), seen(3, last_active=LONG_AGO), error="forbidden")
    assert (settled.event.type, settled.event.reason) == ("Warning", "KEDAScaleTargetDeactivationFailed")


def test_raising_to_min_has_no_event() -> None:
    assert apply(spec_of(minReplicaCount=4), seen(2))[1].event is None


observations = st.builds(
    Observation,
    replicas=st.one_of(st.none(), st.integers(0, 20)),
    active=st.booleans(),
    failing=st.booleans(),
    known=st.booleans(),
    last_active=st.one_of(st.none(), st.integers(1, 10**6).map(lambda ago: NOW - timedelta(seconds=ago))),
)
specs = st.builds(
    lambda low, idle, fallback, notes: (
        spec_of(notes, minReplicaCount=low, fallback=fallback)
        if idle is None or idle >= low
        else spec_of(notes, minReplicaCount=low, idleReplicaCount=idle, fallback=fallback)
    ),
    st.integers(0, 5),
    st.one_of(st.none(), st.integers(0, 4)),
    st.sampled_from([None, FALLBACK, ZERO_FALLBACK]),
    st.sampled_from([{}, IN, OUT, FORCE]),
)


@given(spec=specs, observation=observations)
def test_what_is_not_known_never_takes_anything_down(spec: ScalingSpec, observation: Observation) -> None:
    decision = decide(spec, observation, NOW)
    if not isinstance(decision.action, ScaleTo) or observation.replicas is None:
        assert isinstance(decision.action, Keep)
        return
    goes_down = decision.action.replicas < observation.replicas
    covered = spec.fallback is not None and spec.fallback.replicas == 0
    assert not (goes_down and observation.failing and not covered)
    assert not (goes_down and (observation.active or not observation.known or spec.pause.scale_in))


@given(spec=specs, observation=observations, later=st.integers(0, 10**9), other=observations)
def test_a_decision_that_lasts_is_the_same_at_any_later_time(
    spec: ScalingSpec, observation: Observation, later: int, other: Observation
) -> None:
    decision = decide(spec, replace(observation, replicas=min(observation.replicas or 0, 5)), NOW)
    if lasts(decision):
        seen_again = replace(other, replicas=min(observation.replicas or 0, 5), active=observation.active)
        again = decide(spec, replace(seen_again, failing=observation.failing), NOW + timedelta(seconds=later))
        assert (again.action, again.reason) == (decision.action, decision.reason)
        assert (again.ready, again.active) == (decision.ready, decision.active)


@given(spec=specs, observation=observations)
def test_a_decision_once_applied_decides_nothing_more(spec: ScalingSpec, observation: Observation) -> None:
    decision = decide(spec, observation, NOW)
    if isinstance(decision.action, ScaleTo):
        after = replace(observation, replicas=decision.action.replicas, last_active=decision.last_active)
        assert isinstance(decide(spec, after, NOW).action, Keep)
