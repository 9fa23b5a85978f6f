"""ResourceQuotas that will not let members wake: what they need beyond now, against what the quota has left."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keda_py.apis.foreign import list_at, map_at, maps_at, namespace_of, value_at
from keda_py.core.values.quantity import parse_milli, print_milli
from keda_py.doctor.diagnosis import Diagnosis, Urgency, diagnose
from keda_py.doctor.members import Member, by_namespace
from keda_py.errors import ConfigError
from keda_py.kube.resources import CRON_JOBS, RESOURCE_QUOTAS, Obj
from keda_py.migration.installation import Installation

_OF_PODS: Mapping[str, tuple[str, str]] = {
    "cpu": ("requests", "cpu"),
    "requests.cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    "requests.memory": ("requests", "memory"),
    "limits.cpu": ("limits", "cpu"),
    "limits.memory": ("limits", "memory"),
}
_COUNTS = ("pods", "count/pods")
_ALL_PODS = "NotTerminating"
"""Scope of pods that run without a deadline, which those of all members do."""


def check_quotas(installation: Installation, members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Check each quota of a namespace with members that sleep."""
    grouped = by_namespace(members)
    for quota in installation.of(RESOURCE_QUOTAS):
        waking = [one for one in grouped.get(namespace_of(quota), ()) if _more(one)]
        if not waking:
            continue
        scopes = {one for one in list_at(quota, "spec", "scopes") if one != _ALL_PODS}
        if scopes or map_at(quota, "spec", "scopeSelector"):
            message = "is for some pods only (scopes): whether members may wake under it was not calculated"
            yield diagnose(quota, message, waking, urgency=Urgency.NOTE)
        else:
            yield from _check_quota(quota, waking)


def _more(member: Member) -> int:
    """Return how many pods it has more when it wakes; a CronJob starts its pods by its schedule."""
    return 0 if member.kind == CRON_JOBS.kind else member.count_awake - member.count


def _check_quota(quota: Obj, waking: Sequence[Member]) -> Iterator[Diagnosis]:
    short: dict[str, tuple[str, str]] = {}
    for resource, written in map_at(quota, "status", "hard").items():
        try:
            needed = sum(_more(one) * _of_one_pod(one, resource) for one in waking)
            used, hard = (parse_milli(value) for value in (map_at(quota, "status", "used").get(resource, "0"), written))
        except ConfigError:
            message = f"status.hard[{resource}] or what members request of it is not a quantity"
            yield diagnose(quota, message, waking, urgency=Urgency.UNKNOWN)
            continue
        if needed and used + needed > hard:
            # Written as a plain number: one notation for all that was added up, whatever each pod used.
            short[resource] = print_milli(used + needed), str(written)
    if short:
        what = ", ".join(f"{name} {total} of {hard}" for name, (total, hard) in short.items())
        message = f"members cannot all wake: together with what is used now they need {what}"
        yield diagnose(quota, message, waking, lines={"spec": {"hard": {name: one[0] for name, one in short.items()}}})


def _of_one_pod(member: Member, resource: str) -> int:
    """Return milli of a resource that one pod takes from a quota, 0 for other resources. Raises ConfigError."""
    if resource in _COUNTS:
        return 1000
    if resource not in _OF_PODS:
        return 0
    kind, name = _OF_PODS[resource]
    pod = map_at(member.pod_template, "spec")
    together = sum(_amount(container, kind, name) for container in maps_at(pod, "containers"))
    alone = max((_amount(one, kind, name) for one in maps_at(pod, "initContainers")), default=0)
    overhead = value_at(pod, "overhead", name)
    return max(together, alone) + (0 if overhead is None else parse_milli(overhead))


def _amount(container: Obj, kind: str, name: str) -> int:
    """Return a request or limit; a request that is left out is the limit, as the API server defaults it."""
    resources = map_at(container, "resources")
    found: Any = map_at(resources, kind).get(name)
    if found is None and kind == "requests":
        found = map_at(resources, "limits").get(name)
    return 0 if found is None else parse_milli(found)
