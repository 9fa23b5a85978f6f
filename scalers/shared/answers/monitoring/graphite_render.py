"""The answer of Graphite's render API: a list of series, each with pairs of value and time."""

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import at, items_of, number_or_none, read_json


def read_render(text: bytes) -> tuple[int, bool, float | None]:
    """How many series, whether the first has points, and its last value that is not null. Raises ScalerError."""
    answer = read_json(text)
    if answer is None:
        raise ScalerError("the answer is null, which is no list of series")
    series = items_of(answer, "the whole")
    points = items_of(at(series, 0, "datapoints"), "datapoints")
    for point in reversed(points):
        if not isinstance(point, list) or not point:
            raise ScalerError("datapoints in the answer holds something else than pairs of value and time")
        value = number_or_none(point[0], "a value of datapoints")
        if value is not None:
            return len(series), True, value
    return len(series), bool(points), None
