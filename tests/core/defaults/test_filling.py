"""Which value of a field is in force: the manifest's, a default's, or a bound; and the note that says why."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.environments.keda_defaults import KedaDefaultsSpec
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.defaults.building import build_defaults, build_layer
from keda_py.core.defaults.filling import fill_scaled_job, fill_scaled_object
from keda_py.core.defaults.layers import INSTALLATION, DefaultsLayer, Layers, layers_of
from keda_py.core.environment.scaling.overlays import exactly
from keda_py.core.environment.scaling.schedules import BoundsSpec, lay_bounds_over
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.spec import ScalingSpec
from keda_py.core.spec_rules import check_bounds
from keda_py.core.values.pause import PAUSED_REPLICAS
from keda_py.errors import ConfigError
from tests.builders import bare_scaled_object, cpu, keda_defaults, scaled_job

TRIGGER = {"type": "redis", "metadata": {"listName": "jobs"}}


def layer(name: str = "team", kind: str = "KedaDefaults", **spec: Any) -> DefaultsLayer:
    return build_defaults(keda_defaults(name, kind, "shop", **spec)).layer


def layer_spec(**spec: Any) -> KedaDefaultsSpec:
    return KedaDefaultsSpec.model_validate(spec)


def most(replicas: int) -> dict[str, Any]:
    return {"maxReplicaCount": {"atMost": replicas}}


def filled(layers: Layers, *triggers: Any, annotations: dict[str, str] | None = None, **fields: Any) -> ScalingSpec:
    body = bare_scaled_object(*(triggers or (TRIGGER,)), namespace="shop", annotations=annotations, **fields)
    return fill_scaled_object(ScaledObject.model_validate(body), layers)


def filled_job(layers: Layers, **fields: Any) -> JobScalingSpec:
    body = scaled_job(TRIGGER, namespace="shop", **fields)
    body["spec"] = {name: value for name, value in body["spec"].items() if value is not None}
    return fill_scaled_job(ScaledJob.model_validate(body), layers)


def told(spec: ScalingSpec | JobScalingSpec) -> list[str]:
    return [note.text for note in spec.defaults]


def test_a_field_that_the_manifest_leaves_out_has_the_default_and_says_where_it_is_from() -> None:
    spec = filled((layer(pollingInterval=60, cooldownPeriod=600, minReplicaCount=2, maxReplicaCount=9),))
    assert (spec.polling_interval, spec.cooldown) == (timedelta(seconds=60), timedelta(seconds=600))
    assert (spec.min_replicas, spec.max_replicas) == (2, 9)
    assert told(spec) == [
        "pollingInterval 60: from KedaDefaults team in this namespace",
        "cooldownPeriod 600: from KedaDefaults team in this namespace",
        "minReplicaCount 2: from KedaDefaults team in this namespace",
        "maxReplicaCount 9: from KedaDefaults team in this namespace",
    ]


def test_the_manifests_own_field_wins_also_where_it_is_zero() -> None:
    spec = filled((layer(cooldownPeriod=600, minReplicaCount=2),), cooldownPeriod=0, minReplicaCount=0)
    assert (spec.cooldown, spec.min_replicas) == (timedelta(0), 0)
    assert told(spec) == []


def test_without_layers_a_spec_is_as_it_is_written() -> None:
    assert filled(()) == replace(filled((layer(bounds=most(100)),)), most_replicas=None)


def test_the_nearest_layer_gives_a_field_and_the_others_what_it_leaves_out() -> None:
    layers = (
        layer(pollingInterval=20),
        layer("prod", "ClusterKedaDefaults", pollingInterval=40, cooldownPeriod=100),
        build_layer(layer_spec(pollingInterval=50, initialCooldownPeriod=7), INSTALLATION),
    )
    assert told(filled(layers)) == [
        "pollingInterval 20: from KedaDefaults team in this namespace",
        "cooldownPeriod 100: from ClusterKedaDefaults prod",
        "initialCooldownPeriod 7: from the defaults of this installation",
    ]


def test_fallback_and_behavior_are_defaults_as_a_whole() -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    layers = (layer(fallback={"failureThreshold": 5, "replicas": 3}, behavior=behavior),)
    spec = filled(layers)
    assert spec.fallback is not None
    assert (spec.fallback.failure_threshold, spec.fallback.replicas) == (5, 3)
    assert spec.behavior == behavior
    assert told(spec) == [
        "fallback of 3 replicas after 5 failures: from KedaDefaults team in this namespace",
        "behavior: from KedaDefaults team in this namespace",
    ]
    own = {"horizontalPodAutoscalerConfig": {"name": "mine", "behavior": {"scaleUp": {}}}}
    assert filled(layers, advanced=own).behavior == {"scaleUp": {}}
    assert filled(layers, advanced={"horizontalPodAutoscalerConfig": {"name": "mine"}}).hpa_name == "mine"


def test_a_default_fallback_is_not_laid_where_keda_denies_one() -> None:
    assert filled((layer(fallback={"failureThreshold": 5, "replicas": 3}),), cpu()).fallback is None


@pytest.mark.parametrize(
    ("default", "manifest", "counts"),
    [
        ({"minReplicaCount": 5}, {"maxReplicaCount": 3}, (3, 3)),
        ({"maxReplicaCount": 5}, {"minReplicaCount": 8}, (8, 8)),
        ({"minReplicaCount": 2}, {"idleReplicaCount": 2, "maxReplicaCount": 9}, (0, 9)),
    ],
    ids=["a minimum above the manifest's maximum", "a maximum below its minimum", "a minimum at its idle count"],
)
def test_a_default_gives_way_to_the_manifests_other_fields(
    default: dict[str, int], manifest: dict[str, int], counts: tuple[int, int]
) -> None:
    spec = filled((layer(**default),), **manifest)
    assert (spec.min_replicas, spec.max_replicas) == counts


def test_what_goes_beyond_a_bound_works_as_the_bound_and_says_so() -> None:
    bounds = {**most(50), "pollingInterval": {"atLeast": 10}, "minReplicaCount": {"atMost": 3}}
    spec = filled((layer("prod", "ClusterKedaDefaults", bounds=bounds),), pollingInterval=1, minReplicaCount=5)
    assert (spec.polling_interval, spec.min_replicas, spec.max_replicas) == (timedelta(seconds=10), 3, 50)
    assert told(spec) == [
        "pollingInterval 10: the bound of ClusterKedaDefaults prod; the manifest asks for 1",
        "minReplicaCount 3: the bound of ClusterKedaDefaults prod; the manifest asks for 5",
        "maxReplicaCount 50: the bound of ClusterKedaDefaults prod; the default of KEDA is 100",
    ]
    assert [note.is_asked for note in spec.defaults] == [True, True, False]


def test_a_namespace_cannot_widen_the_bounds_of_the_cluster() -> None:
    layers = (layer(maxReplicaCount=90, bounds=most(95)), layer("prod", "ClusterKedaDefaults", bounds=most(20)))
    assert filled(layers).max_replicas == 20
    assert filled(layers, maxReplicaCount=500).max_replicas == 20
    assert filled((layer(bounds=most(5)), layers[1]), maxReplicaCount=500).max_replicas == 5


def at_least(replicas: int) -> dict[str, Any]:
    return {"minReplicaCount": {"atLeast": replicas}}


def test_a_namespace_cannot_go_below_the_minimum_of_the_cluster_by_a_maximum_of_its_own() -> None:
    cluster = layer("prod", "ClusterKedaDefaults", bounds=at_least(2))
    for layers in ((cluster,), (layer(bounds=most(1)), cluster), (layer(maxReplicaCount=1), cluster)):
        spec = filled(layers, maxReplicaCount=1, fallback={"failureThreshold": 1, "replicas": 9})
        assert (spec.min_replicas, spec.max_replicas) == (2, 2)
        check_bounds(spec)
        assert "maxReplicaCount 2: no less than minReplicaCount 2; the manifest asks for 1" in told(spec)
    assert spec.fallback is not None
    assert filled((layer(bounds=most(1)), cluster), maxReplicaCount=9).max_replicas == 2
    assert exactly(filled((layer(bounds=most(1)), cluster)), 9).max_replicas == 2


def test_a_minimum_is_raised_no_further_than_bounds_of_the_same_weight_or_more_allow() -> None:
    selected, everywhere = (layer(name, "ClusterKedaDefaults", bounds=at_least(5) | most(3)) for name in ("a", "b"))
    for layers in ((selected,), (layer("a", "ClusterKedaDefaults", bounds=at_least(5)), everywhere)):
        spec = filled(layers, maxReplicaCount=1)
        assert (spec.min_replicas, spec.max_replicas) == (3, 3)
    own = filled((layer(bounds=at_least(5)), layer("b", "ClusterKedaDefaults", bounds=most(3))), maxReplicaCount=1)
    assert (own.min_replicas, own.max_replicas) == (3, 3)


def test_a_lowered_maximum_takes_minimum_fallback_idle_and_pause_with_it() -> None:
    layers = (layer(bounds=most(4)),)
    spec = filled(
        layers,
        minReplicaCount=6,
        idleReplicaCount=5,
        fallback={"failureThreshold": 1, "replicas": 40},
        annotations={PAUSED_REPLICAS: "30"},
    )
    assert (spec.min_replicas, spec.max_replicas, spec.idle_replicas) == (4, 4, 3)
    assert spec.fallback is not None
    assert (spec.fallback.replicas, spec.pause.replica_count()) == (4, 4)
    check_bounds(spec)
    assert "annotation autoscaling.keda.sh/paused-replicas 4" in told(spec)[-1]


def test_no_schedule_and_no_override_goes_beyond_the_maximum() -> None:
    spec = filled((layer(bounds=most(4)),))
    assert exactly(spec, 30).max_replicas == 4
    assert exactly(spec, 3).max_replicas == 3
    bounds = lay_bounds_over(spec, BoundsSpec(min_replicas=20, max_replicas=30))
    assert (bounds.min_replicas, bounds.max_replicas) == (4, 4)
    assert told(bounds)[-1].startswith("replicas 4: the bound of maxReplicaCount; 30 are asked for")
    assert lay_bounds_over(spec, BoundsSpec(replicas=9, closed=False)).max_replicas == 4


def test_scaled_jobs_have_the_interval_and_the_maximum_but_no_job_that_always_runs() -> None:
    layers = (layer(pollingInterval=60, minReplicaCount=2, maxReplicaCount=7),)
    spec = filled_job(layers, pollingInterval=None)
    assert (spec.polling_interval, spec.min_jobs, spec.extra_jobs) == (timedelta(seconds=60), 0, 7)
    assert told(spec) == [
        "pollingInterval 60: from KedaDefaults team in this namespace",
        "maxReplicaCount 7: from KedaDefaults team in this namespace",
    ]


def test_a_bound_limits_all_jobs_of_a_scaled_job_together() -> None:
    layers = (layer(bounds=most(10)),)
    for fields in ({"minReplicaCount": 4}, {"minReplicaCount": 4, "maxReplicaCount": 50}, {"minReplicaCount": 40}):
        spec = filled_job(layers, **fields)
        assert spec.min_jobs + spec.extra_jobs == 10, fields


_COUNTS = st.none() | st.integers(0, 60)


@given(
    fields=st.fixed_dictionaries(dict.fromkeys(("minReplicaCount", "maxReplicaCount", "idleReplicaCount"), _COUNTS)),
    default=st.tuples(_COUNTS, _COUNTS),
    ceilings=st.lists(st.integers(1, 50), min_size=1, max_size=3),
)
def test_whatever_is_asked_for_no_count_is_beyond_a_bound_and_no_valid_manifest_becomes_invalid(
    fields: dict[str, int | None], default: tuple[int | None, int | None], ceilings: list[int]
) -> None:
    written = {name: value for name, value in fields.items() if value is not None}
    written = {name: max(value, 1) if name == "maxReplicaCount" else value for name, value in written.items()}
    least, greatest = sorted(one or 1 for one in default)
    layers = (
        build_layer(layer_spec(minReplicaCount=least, maxReplicaCount=greatest), "near"),
        *(layer(bounds=most(one)) for one in ceilings),
    )
    spec = filled(layers, **written)
    assert spec.max_replicas <= min(ceilings)
    assert spec.min_replicas <= max(spec.max_replicas, written.get("minReplicaCount", 0))
    try:
        check_bounds(filled((), **written))
    except ConfigError:
        return
    check_bounds(spec)


def test_layers_go_from_the_namespace_to_the_selected_to_all_namespaces_the_older_first() -> None:
    def made(name: str, kind: str, second: int, **spec: Any) -> Any:
        body = keda_defaults(name, kind, "shop", pollingInterval=5, **spec)
        body["metadata"] |= {"creationTimestamp": f"2026-01-01T00:00:0{second}Z", "uid": name}
        return build_defaults(body)

    selector = {"namespaceSelector": {"matchLabels": {"tier": "prod"}}}
    own = [made("young", "KedaDefaults", 9), made("old", "KedaDefaults", 8)]
    cluster = [
        made("all", "ClusterKedaDefaults", 1),
        made("second", "ClusterKedaDefaults", 3, **selector),
        made("first", "ClusterKedaDefaults", 2, **selector),
        made("other", "ClusterKedaDefaults", 0, namespaceSelector={"matchLabels": {"tier": "test"}}),
    ]
    names = [one.origin.split()[1] for one in layers_of({"tier": "prod"}, own, cluster, None)]
    assert names == ["old", "young", "first", "second", "all"]
