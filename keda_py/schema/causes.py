"""The causes of an invalid object, in the API server's words.

Made by `validation`, `cel` and `builtin_rules`; the server puts them into a Status (`status.invalid`). The words
are those of a real kube-apiserver: clients and people match on them.
"""

from typing import Any

import orjson

from keda_py.schema.status import Cause


def quoted(value: Any) -> str:
    """A value as these messages print it: JSON."""
    return orjson.dumps(value).decode()


def invalid(field: str, value: Any, detail: str) -> Cause:
    """The value is of the right type, and still wrong."""
    return Cause(reason="FieldValueInvalid", message=f"Invalid value: {quoted(value)}: {detail}", field=field)


def broken(field: str, detail: str) -> Cause:
    """An object or list breaks a rule; the value is not repeated."""
    return Cause(reason="FieldValueInvalid", message=f"Invalid value: {detail}", field=field)


def mistyped(field: str, given: str, detail: str) -> Cause:
    """The value has another type; `given` is the name of the type it has."""
    return Cause(reason="FieldValueTypeInvalid", message=f'Invalid value: "{given}": {detail}', field=field)


def required(field: str, detail: str = "") -> Cause:
    """The value is missing."""
    message = f"Required value: {detail}" if detail else "Required value"
    return Cause(reason="FieldValueRequired", message=message, field=field)


def unsupported(field: str, value: Any, supported: list[str]) -> Cause:
    """The value is none of those allowed."""
    choices = ", ".join(quoted(choice) for choice in supported)
    message = f"Unsupported value: {quoted(value)}: supported values: {choices}"
    return Cause(reason="FieldValueNotSupported", message=message, field=field)


def forbidden(field: str, detail: str) -> Cause:
    """The field may not be set, or not to this, here."""
    return Cause(reason="FieldValueForbidden", message=f"Forbidden: {detail}", field=field)


def duplicate(field: str, value: Any) -> Cause:
    """A second item with the same key."""
    return Cause(reason="FieldValueDuplicate", message=f"Duplicate value: {quoted(value)}", field=field)


def not_found(field: str, value: Any) -> Cause:
    """The value names something that is not there."""
    return Cause(reason="FieldValueNotFound", message=f"Not found: {quoted(value)}", field=field)


def too_long(field: str, limit: int) -> Cause:
    """The text has more than `limit` bytes; the value is not repeated."""
    message = f"Too long: may not be more than {limit} bytes"
    return Cause(reason="FieldValueTooLong", message=message, field=field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    """The list or map has more than `limit` members."""
    message = f"Too many: {actual}: must have at most {limit} items"
    return Cause(reason="FieldValueTooMany", message=message, field=field)
