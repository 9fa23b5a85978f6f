"""KedaDefaults that can never work are refused with field, value and remedy; all mistakes at once."""

from typing import Any

import pytest

from keda_py.core.defaults.building import build_defaults
from keda_py.errors import ConfigError
from tests.builders import keda_defaults


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"bounds": {"pollingInterval": {"atLeast": 60, "atMost": 10}}},
            "spec.bounds.pollingInterval: atLeast 60 is more than atMost 10; lower it",
        ),
        (
            {"bounds": {"maxReplicaCount": {"atMost": 0}}},
            "spec.bounds.maxReplicaCount.atMost: 0 allows no value; write 1 or more",
        ),
        (
            {"pollingInterval": 5, "bounds": {"pollingInterval": {"atLeast": 30}}},
            "spec.pollingInterval: 5 is beyond spec.bounds.pollingInterval.atLeast 30; correct one of them",
        ),
        (
            {"minReplicaCount": 5, "maxReplicaCount": 2},
            "spec.minReplicaCount: 5 is more than maxReplicaCount 2; lower it",
        ),
        (
            {"behavior": {"scaleUp": {"policies": [{"type": "Sheep", "value": 1, "periodSeconds": 1}]}}},
            "spec.behavior: no HPA can have it; policies are Pods or Percent, selectPolicy Max, Min or Disabled",
        ),
        ({"pollingInterval": 0}, "spec.pollingInterval: 0 is too low; use 1 or more"),
        ({"cooldownPeriod": "5m"}, "spec.cooldownPeriod: must be a whole number"),
    ],
    ids=["crossed", "nothing allowed", "beyond its own bound", "min above max", "behavior", "zero", "text"],
)
def test_what_can_never_work_is_refused_in_a_clear_sentence(spec: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_defaults(keda_defaults("team", namespace="shop", **spec))
    assert sentence in str(refused.value)


def test_all_mistakes_are_told_at_once() -> None:
    spec = {
        "minReplicaCount": 5,
        "maxReplicaCount": 2,
        "bounds": {"cooldownPeriod": {"atLeast": 9, "atMost": 1}},
        "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Maybe"}]},
    }
    with pytest.raises(ConfigError) as refused:
        build_defaults(keda_defaults("team", "ClusterKedaDefaults", **spec))
    assert [one.field for one in refused.value.each] == [
        "spec.namespaceSelector",
        "spec.bounds.cooldownPeriod.atLeast",
        "spec.minReplicaCount",
    ]
