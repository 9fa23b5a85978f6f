"""The answer of Splunk's export of a search: one JSON object a line, each with a result."""

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import LONGEST_TEXT, at, read_json


def read_field(text: bytes, field: str) -> float:
    """A field of the first result; Splunk writes numbers as texts. Raises ScalerError."""
    found = at(read_json(text.lstrip().partition(b"\n")[0]), "result", field)
    if found is None:
        raise ScalerError(f'field "{field}" not found in search results: valueField names one of the saved search')
    if not isinstance(found, str) or len(found) > LONGEST_TEXT:
        raise ScalerError(f'field "{field}" in search results is not a text with a number')
    try:
        return float(found)
    except ValueError:
        raise ScalerError(f'field "{field}" in search results is not a number') from None
