"""Expressions of DynamoDB in a trigger's metadata: JSON texts of names and of typed values."""

import base64
import binascii

import orjson

from keda_py.core.documents.json_guard import check_json
from keda_py.sdk.scaler import ConfigError

_DEEPEST = 32
"""Levels of nesting that DynamoDB takes."""

_PLAIN = {"S": str, "N": str, "BOOL": bool, "NULL": bool}


def attribute_names(text: str) -> dict[str, str]:
    """`{"#y": "year"}`. Raises ConfigError."""
    names = _object(text, "expressionAttributeNames")
    if not names or not all(isinstance(name, str) for name in names.values()):
        raise _refused("expressionAttributeNames", 'write a JSON object of texts, such as {"#y": "year"}')
    return {key: str(name) for key, name in names.items()}


def attribute_values(text: str) -> dict[str, object]:
    """`{":v": {"N": "5"}}`, with the types S, N, B, BOOL, NULL, L and M, as the client takes it. Raises ConfigError."""
    try:
        return {key: _value(value, 1) for key, value in _object(text, "expressionAttributeValues").items()}
    except ValueError as error:
        raise _refused("expressionAttributeValues", str(error)) from None


def _value(value: object, level: int) -> dict[str, object]:
    """Raises ValueError, whose text says what is right."""
    if not isinstance(value, dict) or len(value) != 1 or level > _DEEPEST:
        raise ValueError('write each value with its type, such as {":v": {"N": "5"}}')
    ((kind, inner),) = value.items()
    match kind, inner:
        case "L", list():
            return {kind: [_value(item, level + 1) for item in inner]}
        case "M", dict():
            return {kind: {key: _value(item, level + 1) for key, item in inner.items()}}
        case "B", str():
            return {kind: _bytes(inner)}
        case _ if kind in _PLAIN and isinstance(inner, _PLAIN[kind]):
            return {kind: inner}
    raise ValueError(f'"{kind}" with this value is not supported: S, N and B take a text, BOOL and NULL true or false')


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("a value of type B is written in base64") from None


def _object(text: str, key: str) -> dict[str, object]:
    try:
        check_json(text.encode())
        parsed = orjson.loads(text)
    except ValueError:
        raise _refused(key, "it is not JSON") from None
    if not isinstance(parsed, dict):
        raise _refused(key, "it is not a JSON object")
    return parsed


def _refused(key: str, why: str) -> ConfigError:
    return ConfigError(f"{key}: {why}", field=key)
