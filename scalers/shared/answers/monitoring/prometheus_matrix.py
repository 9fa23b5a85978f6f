"""The answer to a range query of Prometheus: series of observations."""

from math import isfinite

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import at, items_of, read_json
from scalers.shared.answers.prometheus_vector import sample_number

MOST_OBSERVATIONS = 20_000


def read_matrix(text: bytes) -> list[list[float]]:
    """Time in seconds and value of every observation, in order of time; what is not finite is left out.

    Raises ScalerError.
    """
    data = at(read_json(text), "data")
    if at(data, "resultType") != "matrix":
        raise ScalerError("prometheus query api returned something else than a matrix of series")
    result = items_of(at(data, "result"), "result")
    samples = [one for series in result for one in items_of(at(series, "values"), "values")]
    if len(samples) > MOST_OBSERVATIONS:
        raise ScalerError(f"the query returned {len(samples)} observations: make queryStep longer")
    return sorted(observation for one in samples if isfinite((observation := _observation(one))[1]))


def _observation(sample: object) -> list[float]:
    moment, value = at(sample, 0), at(sample, 1)
    if isinstance(moment, bool) or not isinstance(moment, int | float) or not isinstance(value, str):
        raise ScalerError("prometheus query api returned something else than a matrix of series")
    return [float(moment), sample_number(value[:400])]
