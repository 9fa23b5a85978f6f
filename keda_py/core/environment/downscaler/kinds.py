"""The kinds that the annotations scale: how much of an object runs, and what is written to put it down and up again.

`fields` are those of the kind alone, as they stand in the object: `replicas`; `suspend` of a CronJob or Job;
`minReplicas` and `maxReplicas` of an HPA; `minAvailable` or `maxUnavailable`; `minRunners`; the pod template's
`nodeSelector` of a DaemonSet; `replicas` and `autoscaler` of a Stack.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from keda_py.core.environment.downscaler.values import Amount, parse_amount
from keda_py.errors import ConfigError

Fields = Mapping[str, Any]
NOWHERE = "kube-downscaler-non-existent"
"""The node label that keeps a DaemonSet's pods away."""


@dataclass(frozen=True, slots=True)
class KindRules:
    """`level` may raise ConfigError; `lower` and `restore` give the fields afterwards."""

    level: Callable[[Fields], Amount]
    lower: Callable[[Fields, Amount], Fields]
    restore: Callable[[Fields, Amount], Fields]
    percent: bool = False
    """True if the kind understands percentages."""


def _number(fields: Fields, name: str) -> Amount:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"spec.{name}: is missing or no whole number; add it", field=f"spec.{name}")
    return Amount(value)


def _counted(name: str) -> KindRules:
    return KindRules(
        level=lambda fields: _number(fields, name),
        lower=lambda fields, to: {**fields, name: to.number},
        restore=lambda fields, to: {**fields, name: to.number},
    )


def _suspended(fields: Fields) -> Amount:
    if not isinstance(fields.get("suspend"), bool):
        raise ConfigError("spec.suspend: is missing; add it", field="spec.suspend")
    return Amount(0 if fields["suspend"] else 1)


def _restore_hpa(fields: Fields, to: Amount) -> Fields:
    most = fields.get("maxReplicas")
    return {**fields, "minReplicas": min(to.number, most) if isinstance(most, int) else to.number}


def _away(fields: Fields, _: Amount) -> Fields:
    return {**fields, "nodeSelector": {**(fields.get("nodeSelector") or {}), NOWHERE: "true"}}


def _back(fields: Fields, _: Amount) -> Fields:
    kept = {key: value for key, value in (fields.get("nodeSelector") or {}).items() if key != NOWHERE}
    return {**fields, "nodeSelector": kept}


def _budget_field(fields: Fields) -> str:
    return next((name for name in ("minAvailable", "maxUnavailable") if fields.get(name) is not None), "")


def _budget(fields: Fields) -> Amount:
    name = _budget_field(fields)
    return parse_amount(str(fields[name]), field=f"spec.{name}") if name else Amount(0)


def _set_budget(fields: Fields, to: Amount) -> Fields:
    name = _budget_field(fields)
    return {**fields, name: to.wire} if name else fields


def _stack(fields: Fields) -> Amount:
    if fields.get("replicas") is None and isinstance(fields.get("autoscaler"), Mapping):
        return _number(fields["autoscaler"], "maxReplicas")
    return _number(fields, "replicas")


def _restore_stack(fields: Fields, to: Amount) -> Fields:
    """Give the count back to the object's own autoscaler, if it had it before."""
    if (fields.get("autoscaler") or {}).get("maxReplicas") == to.number:
        return {key: value for key, value in fields.items() if key != "replicas"}
    return {**fields, "replicas": to.number}


_SUSPENDS = KindRules(
    level=_suspended,
    lower=lambda fields, _: {**fields, "suspend": True},
    restore=lambda fields, _: {**fields, "suspend": False},
)
RULES: Mapping[str, KindRules] = {
    "Deployment": _counted("replicas"),
    "StatefulSet": _counted("replicas"),
    "Rollout": _counted("replicas"),
    "Stack": KindRules(level=_stack, lower=_counted("replicas").lower, restore=_restore_stack),
    "CronJob": _SUSPENDS,
    "Job": _SUSPENDS,
    "DaemonSet": KindRules(
        level=lambda fields: Amount(0 if NOWHERE in (fields.get("nodeSelector") or {}) else 1),
        lower=_away,
        restore=_back,
    ),
    "HorizontalPodAutoscaler": KindRules(
        level=lambda fields: _number(fields, "minReplicas"), lower=_counted("minReplicas").lower, restore=_restore_hpa
    ),
    "PodDisruptionBudget": KindRules(level=_budget, lower=_set_budget, restore=_set_budget, percent=True),
    "AutoscalingRunnerSet": _counted("minRunners"),
}
