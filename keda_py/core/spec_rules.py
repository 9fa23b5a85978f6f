"""Rules across the fields of a ScaledObject, or the triggers of a ScaledJob, for admission and reconcile.

Pure. A wrong combination raises ConfigError in KEDA's words. Behaviour reference: section 3.2 (steps 9 and 10).
"""

from collections.abc import Sequence

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ConfigError

NOT_CACHEABLE = ("cpu", "memory", "cron")


def may_sleep(spec: ScalingSpec) -> bool:
    """Return whether it may be scaled to zero."""
    return spec.idle_replicas == 0 or not spec.min_replicas


def check_bounds(spec: ScalingSpec) -> None:
    """Check idle < min <= max. Raises ConfigError in KEDA's words."""
    if spec.min_replicas > spec.max_replicas:
        raise ConfigError(
            f"MinReplicaCount={spec.min_replicas} must be less than MaxReplicaCount={spec.max_replicas}",
            field="spec.minReplicaCount",
        )
    # An explicit 0 counts as 1 here, an absent one as 0: idle=0 with min=0 passes, idle=0 with no min does not.
    min_for_idle = 0 if spec.declared_min is None else spec.declared_min or 1
    if spec.idle_replicas is not None and spec.idle_replicas >= min_for_idle:
        raise ConfigError(
            f"IdleReplicaCount={spec.idle_replicas} must be less than MinReplicaCount={min_for_idle}",
            field="spec.idleReplicaCount",
        )


def check_triggers(triggers: Sequence[ScaleTrigger]) -> None:
    """Check for at least one trigger, unique names, and caching only where it is supported. Raises ConfigError."""
    if not triggers:
        raise ConfigError("no triggers defined in the ScaledObject/ScaledJob", field="spec.triggers")
    names: set[str] = set()
    for index, trigger in enumerate(triggers):
        field = f"spec.triggers[{index}]"
        if trigger.use_cached_metrics and trigger.type in NOT_CACHEABLE:
            message = f'property "useCachedMetrics" is not supported for "{trigger.type}" scaler'
            raise ConfigError(message, field=f"{field}.useCachedMetrics")
        if trigger.name and trigger.name in names:
            message = (
                f'triggerName "{trigger.name}" is defined multiple times in the ScaledObject/ScaledJob, '
                "but it must be unique"
            )
            raise ConfigError(message, field=f"{field}.name")
        names.add(trigger.name)
