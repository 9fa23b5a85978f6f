"""The layers of defaults of a namespace, and their order; `building.py` makes a layer of an object.

The layers of a namespace are its KedaDefaults, the older first; then the ClusterKedaDefaults that match it, those with
a selector before those without one, and the older first; then the defaults of the installation. A field has the value
of the first layer that gives one; the bounds of all layers hold.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from keda_py.apis.environments.keda_defaults import AllowedRange
    from keda_py.core.values.selectors import LabelSelector

NAMED: Final = {
    "polling_interval": "pollingInterval",
    "cooldown_period": "cooldownPeriod",
    "initial_cooldown_period": "initialCooldownPeriod",
    "min_replica_count": "minReplicaCount",
    "max_replica_count": "maxReplicaCount",
    "fallback": "fallback",
    "behavior": "behavior",
}
"""Field of the models -> its name in manifests."""
BOUNDED: Final = tuple(field for field in NAMED if field not in ("fallback", "behavior"))
"""Fields of which there are bounds."""
INSTALLATION: Final = "the defaults of this installation"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultsLayer:
    """Values and bounds by field; `origin` names where they are from, in sentences."""

    origin: str
    values: Mapping[str, Any]
    bounds: "Mapping[str, AllowedRange]"


Layers = tuple[DefaultsLayer, ...]
"""Layers of a namespace, the nearest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultsSpec:
    """A KedaDefaults, or a ClusterKedaDefaults, which has no namespace; `selector` None selects every namespace."""

    namespace: str
    name: str
    uid: str
    created: datetime
    layer: DefaultsLayer
    selector: "LabelSelector | None" = None

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether it is for a namespace with these labels."""
        return self.selector is None or self.selector.matches({"metadata": {"labels": labels}})


def clamp(value: int, allowed: "AllowedRange") -> int:
    """Return the value of the range that is nearest."""
    raised = value if allowed.at_least is None else max(value, allowed.at_least)
    return raised if allowed.at_most is None else min(raised, allowed.at_most)


def layers_of(
    labels: Mapping[str, str], own: Iterable[DefaultsSpec], cluster: Iterable[DefaultsSpec], base: DefaultsLayer | None
) -> Layers:
    """Order the layers of a namespace with these labels; `own` are its KedaDefaults."""
    matching = (one for one in cluster if one.selects(labels))
    ordered = (*sorted(own, key=_age), *sorted(matching, key=lambda one: (one.selector is None, *_age(one))))
    return (*(one.layer for one in ordered), *((base,) if base is not None else ()))


def _age(spec: DefaultsSpec) -> tuple[datetime, str, str]:
    return spec.created, spec.uid, spec.name


def most_replicas(layers: Layers) -> int | None:
    """Return the lowest bound of maxReplicaCount; None without one."""
    bounds = (layer.bounds["max_replica_count"].at_most for layer in layers if "max_replica_count" in layer.bounds)
    return min((bound for bound in bounds if bound is not None), default=None)


def overlaps_of(spec: DefaultsSpec, others: Iterable[DefaultsSpec]) -> Iterator[str]:
    """Yield the names of others of its kind whose values come first where both give a field.

    For ClusterKedaDefaults with selectors this is where a namespace has the labels of both.
    """
    rank = (spec.selector is None, *_age(spec))
    for one in sorted(others, key=_age):
        shared = set(spec.layer.values) & set(one.layer.values)
        if one.uid != spec.uid and shared and (one.selector is None, *_age(one)) < rank:
            yield one.name
