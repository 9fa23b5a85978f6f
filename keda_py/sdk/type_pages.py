"""Pages about trigger types for people, from the scaler's docstrings and keys, and from a file of facts.

The first paragraph of the scaler's module says what it measures; a docstring below a field of the model says what a key
means; the template or the docstring of `metric_name` says how the metric is called. What none of them can say is in the
file `reference.toml` beside the scaler's module, if there is one:

    [keys]                       # meanings by name, wherever nothing else explains the key
    unsafeSsl = "..."
    [types.my-queue]
    permissions = "..."          # at the source
    tested = "..."               # against which servers
    extra = "..."                # of the distribution, which brings its library
    keys = {listName = "..."}    # meanings for this type alone
    metric = "..."               # its name, where `metric_name` does not tell
    example = {listName = "jobs"}  # metadata that is taken as it stands
    auth = {password = "..."}    # and parameters
    metric_type = "Utilization"  # of the example, where it needs one

Next in the flow: `reference.py` makes a document of all pages, `keda-py scalers TYPE` shows one.
"""

import ast
import inspect
import itertools
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from keda_py.sdk.contract import Scaler
from keda_py.sdk.metadata.keys import Key
from keda_py.sdk.metadata.marks import AUTH, ENV
from keda_py.sdk.metadata.model import TriggerMetadata
from keda_py.sdk.metadata.template import MetricTemplate
from keda_py.sdk.registry import AnyScaler, scaler_class

FACTS_FILE = "reference.toml"
_TARGET = "The value that one replica should have; all together, with metricType Value."
_ACTIVATION = "The trigger is active above this value."


def names_of(key: Key) -> tuple[str, ...]:
    """Names as a manifest has them; for a key from an environment, those that name the variable."""
    return key.variables if key.order == (ENV,) else key.names


@dataclass(frozen=True, slots=True, kw_only=True)
class TypePage:
    """One trigger type. `example` and `auth` are taken as they stand; "" and {} where nothing is known."""

    type: str
    summary: str
    keys: tuple[tuple[Key, str], ...]
    """Each with its meaning."""
    metric: str
    permissions: str
    tested: str
    extra: str
    """Of the distribution: `pip install 'keda-py[EXTRA]'`."""
    example: Mapping[str, str]
    auth: Mapping[str, str]
    metric_type: str
    batches: bool
    """Triggers of one server and credential are read together."""
    pushes: bool
    """The source tells of work, before the next poll."""
    at_zero: bool
    """It may be asked several times a second while the workload is at zero."""

    @property
    def parameters(self) -> tuple[tuple[Key, str], ...]:
        """The keys that only a TriggerAuthentication gives."""
        return tuple(key for key in self.keys if key[0].order == (AUTH,))

    @property
    def settings(self) -> tuple[tuple[Key, str], ...]:
        """The keys that the trigger's metadata gives, itself or by a variable's name."""
        return tuple(key for key in self.keys if key[0].order != (AUTH,))


def page_of(trigger_type: str) -> TypePage:
    """Make the page of a type. Raises ConfigError for a type that is missing, or cannot be imported."""
    return page_of_class(trigger_type, scaler_class(trigger_type))


def page_of_class(trigger_type: str, scaler: type[AnyScaler]) -> TypePage:
    """Make the page of a class that need not be registered."""
    facts = _facts(scaler.__module__)
    own: Mapping[str, Any] = facts.get("types", {}).get(trigger_type, {})
    meanings = {**facts.get("keys", {}), **_derived(scaler), **_field_docstrings(scaler), **own.get("keys", {})}
    declared = scaler.metadata_model.declared_keys()
    return TypePage(
        type=trigger_type,
        summary=_summary(scaler),
        keys=tuple((key, next((meanings[name] for name in key.names if name in meanings), "")) for key in declared),
        metric=own.get("metric") or _docstring(scaler, "metric_name"),
        permissions=own.get("permissions", ""),
        tested=own.get("tested", ""),
        extra=own.get("extra", ""),
        example=own.get("example", {}),
        auth=own.get("auth", {}),
        metric_type=own.get("metric_type", ""),
        batches=scaler.read_batch is not Scaler.read_batch,
        pushes=scaler.watch is not Scaler.watch,
        at_zero=scaler.asked_often_at_zero is not Scaler.asked_often_at_zero,
    )


def _summary(scaler: type[AnyScaler]) -> str:
    text = sys.modules[scaler.__module__].__doc__ or ""
    return text.strip().partition("\n\n")[0].replace("\n", " ")


def _derived(scaler: type[AnyScaler]) -> dict[str, str]:
    """Meanings of the keys that are marked as target and activation, or that these properties' docstrings name."""
    model, found = scaler.metadata_model, dict[str, str]()
    for name, meaning in (("target", _TARGET), ("activation", _ACTIVATION)):
        text = _docstring(scaler, name)
        found |= {text.split("`")[1]: meaning} if text.count("`") == 2 else {}
        found |= {key.name: meaning for key in model.declared_keys() if key.role == name}
    return found


def _docstring(scaler: type[AnyScaler], name: str) -> str:
    """The first paragraph of a property's own docstring; "" where it is inherited from the SDK."""
    owner = next((owner for owner in scaler.__mro__ if name in vars(owner)), Scaler)
    found = vars(owner)[name]
    if isinstance(found, MetricTemplate):
        return found.described(scaler.metadata_model)
    own = isinstance(found, property) and not owner.__module__.startswith("keda_py.sdk.")
    return (inspect.getdoc(found) or "").partition("\n\n")[0].replace("\n", " ") if own else ""


def _field_docstrings(scaler: type[AnyScaler]) -> dict[str, str]:
    """Map names of keys to the texts below their fields, of the model and its bases."""
    texts: dict[str, str] = {}
    for owner in reversed(scaler.metadata_model.__mro__):
        if issubclass(owner, TriggerMetadata):
            texts |= dict(_docstrings_of(owner))
    fields = {key.field: key.name for key in scaler.metadata_model.declared_keys()}
    return {fields[field]: text for field, text in texts.items() if field in fields}


@cache
def _docstrings_of(model: type) -> tuple[tuple[str, str], ...]:
    try:
        tree = ast.parse(dedent(inspect.getsource(model)))
    except (OSError, TypeError, SyntaxError):  # without its source, as in a frozen program
        return ()
    return tuple(_pairs(tree.body[0].body)) if isinstance(tree.body[0], ast.ClassDef) else ()


def _pairs(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in itertools.pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text).replace("\n", " ")


def _facts(module: str) -> Mapping[str, Any]:
    """Read the file of facts beside that module; {} without one."""
    source = getattr(sys.modules[module], "__file__", None)
    return _facts_of(Path(source).with_name(FACTS_FILE)) if source else {}


@cache
def _facts_of(file: Path) -> Mapping[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
