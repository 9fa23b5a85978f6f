"""Trigger type -> scaler class, from the entry points `keda_py.scalers`; a class is imported when first asked for.

Built-in scalers register like a third party's: one line `my-queue = "my_package.my_queue:MyQueueScaler"` in a
distribution's `[project.entry-points."keda_py.scalers"]`. `build` is where the engine comes in: a resolved `Trigger`
and a context become a scaler, not yet opened. Nothing here knows a trigger type by name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.errors import ConfigError
from keda_py.sdk.contract import Scaler, Trigger
from keda_py.sdk.scaler_context import ScalerContext

if TYPE_CHECKING:
    from keda_py.core.waking.spec import WakeSpec

GROUP = "keda_py.scalers"
REMOVED = "keda_py.removed_scalers"
"""Types that are no more: each names a text that says what to use instead."""
_OWN_DISTRIBUTION = "keda-py"

AnyScaler = Scaler[Any]


def trigger_types() -> tuple[str, ...]:
    """Every registered trigger type, sorted."""
    return tuple(sorted(scaler_places()))


@cache
def scaler_class(trigger_type: str) -> type[AnyScaler]:
    """The class behind a trigger type. Raises ConfigError if it is missing, or cannot be imported."""
    place = scaler_places().get(trigger_type)
    if place is None:
        raise ConfigError(f"no scaler found for type: {trigger_type}{_suggestion(trigger_type)}", field="type")
    try:
        module, _, name = place.partition(":")
        loaded: object = reduce(getattr, name.split("."), import_module(module))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"scaler {trigger_type} ({place}) cannot be imported: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Scaler)):
        raise ConfigError(f"scaler {trigger_type}: {place} is not a subclass of keda_py.sdk.scaler.Scaler")
    return loaded


def build(trigger: Trigger, context: ScalerContext) -> AnyScaler:
    """A scaler for a resolved trigger, without I/O; `open` comes next. Raises ConfigError that names the type."""
    scaler = scaler_class(trigger.type)
    try:
        metadata = scaler.metadata_model.parse(trigger.metadata, trigger.env, trigger.auth, trigger_type=trigger.type)
        return scaler(metadata, context)
    except ConfigError as error:
        raise error.prefixed(f"error parsing {trigger.type} metadata: ") from None


def wake_spec_of(triggers: Iterable[ScaleTrigger]) -> "WakeSpec | None":
    """Return which requests wake the workload of these triggers: of several the first, for the Services of all.

    None if none does, or its metadata is refused.
    """
    found = [spec for trigger in triggers if (spec := _wake_spec(trigger)) is not None]
    if not found:
        return None
    names = [name for spec in found for name in spec.names]
    return replace(found[0], names=tuple(dict.fromkeys(names)) if all(spec.names for spec in found) else ())


@cache
def wakes_on_request(trigger_type: str) -> bool:
    """Whether triggers of this type depend on requests; False for a type that is not known."""
    try:
        return any("wake_spec" in vars(one) for one in scaler_class(trigger_type).__mro__ if one is not Scaler)
    except ConfigError:
        return False


def _wake_spec(trigger: ScaleTrigger) -> "WakeSpec | None":
    # Metadata is not parsed again for the many types that know nothing of requests.
    if not wakes_on_request(trigger.type):
        return None
    try:
        scaler = scaler_class(trigger.type)
        return scaler.wake_spec(scaler.metadata_model.parse(trigger.metadata, {}, {}, trigger_type=trigger.type))
    except ConfigError:
        return None


@cache
def trigger_types_by_module() -> Mapping[str, str]:
    """The trigger type that each scaler's module stands for; nothing is imported."""
    return {place.partition(":")[0]: name for name, place in scaler_places().items()}


def scaler_places() -> Mapping[str, str]:
    """Return the place of each type's class, such as "my_package.my_queue:MyQueueScaler"."""
    return _given or _installed()


def use_places(places: Mapping[str, str]) -> None:
    """Take `scaler_places` from another process of this installation, as reading them imports 1.4 MB."""
    _given.update(places)


_given: dict[str, str] = {}


@cache
def _installed() -> Mapping[str, str]:
    """Read the entry points; a built-in scaler is never replaced by another distribution's of the same name."""
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP)
    # A distribution that anyone may install beside us must not take over the readings of a built-in type.
    ours_last = sorted(found, key=lambda point: point.dist is not None and point.dist.name == _OWN_DISTRIBUTION)
    return {point.name: f"{point.module}:{point.attr}" for point in ours_last}


def nearest_types(trigger_type: str) -> list[str]:
    """The types whose names are most like it, at most three."""
    from difflib import get_close_matches  # for mistakes alone

    return get_close_matches(trigger_type, trigger_types(), n=3)


def _suggestion(trigger_type: str) -> str:
    from importlib.metadata import entry_points

    for gone in entry_points(group=REMOVED, name=trigger_type):
        return f": {gone.load()}"
    near = nearest_types(trigger_type)
    return f"; nearest: {', '.join(near)}" if near else "; `keda-py scalers` lists the types"
