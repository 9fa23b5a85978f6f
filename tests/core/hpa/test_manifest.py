"""The HPA that is written, and when a live one is left alone."""

from typing import Any

import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.hpa.manifest import build_hpa, differs
from keda_py.core.metric_names import LONGEST_NAME, name_metrics, normalise
from keda_py.core.metric_specs import ExternalMetric, MetricSpec, ResourceMetric
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.core.values.quantity import target_milli
from keda_py.errors import ConfigError

CRON = ExternalMetric(name="cron-Asia/Seoul-3008xxx-3019xxx", target=1)
MEMORY = ResourceMetric(name="memory", target_type="Utilization", target="90")
CPU = ResourceMetric(name="cpu", target_type="AverageValue", target="500m", container="app")


def spec_of(*metric_types: str, meta: dict[str, Any] | None = None, **fields: Any) -> ScalingSpec:
    triggers = [
        {"type": "x", "name": f"t{i}", "metadata": {}, "metricType": kind} for i, kind in enumerate(metric_types)
    ]
    metadata = {"name": "web", "namespace": "shop", "uid": "u-1", **(meta or {})}
    body = {"scaleTargetRef": {"name": "web"}, "triggers": triggers, **fields}
    return build_spec(ScaledObject.model_validate({"metadata": metadata, "spec": body}))


def manifest(spec: ScalingSpec, *metrics: MetricSpec) -> dict[str, Any]:
    return build_hpa(spec, name_metrics(spec, [[metric] for metric in metrics]))


def test_the_nightly_manifest_becomes_one_external_and_one_resource_metric() -> None:
    hpa = manifest(spec_of("", "Utilization", minReplicaCount=0, maxReplicaCount=10), CRON, MEMORY)
    assert hpa["spec"] == {
        "minReplicas": 1,
        "maxReplicas": 10,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "metrics": [
            {
                "type": "External",
                "external": {
                    "metric": {
                        "name": "s0-cron-Asia-Seoul-3008xxx-3019xxx",
                        "selector": {"matchLabels": {"scaledobject.keda.sh/name": "web"}},
                    },
                    "target": {"type": "AverageValue", "averageValue": "1"},
                },
            },
            {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 90}}},
        ],
    }  # fmt: skip


def test_metrics_are_sorted_by_type_as_in_keda() -> None:
    hpa = manifest(spec_of("Utilization", "", "AverageValue"), MEMORY, CRON, CPU)
    assert [metric["type"] for metric in hpa["spec"]["metrics"]] == ["ContainerResource", "External", "Resource"]


def test_a_formula_replaces_externals_and_drops_container_resources() -> None:
    modifiers = {"formula": "t1", "target": "2.5"}
    spec = spec_of("Utilization", "", "AverageValue", advanced={"scalingModifiers": modifiers})
    metrics = manifest(spec, MEMORY, CRON, CPU)["spec"]["metrics"]
    assert [metric["type"] for metric in metrics] == ["Resource", "External"]
    assert metrics[1]["external"]["metric"]["name"] == "composite-metric"
    assert metrics[1]["external"]["target"] == {"type": "AverageValue", "averageValue": "2500m"}


def test_a_formula_target_is_cut_after_three_decimals_in_float_arithmetic() -> None:
    spec = spec_of("", advanced={"scalingModifiers": {"formula": "t0", "target": "2.01"}})
    assert manifest(spec, CRON)["spec"]["metrics"][0]["external"]["target"]["averageValue"] == "2009m"


@pytest.mark.parametrize("text", ["", "0", "-1", "lots", "nan", "inf"])
def test_a_formula_target_must_be_a_number_above_zero(text: str) -> None:
    spec = spec_of("", advanced={"scalingModifiers": {"formula": "t0", "target": text}})
    with pytest.raises(ConfigError, match="target"):
        manifest(spec, CRON)


@pytest.mark.parametrize(
    ("target", "milli"), [(5, 5000), (0.25, 250), (2.01, 2010), (4.0006, 4001), (-1.0, 0), (1000000, 10**9)], ids=str
)
def test_targets_are_rounded_to_three_decimals_as_values_are(target: float, milli: int) -> None:
    assert target_milli(target) == milli


def test_labels_of_the_scaledobject_win_and_excluded_ones_stay_out() -> None:
    meta = {
        "labels": {"team": "core", "secret": "x", "app.kubernetes.io/part-of": "shop"},
        "annotations": {"scaledobject.keda.sh/hpa-excluded-labels": "secret"},
    }
    labels = manifest(spec_of("", meta=meta), CRON)["metadata"]["labels"]
    assert labels["team"] == "core"
    assert labels["app.kubernetes.io/part-of"] == "shop"
    assert labels["scaledobject.keda.sh/name"] == "web"
    assert "secret" not in labels


def test_a_long_hpa_name_is_cut_to_a_label_that_ends_well() -> None:
    name = "a" * 62 + "-tail"
    advanced = {"horizontalPodAutoscalerConfig": {"name": name}}
    assert manifest(spec_of("", advanced=advanced), CRON)["metadata"]["labels"]["app.kubernetes.io/name"] == "a" * 62


@pytest.mark.parametrize(("note", "direction"), [("paused-scale-in", "scaleDown"), ("paused-scale-out", "scaleUp")])
def test_blocking_a_direction_disables_it_in_the_hpa_and_keeps_the_rest(note: str, direction: str) -> None:
    behavior = {direction: {"stabilizationWindowSeconds": 7}}
    meta = {"annotations": {f"autoscaling.keda.sh/{note}": "true"}}
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": behavior}}
    rules = manifest(spec_of("", meta=meta, advanced=advanced), CRON)["spec"]["behavior"][direction]
    assert rules == {"stabilizationWindowSeconds": 7, "selectPolicy": "Disabled"}


def test_utilization_is_refused_for_an_external_metric() -> None:
    with pytest.raises(ConfigError, match="'Utilization' metric type is unsupported for external metrics"):
        manifest(spec_of("Utilization"), CRON)


def test_one_metric_name_twice_is_refused() -> None:
    spec = spec_of("")
    with pytest.raises(ConfigError, match="metricName s0-a defined multiple times in ScaledObject web"):
        name_metrics(spec, [[ExternalMetric(name="a", target=1), ExternalMetric(name="a", target=1)]])


def test_no_metric_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="no metric specs returned from scalers for ScaledObject shop/web"):
        name_metrics(spec_of(""), [[]])


def test_a_metric_whose_name_fits_into_no_url_is_refused_where_it_is_written() -> None:
    metric = ExternalMetric(name="a" * (LONGEST_NAME + 1), target=1)
    with pytest.raises(ConfigError, match="has 2001 characters; 2000 fit into the URL by which an HPA asks"):
        name_metrics(spec_of(""), [[metric]])


def test_names_are_normalised_and_spaces_stay() -> None:
    assert normalise("team/jobs:high_prio.v2 (x)%") == "team-jobs-high_prio-v2 -x--"


def live_of(desired: dict[str, Any]) -> dict[str, Any]:
    """What an API server makes of it."""
    extra = {"status": {"desiredReplicas": 1}}
    metadata = {**desired["metadata"], "uid": "h-1", "resourceVersion": "7"}
    metadata["labels"] = {**metadata["labels"], "added": "by-somebody"}
    return {**desired, **extra, "metadata": metadata}


def test_an_hpa_as_we_wrote_it_is_left_alone() -> None:
    desired = manifest(spec_of("", meta={"annotations": {"note": "x"}}), CRON)
    assert not differs(desired, live_of(desired))


@pytest.mark.parametrize(
    "edit",
    [
        lambda live: live["spec"].update(maxReplicas=3),
        lambda live: live["spec"].update(metrics=live["spec"]["metrics"] * 2),
        lambda live: live["spec"].update(behavior={"scaleDown": {"selectPolicy": "Disabled"}}),
        lambda live: live["metadata"]["labels"].pop("app.kubernetes.io/part-of"),
        lambda live: live["metadata"]["annotations"].update(note="changed"),
        lambda live: live["metadata"].update(ownerReferences=[]),
        lambda live: live["spec"]["metrics"][0]["external"]["target"].update(averageValue="2"),
    ],
    ids=["max", "a metric more", "a behavior", "a label gone", "an annotation", "no owner", "a target"],
)
def test_a_hand_edit_is_noticed(edit: Any) -> None:
    desired = manifest(spec_of("", meta={"annotations": {"note": "x"}}), CRON)
    live = live_of(manifest(spec_of("", meta={"annotations": {"note": "x"}}), CRON))
    edit(live)
    assert differs(desired, live)


def test_foreign_annotations_count_only_where_we_want_none() -> None:
    bare = manifest(spec_of(""), CRON)
    live = live_of(bare)
    live["metadata"]["annotations"] = {"added": "x"}
    assert differs(bare, live)
    noted = manifest(spec_of("", meta={"annotations": {"note": "x"}}), CRON)
    live = live_of(noted)
    live["metadata"]["annotations"] = {"note": "x", "added": "x"}
    assert not differs(noted, live)


COMPLETED = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    },
    "scaleDown": {
        "stabilizationWindowSeconds": 60,
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        "tolerance": "50m",
    },
}


def with_behavior(behavior: dict[str, Any]) -> dict[str, Any]:
    return manifest(spec_of("", advanced={"horizontalPodAutoscalerConfig": {"behavior": behavior}}), CRON)


def test_a_behavior_that_the_api_server_completed_is_left_alone() -> None:
    desired = with_behavior({"scaleDown": {"stabilizationWindowSeconds": 60, "tolerance": "0.05"}})
    live = live_of(desired)
    live["spec"] = {**live["spec"], "behavior": COMPLETED}
    assert not differs(desired, live)


def test_a_rule_that_is_no_longer_asked_for_is_taken_out_of_the_live_hpa() -> None:
    desired = with_behavior({"scaleDown": {"selectPolicy": "Max"}})
    live = live_of(desired)
    live["spec"] = {**live["spec"], "behavior": COMPLETED}
    assert differs(desired, live)


def test_a_metric_may_have_a_type_and_a_name_of_its_own() -> None:
    fixed = ExternalMetric(name="signalfx", target=4.0, metric_type="Value")
    agents = ExternalMetric(name="datadogmetric@ns.x:a/b", target=2, verbatim=True)
    metrics = name_metrics(spec_of("Utilization", "Value"), [[fixed], [agents]])
    assert [(one.name, one.metric_type) for one in metrics.external] == [
        ("s0-signalfx", "Value"),
        ("datadogmetric@ns.x:a/b", "Value"),
    ]
