"""Options: one setting is one dataclass field that names its flag, environment variable, parser and default.

`settings.py` declares such fields, `keda_py/cli` makes flags and help of them, and `read_options` here turns text into
a frozen dataclass. Rules: a flag overrides the environment; an empty variable counts as absent, as in KEDA; every wrong
value is reported, not only the first.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
Flags = Mapping[str, Sequence[str]]
"""Command line: flag name without dashes -> its values in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Source of a setting. `parse` raises ValueError; its text follows the value: "is not ...; use ..."."""

    parse: Callable[[str], object]
    help: str
    flag: str = ""
    env: str = ""
    repeatable: bool = False

    @property
    def source(self) -> str:
        """Return the names by which a user knows it: its flag, its variable, or both."""
        return " / ".join(filter(None, (f"--{self.flag}" if self.flag else "", self.env)))


def option(default: T, parse: Callable[[str], T], help: str, *, flag: str = "", env: str = "") -> T:
    """Declare a dataclass field that is read from one value."""
    meta = {"option": Option(parse=parse, help=help, flag=flag, env=env)}
    return dataclasses.field(default=default, metadata=meta)


def repeatable(default: tuple[T, ...], parse: Callable[[str], T], help: str, *, flag: str) -> tuple[T, ...]:
    """Declare a dataclass field that is read from a repeatable flag."""
    meta = {"option": Option(parse=parse, help=help, flag=flag, repeatable=True)}
    return dataclasses.field(default=default, metadata=meta)


def options_of(group: type) -> Iterator[tuple[str, Option, object]]:
    """Yield (field name, option, default) of each field made with `option` or `repeatable`."""
    for field in dataclasses.fields(group):
        if isinstance(found := field.metadata.get("option"), Option):
            yield field.name, found, field.default


def read_options(group: type[T], flags: Flags, env: Mapping[str, str], wrong: list[str]) -> T:
    """Build the dataclass `group`; a wrong value leaves the default and adds a sentence to `wrong`."""
    values: dict[str, object] = {}
    for name, known, _ in options_of(group):
        try:
            for value in _parsed_value(known, flags, env):
                values[name] = value
        except ValueError as error:
            wrong.append(str(error))
    make: Callable[..., T] = group
    return make(**values)


def _parsed_value(known: Option, flags: Flags, env: Mapping[str, str]) -> tuple[object, ...]:
    """Return the parsed value, () without flag and variable; a parsed value may be None."""
    if values := flags.get(known.flag):
        parsed = tuple(_parse(known, f"--{known.flag}", text) for text in values)
        return (parsed,) if known.repeatable else parsed[-1:]
    if known.env and (text := env.get(known.env, "")):
        return (_parse(known, known.env, text),)
    return ()


def _parse(known: Option, source: str, text: str) -> object:
    try:
        return known.parse(text)
    except ValueError as error:
        raise ValueError(f"{source}: {text!r} {error}") from None
