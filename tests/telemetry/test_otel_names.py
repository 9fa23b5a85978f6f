"""Every OpenTelemetry name has a series that exists, with the labels that its attributes are made of."""

import pytest

from keda_py.telemetry.otel_names import EXPORTED, ExportedMetric
from keda_py.telemetry.prometheus import OperatorMetrics


@pytest.mark.parametrize("exported", EXPORTED, ids=lambda one: one.name)
def test_the_series_of_an_opentelemetry_name_exists(exported: ExportedMetric) -> None:
    families = {family.name: family.type for family in OperatorMetrics().registry.collect()}
    name = exported.series
    if exported.kind == "counter":
        assert families[name.removesuffix("_total")] == "counter"
    else:
        assert families[name] == "gauge"


def test_no_name_is_exported_twice() -> None:
    names = [one.name for one in EXPORTED]
    assert len(set(names)) == len(names)
