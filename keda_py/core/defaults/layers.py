"""KedaDefaults, ClusterKedaDefaults -> layers, and the order of those of a namespace.

The layers of a namespace are its KedaDefaults, the older first; then the ClusterKedaDefaults that match it, those with
a selector before those without one, and the older first; then the defaults of the installation. A field has the value
of the first layer that gives one; the bounds of all layers hold.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from keda_py.apis.environments.keda_defaults import (
    AllowedRange,
    ClusterKedaDefaults,
    DefaultsBounds,
    KedaDefaults,
    KedaDefaultsSpec,
)
from keda_py.apis.hpa_behavior import HorizontalPodAutoscalerBehavior
from keda_py.apis.parsing import parse_manifest
from keda_py.core.hpa.behavior_wire import read_behavior
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.selecting import build_selector
from keda_py.core.values.selectors import LabelSelector
from keda_py.core.values.times import parse_time
from keda_py.errors import ConfigError

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
BOUNDED: Final = tuple(DefaultsBounds.model_fields)
_NEVER_ZERO = ("polling_interval", "max_replica_count")
INSTALLATION: Final = "the defaults of this installation"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultsLayer:
    """Values and bounds by field; `origin` names where they are from, in sentences."""

    origin: str
    values: Mapping[str, Any]
    bounds: Mapping[str, AllowedRange]


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
    selector: LabelSelector | None = None

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether it is for a namespace with these labels."""
        return self.selector is None or self.selector.matches({"metadata": {"labels": labels}})


def build_defaults(body: Mapping[str, Any]) -> DefaultsSpec:
    """Build the spec of an object of either kind, which has its `kind`. Raises ConfigError."""
    is_cluster = body["kind"] == ClusterKedaDefaults.__name__
    written: ClusterKedaDefaults | KedaDefaults
    written = parse_manifest(ClusterKedaDefaults, body) if is_cluster else parse_manifest(KedaDefaults, body)
    meta, mistakes, selector = written.metadata, Mistakes(), None
    origin = f"{body['kind']} {meta.name}{'' if is_cluster else ' in this namespace'}"
    layer = DefaultsLayer(origin=origin, values={}, bounds={})
    if isinstance(written, ClusterKedaDefaults):
        with mistakes.noted():
            selector = build_selector(written.spec.namespace_selector, "spec.namespaceSelector")
    with mistakes.noted():
        layer = build_layer(written.spec, origin)
    mistakes.refuse()
    return DefaultsSpec(
        namespace="" if is_cluster else meta.namespace,
        name=meta.name,
        uid=meta.uid,
        created=parse_time(meta.creation_timestamp or "1970-01-01T00:00:00Z", field="metadata.creationTimestamp"),
        layer=layer,
        selector=selector,
    )


def build_layer(spec: KedaDefaultsSpec, origin: str, at: str = "spec") -> DefaultsLayer:
    """Check the values against each other and against their own bounds. Raises ConfigError; `at` is the spec's path."""
    mistakes = Mistakes()
    values = {field: value for field in NAMED if (value := getattr(spec, field)) is not None}
    written = spec.bounds or DefaultsBounds()
    bounds = {field: allowed for field in BOUNDED if (allowed := getattr(written, field)) is not None}
    for field, allowed in bounds.items():
        with mistakes.noted():
            _check_range(field, allowed, f"{at}.bounds.{NAMED[field]}")
        with mistakes.noted():
            _check_within(field, values.get(field), allowed, at)
    with mistakes.noted():
        _check_order(spec, at)
    with mistakes.noted():
        _check_behavior(spec, at)
    mistakes.refuse()
    return DefaultsLayer(origin=origin, values=values, bounds=bounds)


def layer_to_wire(layer: DefaultsLayer) -> dict[str, Any]:
    """Write a layer for the process that judges manifests, which needs no behavior."""
    values = {field: value for field, value in layer.values.items() if field != "behavior"}
    spec = KedaDefaultsSpec(**values, bounds=DefaultsBounds(**dict(layer.bounds)))
    return {"origin": layer.origin, "spec": spec.model_dump(by_alias=True, exclude_none=True)}


def layer_of_wire(body: Mapping[str, Any]) -> DefaultsLayer:
    """Read what `layer_to_wire` has written."""
    return build_layer(KedaDefaultsSpec.model_validate(body["spec"]), body["origin"])


def _check_range(field: str, allowed: AllowedRange, at: str) -> None:
    least, most = allowed.at_least, allowed.at_most
    if least is not None and most is not None and least > most:
        raise ConfigError(f"{at}: atLeast {least} is more than atMost {most}; lower it", field=f"{at}.atLeast")
    if field in _NEVER_ZERO and most == 0:
        raise ConfigError(f"{at}.atMost: 0 allows no value; write 1 or more", field=f"{at}.atMost")


def _check_within(field: str, value: int | None, allowed: AllowedRange, at: str) -> None:
    if value is None or clamp(value, allowed) == value:
        return
    side, bound = ("atLeast", allowed.at_least) if value < clamp(value, allowed) else ("atMost", allowed.at_most)
    name = NAMED[field]
    text = f"{at}.{name}: {value} is beyond {at}.bounds.{name}.{side} {bound}; correct one of them"
    raise ConfigError(text, field=f"{at}.{name}")


def _check_order(spec: KedaDefaultsSpec, at: str) -> None:
    least, most = spec.min_replica_count, spec.max_replica_count
    if least is not None and most is not None and least > most:
        field = f"{at}.minReplicaCount"
        raise ConfigError(f"{field}: {least} is more than maxReplicaCount {most}; lower it", field=field)


def _check_behavior(spec: KedaDefaultsSpec, at: str) -> None:
    """Refuse what no HPA can have: one wrong default would stop every ScaledObject that has it."""
    if spec.behavior is None:
        return
    try:
        HorizontalPodAutoscalerBehavior.model_validate(spec.behavior)
        read_behavior(spec.behavior)
    except (ValidationError, ValueError, ConfigError):
        field = f"{at}.behavior"
        text = f"{field}: no HPA can have it; policies are Pods or Percent, selectPolicy Max, Min or Disabled"
        raise ConfigError(text, field=field) from None


def clamp(value: int, allowed: AllowedRange) -> int:
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
