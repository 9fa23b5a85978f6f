"""Declared keys: what the fields of a metadata model and their marks say, as `parse` and the documents need it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin
from urllib.parse import parse_qs, unquote_plus

from pydantic import BaseModel, SecretStr
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from keda_py.apis.go_values import parse_bool
from keda_py.sdk.metadata.marks import (
    ENV,
    META,
    Activation,
    Deprecated,
    KeySources,
    Names,
    Prefix,
    Removed,
    Source,
    Target,
    TextForm,
    Variable,
)
from keda_py.sdk.metadata.values import read_choice, read_duration, read_float, read_int, read_ints, read_list, read_map

_ROLES: dict[type, Literal["target", "activation"]] = {Target: "target", Activation: "activation"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One declared key, as `keda-py scalers` lists it."""

    field: str
    names: tuple[str, ...]
    order: tuple[Source, ...]
    type: str
    required: bool
    default: object
    secret: bool
    removed: str
    deprecated: str
    prefix: str
    variable: str
    role: Literal["target", "activation", ""]
    """Role of the field for the metric, if it is marked."""
    read: Callable[[str], object]

    @property
    def name(self) -> str:
        """The name that errors and documents use."""
        return self.names[0]

    @property
    def variables(self) -> tuple[str, ...]:
        """The keys of the metadata that name a variable of the target's environment."""
        if ENV not in self.order:
            return ()
        return (self.variable,) if self.variable else tuple(f"{name}FromEnv" for name in self.names)


@cache
def declared_keys(model: type[BaseModel]) -> tuple[Key, ...]:
    """A trigger type's own keys before those of the blocks that it shares with others."""
    own = [field for field in model.model_fields if field in model.__annotations__]
    fields = dict.fromkeys([*own, *model.model_fields])
    return tuple(_declared(field, model.model_fields[field]) for field in fields)


def _declared(field: str, info: FieldInfo) -> Key:
    order = next((mark.order for mark in info.metadata if isinstance(mark, KeySources)), (META,))
    names = next((mark.names for mark in info.metadata if isinstance(mark, Names)), (to_camel(field),))
    text = next((mark.text for mark in info.metadata if isinstance(mark, Removed)), "")
    deprecated = next((mark.text for mark in info.metadata if isinstance(mark, Deprecated)), "")
    prefix = next((mark.text for mark in info.metadata if isinstance(mark, Prefix)), "")
    names_variable = next((mark.key for mark in info.metadata if isinstance(mark, Variable)), "")
    form = next((mark for mark in info.metadata if isinstance(mark, TextForm)), TextForm())
    annotation = _without_none(info.annotation)
    return Key(
        field=field,
        names=(f"{prefix}*",) if prefix else names,
        order=order,
        type=_type_name(annotation),
        required=info.is_required(),
        default=None if info.is_required() else info.get_default(call_default_factory=True, validated_data={}),
        secret=annotation is SecretStr,
        removed=text,
        deprecated=deprecated,
        prefix=prefix,
        variable=names_variable,
        role=next((_ROLES[type(mark)] for mark in info.metadata if type(mark) in _ROLES), ""),
        read=_reader(annotation, form),
    )


def _without_none(annotation: object) -> object:
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return kinds[0] if len(kinds) == 1 else annotation
    return annotation


_PLAIN: dict[object, tuple[str, Callable[[str], object]]] = {
    bool: ("bool", parse_bool),
    int: ("int", read_int),
    float: ("float", read_float),
    timedelta: ("duration", read_duration),
    SecretStr: ("secret", SecretStr),
}


def _type_name(annotation: object) -> str:
    if annotation in _PLAIN:
        return _PLAIN[annotation][0]
    if get_origin(annotation) is Literal:
        return " | ".join(map(str, get_args(annotation)))
    names = {list[str]: "list", list[int]: "int list", dict[str, str]: "map", dict[str, list[str]]: "query string"}
    return next((name for kind, name in names.items() if kind == annotation), "string")


def _reader(annotation: object, form: TextForm) -> Callable[[str], object]:
    if annotation in _PLAIN:
        return _PLAIN[annotation][1]
    if get_origin(annotation) is Literal:
        return partial(read_choice, get_args(annotation))
    if annotation == list[str]:
        return partial(read_list, form.separator)
    if annotation == list[int]:
        return partial(read_ints, form.separator, form.ranges)
    if annotation == dict[str, str]:
        return partial(read_map, form.separator)
    if annotation == dict[str, list[str]]:
        return partial(parse_qs, keep_blank_values=True)
    return unquote_plus if form.unescape else str
