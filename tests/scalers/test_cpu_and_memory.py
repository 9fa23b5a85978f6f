"""`cpu` and `memory`: targets for the HPA, read by nobody here."""

from typing import Any

import pytest

from keda_py.errors import ConfigError
from keda_py.sdk.advanced import ResourceMetric
from tests.scalers.conftest import Bench


@pytest.mark.parametrize("resource", ["cpu", "memory"])
@pytest.mark.parametrize(
    ("metric_type", "metadata", "container"),
    [
        ("Utilization", {"value": "60"}, ""),
        ("AverageValue", {"value": "512Mi"}, ""),
        ("AverageValue", {"value": "1500m", "containerName": "app"}, "app"),
    ],
)
async def test_the_target_goes_into_the_hpa_as_it_is(
    bench: Bench, resource: Any, metric_type: Any, metadata: dict[str, str], container: str
) -> None:
    scaler = bench.scaler(resource, metadata, metric_type=metric_type)
    target = metadata["value"]
    expected = ResourceMetric(name=resource, target_type=metric_type, target=target, container=container)
    assert await scaler.specs() == (expected,)


@pytest.mark.parametrize(
    ("metric_type", "metadata", "message"),
    [
        ("", {"value": "50"}, "unknown metric type: , allowed values are 'Utilization' or 'AverageValue'"),
        ("Value", {"value": "50"}, "unknown metric type: Value, allowed values are 'Utilization' or 'AverageValue'"),
        (
            "Utilization",
            {"value": "50", "type": "Utilization"},
            "scaler memory info: The 'type' setting is DEPRECATED and is removed in v2.18 - Use 'metricType' instead.",
        ),
        ("Utilization", {"value": "lots"}, 'strconv.ParseInt: parsing "lots": invalid syntax'),
        ("Utilization", {"value": "0"}, 'value: "0" is out of range'),
        ("Utilization", {"value": "3000000000"}, 'value: "3000000000" is out of range'),
        ("AverageValue", {"value": "lots"}, "value: 'lots' is not a quantity"),
        ("AverageValue", {}, 'missing required parameter "value" in [triggerMetadata]'),
    ],
)
async def test_metadata_that_is_refused(bench: Bench, metric_type: Any, metadata: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("memory", metadata, metric_type=metric_type)
    assert str(refused.value).startswith(f"error parsing memory metadata: {message}")
