"""Check of one object by our CRDs' schemas: the API server refuses or drops these fields before any webhook is asked.

The embedded cluster's validation does the work (`keda_py/localkube`), in a real server's words; a remedy is added where
those words have none.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

from keda_py.apis.kinds.crds import build_crds
from keda_py.core.admission import codes
from keda_py.core.admission.findings import Denial, Finding
from keda_py.schema.decoding import check_types, replace_nulls
from keda_py.schema.defaults import apply_defaults
from keda_py.schema.schemas import Schema, property_schema, prune
from keda_py.schema.status import Cause, StatusError
from keda_py.schema.validation import RULES_NOT_CHECKED, check_rules, validate
from keda_py.validation.schema_errors import mend

_REMEDIES = {
    "of type string": "; put the value in quotes",
    "of type integer": "; write a whole number without quotes",
    "of type boolean": "; write true or false without quotes",
    "of type array": "; write a list",
    "of type object": "; write a map of keys and values",
    "Required value": "; add it",
}


@cache
def our_kinds() -> dict[tuple[str, str], Schema]:
    """Map (apiVersion, kind) to the schema."""
    found = {}
    for crd in build_crds():
        group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
        for version in crd["spec"]["versions"]:
            found[f"{group}/{version['name']}", kind] = version["schema"]["openAPIV3Schema"]
    return found


def check_schema(body: dict[str, Any]) -> Iterator[Finding]:
    """Yield wrong values and unknown fields, which `kubectl apply` refuses and other clients lose silently.

    The object is of one of `our_kinds`. An unknown field has a code: it can be switched off.
    """
    yield from check_against(body, our_kinds()[body["apiVersion"], body["kind"]])


def check_against(body: dict[str, Any], schema: Schema) -> Iterator[Finding]:
    """The same by any schema, as that of a kind of the API server's own."""
    if not isinstance(body.get("metadata"), dict):
        yield _deny("metadata: Required value: a map with a name; add it", "metadata")
        return
    try:
        check_types(body, schema)
    except StatusError as error:
        yield _deny(error.message, "metadata")
        return
    kept, dropped = prune(replace_nulls(body, schema), schema)
    for path in dropped:
        yield _deny(f"{path}: unknown field{_suggest(schema, path)}", path, codes.UNKNOWN_FIELD)
    causes = validate(apply_defaults(kept, schema), schema)
    found = [*causes, *_rules_besides(body, schema)] if causes else []
    for cause in dict.fromkeys(one for one in found if one != RULES_NOT_CHECKED):
        remedy = next((text for words, text in _REMEDIES.items() if words in cause.message), "")
        field = "" if cause.field == "<nil>" else cause.field
        yield _deny(f"{field}: {cause.message}{remedy}".removeprefix(": "), field)


def _rules_besides(body: dict[str, Any], schema: Schema) -> Iterator[Cause]:
    """CEL rules that are broken beside the values that the structure refuses; a server tells them only afterwards."""
    mended = mend(body, schema)
    if mended is not None and mended[1]:
        yield from check_rules(apply_defaults(mended[0], schema), schema, unknown=mended[1])


def _suggest(schema: Schema, path: str) -> str:
    """Suggest where a field belongs: one level below, or further up; else the nearest field of the same parent."""
    *parents, name = path.split(".")
    above: list[str] = []
    for at, parent in enumerate(parents):
        if name in (schema.get("properties") or {}):
            above.append(".".join(parents[:at]))
        plain, _, index = parent.partition("[")
        schema = property_schema(schema, plain)
        if index:
            schema = schema.get("items") or {}
    fields = schema.get("properties") or {}
    for below, inner in fields.items():
        if name in (inner.get("properties") or {}):
            return f"; write it below {below}"
    near = get_close_matches(name, fields, n=1)
    if above and above[-1] and not near:
        return f"; write it below {above[-1]}"
    return f'; did you mean "{near[0]}"?' if near else "; it would be dropped"


def _deny(message: str, field: str, code: str = "") -> Denial:
    return Denial(message=message, reason="schema", field=field, code=code)
