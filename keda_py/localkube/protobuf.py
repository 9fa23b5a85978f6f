"""The protobuf bodies that kubectl sends where it has no choice: create namespace, configmap, secret, serviceaccount.

The wire: `k8s\\0`, then a runtime.Unknown whose first field names apiVersion and kind and whose second is the object.
The field numbers are those of the published `generated.proto` files. Answers are always JSON; clients accept that.
"""

import base64
from collections.abc import Iterator
from typing import Any

from keda_py.localkube.resources import Obj
from keda_py.localkube.status import StatusError, bad_request

_MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# Message -> field number -> (name, form). A form is text, texts, bytes (base64 in JSON), bool, int, a map of text or
# bytes, time, or the name of another message; a trailing * marks a list of messages.
_MESSAGES: dict[str, dict[int, tuple[str, str]]] = {
    "ObjectMeta": {
        1: ("name", "text"),
        2: ("generateName", "text"),
        3: ("namespace", "text"),
        5: ("uid", "text"),
        6: ("resourceVersion", "text"),
        11: ("labels", "text map"),
        12: ("annotations", "text map"),
        14: ("finalizers", "texts"),
    },
    "Namespace": {1: ("metadata", "ObjectMeta"), 2: ("spec", "NamespaceSpec")},
    "NamespaceSpec": {1: ("finalizers", "texts")},
    "ConfigMap": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "text map"),
        3: ("binaryData", "bytes map"),
        4: ("immutable", "bool"),
    },
    "Secret": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "bytes map"),
        3: ("type", "text"),
        4: ("stringData", "text map"),
        5: ("immutable", "bool"),
    },
    "ServiceAccount": {
        1: ("metadata", "ObjectMeta"),
        3: ("imagePullSecrets", "LocalObjectReference*"),
        4: ("automountServiceAccountToken", "bool"),
    },
    "LocalObjectReference": {1: ("name", "text")},
    "DeleteOptions": {
        1: ("gracePeriodSeconds", "int"),
        2: ("preconditions", "Preconditions"),
        3: ("orphanDependents", "bool"),
        4: ("propagationPolicy", "text"),
        5: ("dryRun", "texts"),
    },
    "Preconditions": {1: ("uid", "text"), 2: ("resourceVersion", "text")},
    "SelfSubjectAccessReview": {1: ("metadata", "ObjectMeta"), 2: ("spec", "SelfSubjectAccessReviewSpec")},
    "SelfSubjectAccessReviewSpec": {
        1: ("resourceAttributes", "ResourceAttributes"),
        2: ("nonResourceAttributes", "NonResourceAttributes"),
    },
    "NonResourceAttributes": {1: ("path", "text"), 2: ("verb", "text")},
    "ResourceAttributes": {
        1: ("namespace", "text"),
        2: ("verb", "text"),
        3: ("group", "text"),
        4: ("version", "text"),
        5: ("resource", "text"),
        6: ("subresource", "text"),
        7: ("name", "text"),
    },
    "TokenRequest": {1: ("metadata", "ObjectMeta"), 2: ("spec", "TokenRequestSpec")},
    "TokenRequestSpec": {1: ("audiences", "texts"), 4: ("expirationSeconds", "int")},
}
_OBJECTS = frozenset(name for name in _MESSAGES if "metadata" in {field for field, _ in _MESSAGES[name].values()})
_READABLE = _OBJECTS | {"DeleteOptions"}


def decode_protobuf(body: bytes) -> Obj:
    """The object as JSON would have had it; StatusError 400 for a broken body, 415 for a kind not in the table."""
    if not body.startswith(_MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        envelope = dict(_fields(body[len(_MAGIC) :]))
        type_meta = {number: bytes(value).decode() for number, value in _fields(envelope.get(1, b""))}
        api_version, kind = type_meta.get(1, ""), type_meta.get(2, "")
        if kind not in _READABLE:
            message = f"protobuf bodies of kind {kind} are not understood; send JSON"
            raise StatusError(415, "UnsupportedMediaType", message)
        return {"apiVersion": api_version, "kind": kind, **_message(envelope.get(2, b""), kind)}
    except (IndexError, UnicodeDecodeError, TypeError) as error:
        raise bad_request(f"unable to decode protobuf body: {error}") from None


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers and raw values: int for varints, bytes for everything else; IndexError when it is cut short."""
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


def _message(data: bytes, name: str) -> Obj:
    fields = _MESSAGES[name]
    obj: Obj = {}
    for number, raw in _fields(data):
        if number in fields:
            field, form = fields[number]
            _put(obj, field, form, raw)
    return obj


def _put(obj: Obj, field: str, form: str, raw: Any) -> None:
    """Add one occurrence of a field; empty texts and numbers are absent, as they are in the API server's JSON."""
    match form:
        case "text":
            if raw:
                obj[field] = raw.decode()
        case "texts":
            obj.setdefault(field, []).append(raw.decode())
        case "bool":
            obj[field] = bool(raw)
        case "int":
            obj[field] = raw
        case "text map" | "bytes map":
            entry = dict(_fields(raw))
            value = entry.get(2, b"")
            text = value.decode() if form == "text map" else base64.b64encode(value).decode()
            obj.setdefault(field, {})[entry.get(1, b"").decode()] = text
        case _ if form.endswith("*"):
            obj.setdefault(field, []).append(_message(raw, form.removesuffix("*")))
        case _:
            obj[field] = _message(raw, form)
