"""KedaDefaults, ClusterKedaDefaults -> layers: their values are checked against each other and against their bounds.

Also how a layer travels to the process that judges manifests. Next in the flow: `layers.py`.
"""

from collections.abc import Mapping
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
from keda_py.core.defaults.layers import BOUNDED, NAMED, DefaultsLayer, DefaultsSpec, clamp
from keda_py.core.hpa.behavior_wire import read_behavior
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.selecting import build_selector
from keda_py.core.values.times import parse_time
from keda_py.errors import ConfigError

_NEVER_ZERO: Final = ("polling_interval", "max_replica_count")


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
