"""The answers of Dynatrace: data points of its metrics API, and records of a query in its own language."""

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import at, items_of, number_or_none, read_json, short_text

_RUNS = ("RUNNING", "NOT_STARTED")
_FAILURES = {
    "FAILED": "the DQL query failed: try it in a notebook of Dynatrace",
    "CANCELLED": "the DQL query was cancelled",
    "RESULT_GONE": "the result of the DQL query has expired: set a shorter queryPollingWait",
}


def read_metric(text: bytes) -> float | None:
    """The first value of the first series, None for null. Raises ScalerError."""
    results = items_of(at(read_json(text), "result"), "result")
    if not results:
        raise ScalerError("Dynatrace response does not contain any results")
    series = items_of(at(results, 0, "data"), "data")
    if not series:
        raise ScalerError("Dynatrace response does not contain any metric series")
    values = items_of(at(series, 0, "values"), "values")
    if not values:
        raise ScalerError("Dynatrace response does not contain any values for the metric series")
    return number_or_none(values[0], "the first of values")


def read_token(text: bytes) -> str:
    """Read the token of a query that was begun. Raises ScalerError, also for one that has ended without a result."""
    document = read_json(text)
    state = at(document, "state")
    if state not in (*_RUNS, "SUCCEEDED"):
        raise _failure(state)
    token = at(document, "requestToken")
    if not isinstance(token, str) or not token:
        raise ScalerError("Dynatrace gives no requestToken for the query")
    return token


def read_records(text: bytes) -> tuple[bool, float | None]:
    """Return whether the query has ended, and field `r` of its first record, None if missing. Raises ScalerError."""
    document = read_json(text)
    match at(document, "state"):
        case "SUCCEEDED":
            records = items_of(at(document, "result", "records"), "records")
            if not records:
                raise ScalerError("the DQL query returned no records")
            return True, number_or_none(at(records, 0, "r"), "r")
        case state if state in _RUNS:
            return False, None
        case state:
            raise _failure(state)


def _failure(state: object) -> ScalerError:
    known = _FAILURES.get(state) if isinstance(state, str) else None
    return ScalerError(known or f"the DQL query is in state {short_text(state) or 'unknown'}, which is not known")
