"""A number at a dotted path of parsed YAML or XML, and what counts as a number.

`a.b.0.c`: names of mappings, indexes of lists. Numbers are numbers; strings are read as Kubernetes quantities ("1k" is
1000). Next to it, `gjson.py` reads the richer paths of JSON.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

import yaml

from keda_py.core.quantity import parse_number
from keda_py.scaler import ConfigError, ScalerError

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(text: bytes | str) -> object:
    """One document. Raises ScalerError; the error never repeats the text."""
    try:
        parsed: object = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ScalerError("the answer is not YAML") from None
    return parsed


def parse_xml(text: bytes) -> object:
    """The document as mappings under the name of its root; elements of one name make a list. Raises ScalerError."""
    if b"<!ENTITY" in text:
        raise ScalerError("the answer is XML that declares entities, which are not read")
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError):
        raise ScalerError("the answer is not XML") from None
    return {_local(root.tag): _of_element(root)}


def value_at(document: object, path: str) -> object:
    """What is at the path. Raises ScalerError where the path leads nowhere."""
    here = document
    for step in path.split("."):
        match here:
            case Mapping() if step in here:
                here = here[step]
            case Sequence() if not isinstance(here, str | bytes) and step.isdigit() and int(step[:9]) < len(here):
                here = here[int(step[:9])]
            case _:
                raise ScalerError(f'valueLocation "{path}": "{step}" not found')
    return here


def number_of(value: object, path: str) -> float:
    """Raises ScalerError, with the kind of what was found; never with the value itself, it may be a Secret's."""
    match value:
        case bool():
            raise _no_number(path, "True" if value else "False")
        case int() | float():
            return float(value)
        case str():
            try:
                return parse_number(value)
            except ConfigError:
                raise _no_number(path, "String") from None
        case None:
            raise _no_number(path, "Null")
        case _:
            raise _no_number(path, "JSON")


def _no_number(path: str, kind: str) -> ScalerError:
    wanted = "must point to a numeric value or a string parseable as a Quantity"
    return ScalerError(f'valueLocation "{path}" {wanted}, got {kind}')


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _of_element(element: ET.Element) -> object:
    if not len(element):
        return (element.text or "").strip()
    found: dict[str, object] = {}
    repeated: dict[str, list[object]] = {}
    for child in element:
        name, value = _local(child.tag), _of_element(child)
        if name in found:
            repeated.setdefault(name, [found[name]]).append(value)
        found.setdefault(name, value)
    return {**found, **repeated}
