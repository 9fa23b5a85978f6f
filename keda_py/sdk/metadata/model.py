"""Trigger metadata: text from a manifest, the target's environment and a TriggerAuthentication, made typed.

A model declares its keys as fields, annotated with the marks of
`marks.py`; `parse` finds each key's text in its sources, reads it with KEDA's rules (behaviour reference, section 18)
and lets pydantic check the result. Rule of this file: only text that came from the trigger's own metadata is ever
repeated in an error; text from the environment or from a TriggerAuthentication may be a secret.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from keda_py.apis.parsing import share_field_names
from keda_py.errors import ConfigError
from keda_py.net.secret_texts import EMPTY, Secrets
from keda_py.sdk.metadata.keys import Key, declared_keys
from keda_py.sdk.metadata.marks import AUTH, ENV, META, Source

_KEDA_SOURCE: dict[Source, str] = {META: "triggerMetadata", ENV: "resolvedEnv", AUTH: "authParams"}


class TriggerMetadata(BaseModel):
    """Base of every trigger's metadata model; camelCase on the wire, secrets as SecretStr.

    Field types: str, SecretStr, bool, int, float, timedelta, Literal, list[str], list[int], dict[str, str] (k=v,k2=v2),
    dict[str, list[str]] (a query string), each also `| None`, and anything else that pydantic makes of a string.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        loc_by_alias=False,
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
    )

    passes_unknown_keys: ClassVar[bool] = False
    """True where every further key has a meaning outside this project (external scalers)."""

    @classmethod
    def parse(cls, metadata: Mapping[str, str], env: Secrets, auth: Secrets, *, trigger_type: str = "") -> Self:
        """Typed metadata. Raises ConfigError that names every wrong key, its value (never a secret's) and the remedy.

        `env` is the environment of the target's container, `auth` the parameters of a TriggerAuthentication.
        """
        found = _find(cls, metadata, env, auth)
        problems = {text.key.field: text.problem(trigger_type) for text in found if text.value is None}
        try:
            parsed = cls.model_validate({text.key.field: text.value for text in found if text.value is not None})
        except ValidationError as error:
            shown = {text.key.field: text.shown for text in found}
            for detail in error.errors(include_url=False, include_input=False):
                problems.setdefault(
                    str(detail["loc"][0]) if detail["loc"] else "", _explain(cls, detail, shown, metadata)
                )
        if problems:
            raise ConfigError("; ".join(problems.values()), field=_first_name(cls, problems))
        return share_field_names(parsed)

    def __repr_args__(self) -> "Iterator[tuple[str | None, object]]":
        """What may come from an environment or a TriggerAuthentication is not shown, whatever its type."""
        private = {key.field for key in self.declared_keys() if key.secret or set(key.order) - {META}}
        for name, value in super().__repr_args__():
            yield name, "**********" if name in private and value else value

    @classmethod
    def certain_problems(
        cls, metadata: Mapping[str, str], auth: Collection[str] | None = (), *, trigger_type: str = ""
    ) -> dict[str, str]:
        """Find problems that no environment and no credential can cure: key -> sentence.

        `auth` are the parameters that a TriggerAuthentication gives; None: not known which.
        """
        found = _find(cls, metadata, {}, {})
        problems = {text.key.name: text.problem(trigger_type) for text in found if text.value is None}
        elsewhere = {key.field for key in cls.declared_keys() if _may_come(key, metadata, auth)}
        try:
            cls.model_validate({text.key.field: text.value for text in found if text.value is not None})
        except ValidationError as error:
            shown, names = (
                {text.key.field: text.shown for text in found},
                {k.field: k.name for k in cls.declared_keys()},
            )
            for detail in error.errors(include_url=False, include_input=False):
                field = str(detail["loc"][0]) if detail["loc"] else ""
                # A rule over several keys may hold once the other keys are known.
                if field not in elsewhere and (field or not elsewhere):
                    problems.setdefault(names.get(field, ""), _explain(cls, detail, shown, metadata))
        return problems

    @classmethod
    def declared_keys(cls) -> tuple[Key, ...]:
        """Every declared key, in the order of declaration."""
        return declared_keys(cls)

    @classmethod
    def key_of(cls, role: Literal["target", "activation"]) -> Key | None:
        """The key whose field is marked so; the first of several."""
        return next((key for key in cls.declared_keys() if key.role == role), None)

    @classmethod
    def deprecated_keys(cls, metadata: Mapping[str, str]) -> Mapping[str, str]:
        """The written keys that will be taken away, with what their mark says; a required one stands for the type."""
        return {
            name: key.deprecated
            for key in cls.declared_keys()
            if key.deprecated
            for name in (*key.names, *key.variables)
            if metadata.get(name)
        }

    @classmethod
    def unknown_keys(cls, metadata: Mapping[str, str]) -> tuple[str, ...]:
        """Keys of a trigger's metadata that this model does not read, sorted; typing errors mostly."""
        if cls.passes_unknown_keys:
            return ()
        known = {name for key in cls.declared_keys() if META in key.order for name in key.names}
        known |= {name for key in cls.declared_keys() for name in key.variables}
        begins = tuple(key.prefix for key in cls.declared_keys() if key.prefix)
        return tuple(sorted(name for name in set(metadata) - known if not name.startswith(begins)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _GivenKey:
    """A key that was given: its value, or, where `value` is None, why it has none."""

    key: Key
    shown: str
    value: object = field(default=None, repr=False)
    error: str = ""

    def problem(self, trigger_type: str) -> str:
        if self.key.removed:
            return f"scaler {trigger_type} info: {self.key.removed}" if trigger_type else self.key.removed
        return f"{self.key.name}: {self.shown} {self.error}"


def _find(model: type[TriggerMetadata], metadata: Mapping[str, str], env: Secrets, auth: Secrets) -> list[_GivenKey]:
    found = []
    for key in model.declared_keys():
        if key.prefix:
            values = {name[len(key.prefix) :]: text for name, text in metadata.items() if name.startswith(key.prefix)}
            found += [_GivenKey(key=key, shown="what is given", value=values)] if values else []
            continue
        text, source = _lookup(key, metadata, env, auth)
        if not text:
            continue
        shown = f'"{text.get_secret_value()}"' if source == META and not key.secret else "the value (not shown)"
        if key.removed:
            found.append(_GivenKey(key=key, shown=shown))
            continue
        try:
            found.append(_GivenKey(key=key, shown=shown, value=key.read(text.get_secret_value())))
        except ValueError as error:
            found.append(_GivenKey(key=key, shown=shown, error=str(error)))
    return found


def _lookup(key: Key, metadata: Mapping[str, str], env: Secrets, auth: Secrets) -> tuple[SecretStr, Source]:
    """The first non-empty text and where it is from; sources outrank names."""
    for source in key.order:
        for name in key.names:
            match source:
                case "metadata":
                    text = metadata.get(name, "")
                case "auth":
                    text = auth.get(name, EMPTY).get_secret_value()
                case "env":
                    text = env.get(metadata.get(key.variable or f"{name}FromEnv", ""), EMPTY).get_secret_value()
            # Most keys are absent: to wrap and to strip each took a sixth of an admission review.
            if text and (stripped := text.strip()):
                return SecretStr(stripped), source
    return EMPTY, META


def _may_come(key: Key, metadata: Mapping[str, str], auth: Collection[str] | None) -> bool:
    """From the environment or a TriggerAuthentication."""
    from_auth = AUTH in key.order and (auth is None or any(name in auth for name in key.names))
    return from_auth or any(name in metadata for name in key.variables)


def _explain(
    model: type[TriggerMetadata], detail: ErrorDetails, shown: Mapping[str, str], metadata: Mapping[str, str]
) -> str:
    """One pydantic error in the words of the manifest."""
    if not detail["loc"]:
        return _own_words(detail)
    key = next(key for key in model.declared_keys() if key.field == detail["loc"][0])
    if detail["type"] == "missing":
        order = " ".join(_KEDA_SOURCE[source] for source in key.order)
        missing = f'missing required parameter "{key.name}" in [{order}]'
        for name in filter(metadata.get, key.variables if ENV in key.order else ()):
            return (
                f'{missing}: {name} names the variable "{metadata[name]}", which is missing or empty in the container'
            )
        return f"{missing}: set {_places(key)}"
    return f"{key.name}: {shown.get(key.field, 'the default')}: {_own_words(detail)}"


def _own_words(detail: ErrorDetails) -> str:
    """A validator's own text where there is one; pydantic's, which never holds the input, otherwise."""
    context = detail.get("ctx", {})
    raised = context.get("error")
    return str(raised) if isinstance(raised, ValueError) else detail["msg"][:1].lower() + detail["msg"][1:]


def _places(key: Key) -> str:
    place = {
        META: f"{key.name} in the trigger's metadata",
        ENV: f"{key.variable or f'{key.name}FromEnv'} in the trigger's metadata",
        AUTH: f"parameter {key.name} in a TriggerAuthentication",
    }
    return " or ".join(place[source] for source in key.order)


def _first_name(model: type[TriggerMetadata], problems: Mapping[str, str]) -> str:
    return next((key.name for key in model.declared_keys() if key.field in problems), "")
