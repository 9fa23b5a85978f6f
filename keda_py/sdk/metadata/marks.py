"""Marks on the fields of a trigger's metadata: where a key comes from, how it is written, and what it is for.

`keys.py` reads them from `Annotated[...]`; the base class of scalers asks for `Target` and `Activation`.
"""

from dataclasses import dataclass
from typing import Literal

Source = Literal["metadata", "env", "auth"]
META: Source = "metadata"
ENV: Source = "env"
AUTH: Source = "auth"


@dataclass(frozen=True, slots=True)
class KeySources:
    """Where a field may come from, first non-empty wins."""

    order: tuple[Source, ...]


def sources(*order: Source) -> KeySources:
    """Say where a field comes from: `Annotated[SecretStr, sources(AUTH, ENV)]`. Default: the trigger's metadata."""
    return KeySources(order)


@dataclass(frozen=True, slots=True)
class Names:
    """How a key is written, where camelCase of the field's name is not it; further names are accepted too."""

    names: tuple[str, ...]


def named(*names: str) -> Names:
    """Say how a key is written: `Annotated[str, named("queueURL")]`; errors use the first of several names."""
    return Names(names)


@dataclass(frozen=True, slots=True)
class Variable:
    """The key that names the variable of the environment, where `<key>FromEnv` is not it."""

    key: str


def variable(key: str) -> Variable:
    """Say which key names the variable: `Annotated[str, sources(ENV), variable("credentialsFromEnvFile")]`."""
    return Variable(key)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What the names of many keys begin with, which are one mapping."""

    text: str


def prefixed(text: str) -> Prefix:
    """Collect all keys that begin so: `Annotated[dict[str, str], prefixed("query.")]`; from the metadata alone."""
    return Prefix(text)


@dataclass(frozen=True, slots=True)
class Removed:
    """A key that once worked; giving it is an error."""

    text: str


def removed(text: str) -> Removed:
    """Refuse a key with this text: `Annotated[str, removed("Use 'metricType' instead.")] = ""`."""
    return Removed(text)


@dataclass(frozen=True, slots=True)
class Deprecated:
    """A key that works, and that KEDA or its source will take away."""

    text: str


def deprecated(text: str) -> Deprecated:
    """Warn of a key that still works: `Annotated[str, deprecated("write 'workerDeploymentName' instead")] = ""`.

    On a required key it warns of the whole trigger type.
    """
    return Deprecated(text)


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the text of a list or string is written."""

    separator: str = ","
    ranges: bool = False
    unescape: bool = False


def separated_by(separator: str) -> TextForm:
    """A list with another separator than a comma."""
    return TextForm(separator=separator)


def ranges() -> TextForm:
    """A list of integers that may hold ranges: "1-3,5" is [1, 2, 3, 5]."""
    return TextForm(ranges=True)


def url_unescaped() -> TextForm:
    """A string that is URL-query-escaped on the wire: "a%2Fb" is "a/b"."""
    return TextForm(unescape=True)


@dataclass(frozen=True, slots=True)
class Target:
    """Marks the field that is the metric's target: `queue_length: Annotated[float, Target()] = 5.0`.

    The scaler refuses 0 and less, which no HPA takes, unless a formula's own target takes its place.
    """


@dataclass(frozen=True, slots=True)
class Activation:
    """Marks the field above whose value the trigger is active: `Annotated[float, Activation()] = 0.0`."""
