"""The answer of New Relic's NerdGraph to a NRQL query."""

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import at, is_number, items_of, read_json, short_text


def read_results(text: bytes) -> tuple[int, float | None]:
    """How many rows there are, and the first number of the first row, None if missing. Raises ScalerError."""
    document = read_json(text)
    if errors := at(document, "errors"):
        raise ScalerError(
            f"New Relic refuses the query: {short_text(at(errors, 0, 'message')) or 'it does not say why'}"
        )
    account = at(document, "data", "actor", "account")
    if not isinstance(account, dict):
        raise ScalerError("the answer of New Relic has no data.actor.account")
    rows = items_of(at(account, "nrql", "results"), "results")
    values = rows[0].values() if rows and isinstance(rows[0], dict) else ()
    return len(rows), next((float(value) for value in values if is_number(value)), None)
