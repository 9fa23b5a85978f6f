"""Protobuf bodies: kubectl sends them for `create` of its own kinds, `run`, `autoscale`; client-go also for a Scale.

The wire format is `k8s\\0`, then a runtime.Unknown: its first field has apiVersion and kind, its second the object.
Answers are always JSON; clients accept that.

`protobuf_messages.json` has the messages' field numbers, from Kubernetes' published `generated.proto` files. A field
is "name" (text) or "name form". Forms are texts, map (text to text), bytes-map (base64 in JSON), quantities (a map),
int and bool (absent if zero, as in Go), int? and bool? (pointers: zero is kept), int-or-string, or another message's
name; a star marks a list. Kinds whose numbers depend on the version include it. Fields that `kubectl create` and
`kubectl run` never set are left out.
"""

import base64
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, TypeAlias

import orjson

from keda_py.schema.resources import Obj
from keda_py.schema.status import StatusError, bad_request

Message: TypeAlias = dict[int, str]

_FILE = orjson.loads((files("keda_py.localkube.bodies") / "protobuf_messages.json").read_bytes())
_MESSAGES: dict[str, Message] = {
    name: {int(number): field for number, field in fields.items()} for name, fields in _FILE.items()
}
_MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_BODIES = frozenset(name for name, fields in _MESSAGES.items() if fields.get(1, "").startswith("metadata ")) | {
    "DeleteOptions"
}


def decode_protobuf(body: bytes) -> Obj:
    """Decode an object. Raises StatusError 400 for a broken body, 415 for a kind that is not in the table."""
    if not body.startswith(_MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        envelope = dict(_fields(body[len(_MAGIC) :]))
        type_meta = {number: bytes(value).decode() for number, value in _fields(envelope.get(1, b""))}
        api_version, kind = type_meta.get(1, ""), type_meta.get(2, "")
        name = next((name for name in (f"{api_version} {kind}", kind) if name in _BODIES), None)
        if name is None:
            message = f"protobuf bodies of kind {kind} are not understood; send JSON"
            raise StatusError(415, "UnsupportedMediaType", message)
        return {"apiVersion": api_version, "kind": kind, **_message(envelope.get(2, b""), _MESSAGES[name])}
    except (IndexError, UnicodeDecodeError, TypeError) as error:
        raise bad_request(f"unable to decode protobuf body: {error}") from None


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield field numbers and raw values: int for varints, else bytes. Raises IndexError for a truncated message."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value: Any
            value, position = _varint(data, position)
            yield number, value
            continue
        length, position = (8, position) if wire == _FIXED64 else (4, position)
        if wire == _BYTES:
            length, position = _varint(data, position)
        elif wire not in (_FIXED64, _FIXED32):
            raise TypeError(f"wire type {wire}")
        if position + length > len(data):
            raise IndexError("the message is cut short")
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def _message(data: bytes, fields: Message) -> Obj:
    obj: Obj = {}
    for number, raw in _fields(data):
        if number in fields:
            name, _, form = fields[number].partition(" ")
            _put(obj, name, form, raw)
    return obj


def _put(obj: Obj, name: str, form: str, raw: Any) -> None:
    """Add one occurrence of a field; empty texts and zeros are left out, as in the API server's JSON."""
    match form:
        case "" | "int" | "bool":
            if value := _scalar(raw, form):
                obj[name] = value
        case "int?" | "bool?":
            obj[name] = _scalar(raw, form[:-1])
        case "texts":
            obj.setdefault(name, []).append(raw.decode())
        case "map" | "bytes-map" | "quantities":
            entry = dict(_fields(raw))
            obj.setdefault(name, {})[entry.get(1, b"").decode()] = _entry_value(entry.get(2, b""), form)
        case "int-or-string":
            parts = dict(_fields(raw))
            obj[name] = parts.get(3, b"").decode() if parts.get(1) else parts.get(2, 0)
        case "Quantity":
            obj[name] = _quantity(raw)
        case _ if form.endswith("*"):
            obj.setdefault(name, []).append(_message(raw, _MESSAGES[form.removesuffix("*")]))
        case _:
            obj[name] = _message(raw, _MESSAGES[form])


def _scalar(raw: Any, form: str) -> Any:
    """Decode a varint; negative numbers are sent as 64-bit two's complement."""
    match form:
        case "bool":
            return bool(raw)
        case "int":
            return raw - 2**64 if raw >= 2**63 else raw
        case _:
            return raw.decode()


def _entry_value(raw: bytes, form: str) -> str:
    match form:
        case "bytes-map":
            return base64.b64encode(raw).decode()
        case "quantities":
            return _quantity(raw)
        case _:
            return raw.decode()


def _quantity(raw: bytes) -> str:
    return bytes(dict(_fields(raw)).get(1, b"")).decode()
