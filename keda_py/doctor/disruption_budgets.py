"""PodDisruptionBudgets that allow no eviction: nodes with pods of these members cannot be drained."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from keda_py.apis.foreign import map_at, namespace_of, texts_at, value_at
from keda_py.core.values.selectors import LabelSelector
from keda_py.doctor.diagnosis import Diagnosis, diagnose
from keda_py.doctor.members import Member, by_namespace
from keda_py.kube.resources import CRON_JOBS, POD_DISRUPTION_BUDGETS, Obj
from keda_py.migration.installation import Installation


def check_disruption_budgets(installation: Installation, members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Check each budget against the counts that its members have when they are awake."""
    grouped = by_namespace(members)
    for budget in installation.of(POD_DISRUPTION_BUDGETS):
        selector = value_at(budget, "spec", "selector")
        found = [one for one in grouped.get(namespace_of(budget), ()) if one.kind != CRON_JOBS.kind]
        covered = [member for member in found if is_selected(member, selector)]
        pods = _pods_awake(budget, covered)
        limit = _blocking(map_at(budget, "spec"), pods) if pods else ""
        if limit:
            pods_of = "its 1 pod" if pods == 1 else f"its {pods} pods"
            message = f"{limit} allows no eviction of {pods_of}, so that their nodes cannot be drained"
            lines = {"spec": {"maxUnavailable": 1, **({"minAvailable": None} if "minAvailable" in limit else {})}}
            yield diagnose(budget, message, covered, lines=lines)


def _pods_awake(budget: Obj, covered: Sequence[Member]) -> int:
    """Return the pods under the budget when its members are awake, other pods included; 0 without members."""
    awake = sum(member.count_awake for member in covered)
    expected = value_at(budget, "status", "expectedPods")
    others = expected - sum(member.count for member in covered) if isinstance(expected, int) else 0
    return awake + max(others, 0) if awake else 0


def is_selected(member: Member, selector: Any) -> bool:
    """Whether a selector of a budget or a Service selects the member's pods: an empty one all, a missing one none."""
    labels = texts_at(member.pod_template, "metadata", "labels")
    if not isinstance(selector, dict) or not selector:
        return selector == {}
    try:
        return LabelSelector.of(selector).matches({"metadata": {"labels": labels}})
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _blocking(spec: Obj, pods: int) -> str:
    """Return the limit that blocks, "" for none. Percentages are rounded up, as Kubernetes does for both fields."""
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most is not None:
        return f"maxUnavailable {most}" if _scaled(most, pods) == 0 else ""
    wanted = _scaled(least, pods)
    return f"minAvailable {least}" if wanted is not None and wanted >= pods else ""


def _scaled(value: Any, pods: int) -> int | None:
    """Return a count, or a percentage of the pods; None for what cannot be read."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or not value.endswith("%") or not value[:-1].isdecimal() or len(value) > 4:
        return None
    return math.ceil(pods * int(value[:-1]) / 100)
