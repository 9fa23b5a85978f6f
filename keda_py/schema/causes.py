"""The causes of an invalid object, in the API server's words.

`validation`, `cel` and `builtin_rules` create them; the server puts them into a Status (`status.invalid`). Clients and
people match on the texts, so they equal those of a real kube-apiserver.
"""

from typing import Any

import orjson

from keda_py.schema.status import Cause


def quoted(value: Any) -> str:
    """Format a value as these messages do: as JSON."""
    return orjson.dumps(value).decode()


def invalid(field: str, value: Any, detail: str) -> Cause:
    """The cause of a value of the right type that breaks a rule."""
    return Cause(reason="FieldValueInvalid", message=f"Invalid value: {quoted(value)}: {detail}", field=field)


def broken(field: str, detail: str) -> Cause:
    """The cause of an object or list that breaks a rule; its value is not repeated."""
    return Cause(reason="FieldValueInvalid", message=f"Invalid value: {detail}", field=field)


def mistyped(field: str, given: str, detail: str) -> Cause:
    """The cause of a value of the wrong type; `given` names that type."""
    return Cause(reason="FieldValueTypeInvalid", message=f'Invalid value: "{given}": {detail}', field=field)


def required(field: str, detail: str = "") -> Cause:
    """The cause of a missing value."""
    message = f"Required value: {detail}" if detail else "Required value"
    return Cause(reason="FieldValueRequired", message=message, field=field)


def unsupported(field: str, value: Any, supported: list[str]) -> Cause:
    """The cause of a value outside of an enumeration."""
    choices = ", ".join(quoted(choice) for choice in supported)
    message = f"Unsupported value: {quoted(value)}: supported values: {choices}"
    return Cause(reason="FieldValueNotSupported", message=message, field=field)


def forbidden(field: str, detail: str) -> Cause:
    """The cause of a field that must not be set, or not be changed."""
    return Cause(reason="FieldValueForbidden", message=f"Forbidden: {detail}", field=field)


def duplicate(field: str, value: Any) -> Cause:
    """The cause of a second item with the same key."""
    return Cause(reason="FieldValueDuplicate", message=f"Duplicate value: {quoted(value)}", field=field)


def not_found(field: str, value: Any) -> Cause:
    """The cause of a reference to something that does not exist."""
    return Cause(reason="FieldValueNotFound", message=f"Not found: {quoted(value)}", field=field)


def too_long(field: str, limit: int) -> Cause:
    """The cause of a text of more than `limit` bytes; it is not repeated."""
    message = f"Too long: may not be more than {limit} bytes"
    return Cause(reason="FieldValueTooLong", message=message, field=field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    """The cause of a list or map of more than `limit` members."""
    message = f"Too many: {actual}: must have at most {limit} items"
    return Cause(reason="FieldValueTooMany", message=message, field=field)
