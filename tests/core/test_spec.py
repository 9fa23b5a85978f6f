"""Defaults, annotations and cross-field rules of a ScaledObject."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.core.spec_rules import check_bounds, check_triggers
from keda_py.core.values.pause import PAUSED_REPLICAS
from keda_py.errors import ConfigError

TRIGGER = {"type": "redis", "metadata": {"listName": "jobs"}}


def spec_of(annotations: dict[str, str] | None = None, **fields: Any) -> ScalingSpec:
    meta = {"name": "web", "namespace": "shop", "annotations": annotations or {}}
    body = {"scaleTargetRef": {"name": "web"}, "triggers": [TRIGGER], **fields}
    return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))


def test_what_a_manifest_leaves_out_is_as_in_keda() -> None:
    spec = spec_of()
    assert (spec.polling_interval, spec.cooldown) == (timedelta(seconds=30), timedelta(seconds=300))
    assert (spec.initial_cooldown, spec.min_replicas, spec.max_replicas) == (timedelta(0), 0, 100)
    assert (spec.hpa_name, spec.target.kind_name) == ("keda-hpa-web", "apps/v1.Deployment")
    assert spec.idle_replicas is None
    assert spec.fallback is None
    assert spec.modifiers is None


def test_zero_is_not_the_same_as_left_out() -> None:
    spec = spec_of(cooldownPeriod=0, minReplicaCount=0)
    assert spec.cooldown == timedelta(0)
    assert spec.declared_min == 0


def test_empty_scaling_modifiers_are_none() -> None:
    assert spec_of(advanced={"scalingModifiers": {}}).modifiers is None


def test_a_target_of_the_core_group_keeps_its_slash() -> None:
    target = {"name": "rc", "apiVersion": "v1", "kind": "ReplicationController"}
    assert spec_of(scaleTargetRef=target).target.kind_name == "/v1.ReplicationController"


def test_a_creation_time_is_an_instant() -> None:
    meta = {"name": "web", "creationTimestamp": "2026-11-21T05:56:00Z"}
    body = {"scaleTargetRef": {"name": "web"}, "triggers": [TRIGGER]}
    spec = build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))
    assert spec.created == datetime(2026, 11, 21, 5, 56, tzinfo=UTC)


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True", "", "yes", "on", "tRuE"])
def test_a_pause_annotation_pauses_unless_it_clearly_says_no(text: str) -> None:
    assert spec_of({"autoscaling.keda.sh/paused": text}).pause.stopped


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_a_pause_annotation_that_says_no_does_not_pause(text: str) -> None:
    assert not spec_of({"autoscaling.keda.sh/paused": text}).pause.any


def test_paused_replicas_pauses_by_being_there() -> None:
    pause = spec_of({PAUSED_REPLICAS: "0"}).pause
    assert pause.stopped
    assert pause.replica_count() == 0


def test_paused_replicas_that_is_no_number_is_told_with_value_and_remedy() -> None:
    with pytest.raises(ConfigError, match='paused-replicas: "many" is not a number of replicas; write for example "0"'):
        spec_of({PAUSED_REPLICAS: "many"}).pause.replica_count()


def test_blocking_one_direction_does_not_stop_scaling() -> None:
    pause = spec_of({"autoscaling.keda.sh/paused-scale-in": "true"}).pause
    assert pause.any
    assert not pause.stopped


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"minReplicaCount": 5, "maxReplicaCount": 2}, "MinReplicaCount=5 must be less than MaxReplicaCount=2"),
        ({"minReplicaCount": 101}, "MinReplicaCount=101 must be less than MaxReplicaCount=100"),
        ({"minReplicaCount": 2, "idleReplicaCount": 3}, "IdleReplicaCount=3 must be less than MinReplicaCount=2"),
        ({"idleReplicaCount": 0}, "IdleReplicaCount=0 must be less than MinReplicaCount=0"),
    ],
    ids=["min above max", "min above the default max", "idle above min", "idle without min"],
)
def test_bounds_that_contradict_each_other_are_refused(fields: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_bounds(spec_of(**fields))


def test_idle_zero_with_an_explicit_min_of_zero_passes() -> None:
    check_bounds(spec_of(idleReplicaCount=0, minReplicaCount=0))


@pytest.mark.parametrize("kind", ["cpu", "memory", "cron"])
def test_caching_is_refused_where_it_means_nothing(kind: str) -> None:
    trigger = {"type": kind, "metadata": {}, "useCachedMetrics": True}
    with pytest.raises(ConfigError, match=f'property "useCachedMetrics" is not supported for "{kind}" scaler'):
        check_triggers(spec_of(triggers=[trigger]).triggers)


def test_two_triggers_of_one_name_are_refused() -> None:
    trigger = {**TRIGGER, "name": "jobs"}
    with pytest.raises(ConfigError, match='triggerName "jobs" is defined multiple times'):
        check_triggers(spec_of(triggers=[trigger, trigger]).triggers)


def test_triggers_without_a_name_may_be_many() -> None:
    check_triggers(spec_of(triggers=[TRIGGER, TRIGGER]).triggers)
