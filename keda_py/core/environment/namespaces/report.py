"""The status of a ClusterEnvironment: a pure function of the plans of all namespaces."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keda_py.apis.environments.cluster_environment import (
    ClusterEnvironmentStatus,
    GroupStatus,
    NamespaceCounts,
    NamespaceTrouble,
)
from keda_py.apis.environments.environment import WRITE_FAILED
from keda_py.apis.foreign import list_at, map_at, maps_at, text_at
from keda_py.apis.wire import Condition
from keda_py.core.environment.namespaces.coverage import Coverage, NamespacePlan
from keda_py.core.environment.namespaces.spec import ClusterEnvironmentSpec

MOST_NAMED = 10
_LONGEST_MESSAGE = 300
_PHASES = {"Awake": "awake", "Asleep": "asleep", "Waking": "waking", "FallingAsleep": "falling_asleep"}
_TROUBLES = (
    ("Valid", "False", "failed"),
    ("Released", "False", "failed"),
    ("Contested", "True", "contested"),
)
"""Conditions of an Environment that need a person, with what the namespace counts as; the first one counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceState:
    """What a covered namespace counts as, and why it needs a person, if it does."""

    counts_as: str
    trouble: NamespaceTrouble | None = None


def state_of(plan: NamespacePlan, write_error: str) -> NamespaceState:
    """Find what a covered namespace counts as; `write_error` says why its Environment could not be written."""
    if write_error:
        return NamespaceState(counts_as="failed", trouble=_trouble(plan, WRITE_FAILED, write_error))
    status = map_at(plan.live or {}, "status")
    conditions = {text_at(one, "type"): one for one in maps_at(status, "conditions")}
    for kind, wrong, counts_as in _TROUBLES:
        one = conditions.get(kind)
        if one is not None and text_at(one, "status") == wrong:
            wrong_now = _trouble(plan, text_at(one, "reason") or kind, text_at(one, "message"))
            return NamespaceState(counts_as=counts_as, trouble=wrong_now)
    stuck = next((one for one in maps_at(status, "stillUp") if text_at(one, "reason") == WRITE_FAILED), None)
    late = [text for text in list_at(status, "transition", "timedOut") if isinstance(text, str)]
    trouble = _trouble(plan, "WaveTimedOut", f"not ready in time: wave {', '.join(late)}") if late else None
    if stuck is not None:
        trouble = _trouble(plan, WRITE_FAILED, f"{text_at(stuck, 'member')}: {text_at(stuck, 'because')}")
    return NamespaceState(counts_as=_PHASES.get(text_at(status, "phase"), "pending"), trouble=trouble)


def _trouble(plan: NamespacePlan, reason: str, message: str) -> NamespaceTrouble:
    return NamespaceTrouble(namespace=plan.namespace, reason=reason, message=message[:_LONGEST_MESSAGE])


def status_of(
    spec: ClusterEnvironmentSpec,
    plans: Sequence[NamespacePlan],
    groups: Mapping[str, int],
    errors: Mapping[str, str],
) -> ClusterEnvironmentStatus:
    """Compute the whole status; `groups` and `errors` are by namespace."""
    covered = [plan for plan in plans if plan.coverage is Coverage.COVERED]
    states = {plan.namespace: state_of(plan, errors.get(plan.namespace, "")) for plan in covered}
    counts = Counter(state.counts_as for state in states.values())
    troubles = [state.trouble for _, state in sorted(states.items()) if state.trouble is not None]
    by = {coverage: sorted(plan.namespace for plan in plans if plan.coverage is coverage) for coverage in Coverage}
    troubles += [
        _trouble(plan, "NotReleased", "its Environment could not be deleted: " + errors[plan.namespace])
        for plan in plans
        if plan.coverage is not Coverage.COVERED and errors.get(plan.namespace)
    ]
    numbers = NamespaceCounts(covered=len(covered), own=len(by[Coverage.OWN]), older=len(by[Coverage.OLDER]), **counts)
    return ClusterEnvironmentStatus(
        namespaces=numbers,
        groups=_groups(spec, groups, states),
        needs_person=troubles[:MOST_NAMED],
        own=by[Coverage.OWN][:MOST_NAMED],
        conditions=list(_conditions(spec, plans, troubles)),
    )


def _groups(
    spec: ClusterEnvironmentSpec, groups: Mapping[str, int], states: Mapping[str, NamespaceState]
) -> list[GroupStatus]:
    if not spec.order:
        return []
    totals = Counter(groups.get(name, len(spec.order)) for name in states)
    awake = Counter(groups.get(name, len(spec.order)) for name, one in states.items() if one.counts_as == "awake")
    return [
        GroupStatus(name=spec.group_name(at), awake=awake[at], total=totals[at]) for at in range(len(spec.order) + 1)
    ]


def _conditions(
    spec: ClusterEnvironmentSpec, plans: Iterable[NamespacePlan], troubles: Sequence[NamespaceTrouble]
) -> Iterable[Condition]:
    yield Condition(type="Valid", status="True", reason="Valid")
    by = {coverage: [plan for plan in plans if plan.coverage is coverage] for coverage in Coverage}
    if protected := by[Coverage.PROTECTED]:
        text = (
            f"spec.namespaceSelector selects {_names(protected)}, which no ClusterEnvironment covers; name them in "
            "spec.exclude, or select fewer namespaces"
        )
        yield Condition(type="Protected", status="True", reason="NeverCovered", message=text)
    if older := by[Coverage.OLDER]:
        text = f"older ClusterEnvironments cover {_names(older, with_other=True)}; select other namespaces"
        yield Condition(type="Conflict", status="True", reason="RuledByOlder", message=text)
    if own := by[Coverage.OWN]:
        text = f"Environments of their own are in force in {_names(own, with_other=True)}"
        yield Condition(type="OwnEnvironments", status="True", reason="OwnEnvironment", message=text)
    if troubles:
        first, several = troubles[0], len(troubles) > 1
        head = f"{len(troubles)} namespaces need a person; the first is " if several else "a person is needed in "
        text = f"{head}{first.namespace}: {first.message}"
        yield Condition(type="Healthy", status="False", reason=troubles[0].reason, message=text)
    else:
        yield Condition(type="Healthy", status="True", reason="Healthy")


def _names(plans: Sequence[NamespacePlan], *, with_other: bool = False) -> str:
    shown = [f"{plan.namespace} ({plan.other})" if with_other else plan.namespace for plan in plans[:MOST_NAMED]]
    more = f" and {len(plans) - MOST_NAMED} more" if len(plans) > MOST_NAMED else ""
    return ", ".join(shown) + more


def invalid_status(stored: Mapping[str, Any], message: str) -> list[Condition]:
    """Return the conditions of an invalid one: the Environments that it has written stay as they are."""
    kept = [
        Condition.model_validate(one)
        for one in maps_at(stored, "conditions")
        if text_at(one, "type") not in ("Valid", "") and text_at(one, "status")
    ]
    return [Condition(type="Valid", status="False", reason="SpecInvalid", message=message), *kept]
