"""The answers of Datadog: series of its query API, whose last points may have no value yet; a value of its agent."""

from contextlib import suppress

from keda_py.core.values.quantity import parse_number
from keda_py.errors import ConfigError, ScalerError
from scalers.shared.answers.json_values import LONGEST_TEXT, at, items_of, number_or_none, read_json, short_text


def read_series(text: bytes, offset: int) -> list[float | None]:
    """For each series the value `offset` points before its last one with a value; None where it has none there.

    Raises ScalerError for an error that Datadog tells, and for a series with too few points.
    """
    document = read_json(text)
    if at(document, "status") == "error":
        raise ScalerError(f"Datadog refuses the query: {short_text(at(document, 'error')) or 'it does not say why'}")
    return [_value(points, offset) for points in _pointlists(document)]


def _pointlists(document: object) -> list[list[object]]:
    return [items_of(at(one, "pointlist"), "pointlist") for one in items_of(at(document, "series"), "series")]


def _value(points: list[object], offset: int) -> float | None:
    values = [number_or_none(at(point, 1), "a value of pointlist") for point in points]
    last = next((index for index in reversed(range(len(values))) if values[index] is not None), 0)
    if not values or last < offset:
        raise ScalerError("the time window has too few points for lastAvailablePointOffset: make age longer")
    return values[last - offset]


def read_agent_value(text: bytes) -> float:
    """The first item of an ExternalMetricValueList: a number, or a text that is a quantity. Raises ScalerError."""
    match at(read_json(text), "items", 0, "value"):
        case bool() | None | dict() | list():
            pass
        case int() | float() as number:
            return float(number)
        case str() as quantity if len(quantity) <= LONGEST_TEXT:
            with suppress(ConfigError):
                return parse_number(quantity)
    raise ScalerError("the metric value must be of type number or a string representing a Quantity")


def read_message(text: bytes) -> str:
    """Read the message of a Status, "" for any other answer."""
    try:
        return short_text(at(read_json(text), "message"))
    except ScalerError:
        return ""
