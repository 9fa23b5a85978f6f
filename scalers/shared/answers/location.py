"""A number at a dotted path of parsed YAML or XML, and what counts as a number.

`a.b.0.c`: names of mappings, indexes of lists. Numbers are numbers; strings are read as Kubernetes quantities ("1k" is
1000). Next to it, `gjson.py` reads the richer paths of JSON. What reads text here may run in another process
(`ScalerContext.parse`), so this file imports little.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from keda_py.core.documents.yaml_guard import YamlTooDeep
from keda_py.core.documents.yaml_values import NotPlainYaml, read_yaml
from keda_py.core.values.quantity import parse_number
from keda_py.errors import ConfigError, ScalerError
from scalers.shared.answers.xml_tree import read_xml

YAML_INLINE_BYTES: Final = 3 * 1024
XML_INLINE_BYTES: Final = 16 * 1024
"""Longer ones may take more than 10 ms."""

_LONGEST_PATH = 1_000
_LONGEST = 400
"""Characters of a text that could be a number."""


def scalar_in_yaml(text: bytes | str, path: str) -> object:
    """Find the value at the path of a document, as `plain` returns it. Raises ScalerError."""
    return plain(value_at(parse_yaml(text), path))


def scalar_in_xml(text: bytes, path: str) -> object:
    """Find the value at the path of a document, as `plain` returns it. Raises ScalerError."""
    return plain(value_at(read_xml(text), path))


def parse_yaml(text: bytes | str) -> object:
    """Parse one document. Raises ScalerError; the error never repeats the text."""
    try:
        return read_yaml(text)
    except YamlTooDeep as error:
        raise ScalerError(f"the answer is YAML with {error}") from None
    except NotPlainYaml as error:
        raise ScalerError(f"the answer is not YAML that is read here: {error}") from None


def plain(value: object) -> object:
    """Return a scalar as it is, and [] for lists and mappings: enough to tell what was found.

    So that a value can leave the process that found it; a text that is too long for a number is cut.
    """
    if isinstance(value, str):
        return value[: _LONGEST + 1]
    if isinstance(value, int | float):  # the abstract classes below take 2 us to tell
        return value
    return [] if isinstance(value, Mapping | Sequence) else value


def value_at(document: object, path: str) -> object:
    """Find the value at the path. Raises ScalerError where the path leads nowhere."""
    if len(path) > _LONGEST_PATH:
        raise ScalerError(f"valueLocation is a path of more than {_LONGEST_PATH} characters")
    here = document
    for step in path.split("."):
        match here:
            case Mapping() if step in here:
                here = here[step]
            case list() if step.isascii() and step.isdigit() and int(step[:9]) < len(here):
                here = here[int(step[:9])]
            case _:
                raise ScalerError(f'valueLocation "{path}": "{step}" not found')
    return here


def number_of(value: object, path: str) -> float:
    """Convert to float. Raises ScalerError with the kind of the value, never the value, which may be a Secret's."""
    match value:
        case bool():
            raise _no_number(path, "True" if value else "False")
        case int() | float():
            return _float(value, path)
        case str():
            try:
                return parse_number(value)
            except ConfigError:
                raise _no_number(path, "String") from None
        case None:
            raise _no_number(path, "Null")
        case _:
            raise _no_number(path, "JSON")


def _float(value: float, path: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ScalerError(f'valueLocation "{path}" points to a number that is out of range') from None


def _no_number(path: str, kind: str) -> ScalerError:
    wanted = "must point to a numeric value or a string parseable as a Quantity"
    return ScalerError(f'valueLocation "{path}" {wanted}, got {kind}')
