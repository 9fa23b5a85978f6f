"""Messages of Protocol Buffers, declared as tables: nothing is compiled when this project is built or installed.

    messages = declare("shop", {"Order": {"name": (1, "string"), "lines": (2, "repeated Line")}, "Line": {...}})
    messages["Order"](name="first").SerializeToString()

A field that is not declared is passed over when a message is read. An enum is an int32.
"""

from collections.abc import Mapping
from typing import Any

from keda_py.errors import ConfigError, ScalerError

Fields = Mapping[str, tuple[int, str]]
"""Name -> number and kind: a kind of `_KINDS`, `repeated <kind>`, `map<string, string>`, or a message of the table."""

_KINDS = {"double": 1, "int64": 3, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
"""Numbers of google.protobuf.FieldDescriptorProto.Type."""
_MESSAGE, _OPTIONAL, _REPEATED = 11, 1, 3
_TEXT_MAP = "map<string, string>"
REMEDY = "pip install 'keda-py[grpc]'"


def declare(package: str, messages: Mapping[str, Fields]) -> Mapping[str, Any]:
    """The classes of a package's messages by name. Raises ConfigError where the library is not installed."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise ConfigError(f"gRPC needs libraries that are not installed: {REMEDY}") from None

    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, written) in fields.items():
            if written == _TEXT_MAP:
                _add_entry(message, field)
            kind = f"repeated {name}.{_entry(field)}" if written == _TEXT_MAP else written
            repeated, inner = kind.startswith("repeated "), kind.removeprefix("repeated ")
            declared = message.field.add(
                name=field, number=number, label=_REPEATED if repeated else _OPTIONAL, type=_KINDS.get(inner, _MESSAGE)
            )
            if inner not in _KINDS:
                declared.type_name = f".{package}.{inner}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}


def parse(message: Any, data: bytes) -> Any:
    """Parse a message of this class. Raises ScalerError for other bytes."""
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(data)
    except DecodeError:
        raise ScalerError(f"the answer is no {message.DESCRIPTOR.name}") from None


def _entry(field: str) -> str:
    """The name that a map's entries must have."""
    return f"{field[0].upper()}{field[1:]}Entry"


def _add_entry(message: Any, field: str) -> None:
    entry = message.nested_type.add(name=_entry(field))
    entry.options.map_entry = True
    for number, name in ((1, "key"), (2, "value")):
        entry.field.add(name=name, number=number, label=_OPTIONAL, type=_KINDS["string"])
