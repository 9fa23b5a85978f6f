"""One version of a ScaledObject, ready to be simulated: its spec, its metrics, and the HPA that it would own.

Made as the operator makes it: `core/spec.py`, the scalers' own names and targets, `core/hpa/manifest.py`. Credentials
are not needed and not known: where a trigger asks for one, a placeholder stands in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from keda_py.core.defaults.filling import fill_scaled_object
from keda_py.core.defaults.layers import Layers
from keda_py.core.metric_names import name_metrics
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.core.spec_rules import check_bounds, check_triggers
from keda_py.errors import ConfigError
from keda_py.replay.engine.subject import Subject, subject_of
from keda_py.sdk import registry
from keda_py.sdk.checks import context_of
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.contract import Trigger
from keda_py.sdk.registry import AnyScaler
from keda_py.simulation.sources import finish

_PLACEHOLDER = "placeholder"
_MOST_PLACEHOLDERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedObject:
    """A version with its scalers, which run parallel to the triggers."""

    subject: Subject
    scalers: tuple[AnyScaler, ...]


def build_object(body: Mapping[str, Any], shared: SharedContext, layers: Layers = ()) -> SimulatedObject:
    """Build the version that this manifest is over these defaults, complete as the API server would hand it on.

    Raises ConfigError.
    """
    spec = AS_WRITTEN.built_by(lambda obj: fill_scaled_object(obj, layers)).read(body)
    check_bounds(spec)
    check_triggers(spec.triggers)
    scalers = tuple(_build_scaler(spec, index, shared) for index in range(len(spec.triggers)))
    metrics = name_metrics(spec, [finish(scaler.specs()) for scaler in scalers])
    activations = (float(scalers[one.trigger_index].activation) for one in metrics.external)
    return SimulatedObject(subject=subject_of(spec, metrics, activations), scalers=scalers)


def _build_scaler(spec: ScalingSpec, index: int, shared: SharedContext) -> AnyScaler:
    trigger = spec.triggers[index]
    context = context_of(trigger, index, shared, spec)
    env = {value: SecretStr(_PLACEHOLDER) for key, value in trigger.metadata.items() if key.endswith("FromEnv")}
    if trigger.authentication_ref is None:
        return registry.build(Trigger(type=trigger.type, metadata=trigger.metadata, env=env), context)
    return _build_with_placeholders(Trigger(type=trigger.type, metadata=trigger.metadata, env=env), context)


def _build_with_placeholders(trigger: Trigger, context: EngineContext) -> AnyScaler:
    """Build a scaler whose credentials are not known: each parameter that it misses gets a placeholder."""
    auth: dict[str, SecretStr] = {}
    for _ in range(_MOST_PLACEHOLDERS):
        authenticated = Trigger(type=trigger.type, metadata=trigger.metadata, env=trigger.env, auth=auth)
        try:
            return registry.build(authenticated, context)
        except ConfigError as error:
            if not error.field or error.field in auth or error.field in trigger.metadata:
                raise
            auth = {**auth, error.field: SecretStr(_PLACEHOLDER)}
    raise ConfigError(f"{trigger.type}: asks for more than {_MOST_PLACEHOLDERS} credentials")
