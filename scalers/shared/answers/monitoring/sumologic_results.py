"""The answers of Sumo Logic: time series of a metrics query; state and records of a search job."""

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import LONGEST_TEXT, at, items_of, number_or_none, read_json, short_text


def read_points(text: bytes, row: str) -> list[float]:
    """The values of the one series of that row, "" for the first. Raises ScalerError."""
    document = read_json(text)
    if errors := items_of(at(document, "errors", "errors"), "errors"):
        raise ScalerError(f"Sumo Logic refuses the query: {short_text(at(errors, 0, 'message')) or 'no reason given'}")
    results = items_of(at(document, "queryResult"), "queryResult")
    found = next((one for one in results if not row or at(one, "rowId") == row), None)
    if found is None:
        missing = f"the row {row}, which resultQueryRowID names" if row else "any result"
        raise ScalerError(f"the answer to the metrics query does not have {missing}")
    series = items_of(at(found, "timeSeriesList", "timeSeries"), "timeSeries")
    if len(series) != 1:
        raise ScalerError(f"the metrics query returned {len(series)} time series: make it return one")
    values = [number_or_none(one, "values") for one in items_of(at(series, 0, "points", "values"), "values")]
    return [value for value in values if value is not None]


def read_job(text: bytes) -> str:
    """The id of a job that was made. Raises ScalerError."""
    job = at(read_json(text), "id")
    if not isinstance(job, str) or not job or len(job) > LONGEST_TEXT:
        raise ScalerError("Sumo Logic gives no id for the search job")
    return job


def read_state(text: bytes) -> tuple[str, int, int]:
    """The state of a job, how many messages it found and how many records it made. Raises ScalerError."""
    document = read_json(text)
    messages = number_or_none(at(document, "messageCount"), "messageCount") or 0
    records = number_or_none(at(document, "recordCount"), "recordCount") or 0
    return short_text(at(document, "state")), int(messages), int(records)


def read_records(text: bytes, field: str) -> list[float]:
    """The values of a field, of the records that have it; they are written as texts. Raises ScalerError."""
    records = items_of(at(read_json(text), "records"), "records")
    return [_number(value, field) for one in records if (value := at(one, "map", field)) is not None]


def _number(value: object, field: str) -> float:
    try:
        return float(value) if isinstance(value, str) and len(value) <= LONGEST_TEXT else float("")
    except ValueError:
        raise ScalerError(f'resultField "{field}" holds something else than a number') from None
