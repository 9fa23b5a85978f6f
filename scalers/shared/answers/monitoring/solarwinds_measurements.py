"""The answer of SolarWinds Observability: groups of measurements."""

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import at, items_of, number_or_none, read_json


def read_measurement(text: bytes) -> float:
    """The first value of the first group that has measurements. Raises ScalerError."""
    for group in items_of(at(read_json(text), "groupings"), "groupings"):
        for measurement in items_of(at(group, "measurements"), "measurements"):
            value = number_or_none(at(measurement, "value"), "value")
            if value is None:
                raise ScalerError("the first measurement in the answer has no value")
            return value
    raise ScalerError("no measurements found in the answer: check metricName, filter and intervalS")
