"""Requests of `keda-py explain` to the cluster: one object's insight, one object, or the objects of a namespace."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from keda_py.apis.foreign import name_of, text_at
from keda_py.apis.kinds.table import KINDS
from keda_py.errors import ConfigError, Forbidden, NotFound, Unavailable
from keda_py.external_metrics.discovery import INSIGHT, JOB_INSIGHT
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import (
    CRON_JOBS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    OVERRIDES,
    SCALED_JOBS,
    SCALED_OBJECTS,
    SCALING_SCHEDULES,
    STATEFUL_SETS,
    Obj,
    Resource,
)
from keda_py.kube.transport import Request

ATTEMPTS = 6
MOST_NAMED = 10
WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, CRON_JOBS)
EXPLAINED = (SCALED_OBJECTS, SCALED_JOBS, ENVIRONMENTS, OVERRIDES, SCALING_SCHEDULES, *WORKLOADS)
_SHORT: dict[str, tuple[str, ...]] = {
    **{kind.name: kind.short_names for kind in KINDS},
    DEPLOYMENTS.kind: ("deploy",),
    STATEFUL_SETS.kind: ("sts",),
    CRON_JOBS.kind: ("cj",),
}
_WORDS = {
    word: resource
    for resource in EXPLAINED
    for word in (resource.kind.lower(), resource.plural, *_SHORT[resource.kind])
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedObject:
    """Object that the user names."""

    resource: Resource
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """Return KIND/NAME."""
        return f"{self.resource.kind}/{self.name}"


def named(text: str, namespace: str) -> NamedObject:
    """Parse [KIND/][NAMESPACE/]NAME; `namespace` is the default. Raises ConfigError."""
    parts = text.split("/")
    resource = _WORDS.get(parts[0].lower()) if len(parts) > 1 else None
    rest = parts if resource is None else parts[1:]
    place, name, *more = [namespace, *rest] if len(rest) == 1 else rest
    if more and resource is None:
        kinds = ", ".join(one.kind.lower() for one in EXPLAINED)
        raise ConfigError(f"{text!r}: kind {parts[0]!r} cannot be explained; write one of {kinds}", field="NAME")
    if more or not place or not name:
        raise ConfigError(f"{text!r} names no object; write NAMESPACE/NAME, or KIND/NAMESPACE/NAME", field="NAME")
    return NamedObject(resource=resource or SCALED_OBJECTS, namespace=place, name=name)


async def ask_insight(client: KubeClient, wanted: NamedObject) -> dict[str, Any]:
    """Ask for an insight; a replica that does not lead says so, and another one is asked. Raises KubeError."""
    api = JOB_INSIGHT if wanted.resource is SCALED_JOBS else INSIGHT
    path = api.root + api.path.format(namespace=wanted.namespace, name=wanted.name)
    for attempt in range(ATTEMPTS):
        try:
            return await client.send(Request(method="GET", path=path, resource=api.resource))
        except NotFound as error:
            # 404 has two meanings: the insight names the object, a missing APIService only the path.
            if wanted.name in str(error).partition("not found")[0]:
                raise await missing(client, wanted) from None
            remedy = "run the operator with --register, or create that APIService as the chart does"
            raise ConfigError(f"this cluster has no APIService {api.service_name}; {remedy}") from None
        except Unavailable as error:
            # A standby that cannot ask the leader answers 503; the Service sends the next try to another replica.
            if error.status != 503 or (attempt + 1 == ATTEMPTS and error.reason):
                raise
            if attempt + 1 == ATTEMPTS:  # plain text, from the API server: nothing answered it
                where = f"`kubectl get apiservice {api.service_name}` tells why"
                text = f"the operator, which knows it, does not answer the API server ({error}); {where}"
                raise Unavailable(text, status=error.status) from error
            await asyncio.sleep(0.2)
    raise AssertionError("not reached: the last attempt returns or raises")


async def get_object(client: KubeClient, wanted: NamedObject) -> Obj:
    """Get the object from the cluster. Raises KubeError; NotFound names similar objects."""
    try:
        live = await client.get(wanted.resource.named(wanted.namespace, wanted.name))
    except NotFound:
        raise await missing(client, wanted) from None
    return {**live, "kind": wanted.resource.kind}


async def missing(client: KubeClient, wanted: NamedObject) -> NotFound:
    """Build the error for a missing object: it lists the existing names, similar ones first."""
    kind, where = wanted.resource.kind, wanted.namespace
    text = f"there is no {kind} {wanted.name!r} in namespace {where!r}"
    try:
        found = await client.list(wanted.resource, where)
    except (NotFound, Forbidden):
        return NotFound(text)
    scaling = [name_of(live) for live in found if _target(live) == wanted.name]
    if scaling:
        return NotFound(f"{text}: the workload of that name is scaled by {kind} {scaling[0]}")
    if not found:
        return NotFound(f"{text}, which has none; name another namespace")
    return NotFound(f"{text}: there {_listed(wanted.name, [name_of(live) for live in found])}")


def _target(live: Obj) -> str:
    return text_at(live, "spec", "scaleTargetRef", "name")


def _listed(name: str, names: Sequence[str]) -> str:
    alike = get_close_matches(name, names, MOST_NAMED)
    ordered = [*alike, *sorted(set(names) - set(alike))]
    more = f" and {len(ordered) - MOST_NAMED} more" if len(ordered) > MOST_NAMED else ""
    return f"{'is' if len(ordered) == 1 else 'are'} {', '.join(ordered[:MOST_NAMED])}{more}"


async def list_objects(client: KubeClient, namespace: str) -> list[Obj]:
    """List ScaledObjects, then ScaledJobs, in order; "" for all namespaces. Raises KubeError."""
    found: list[Obj] = []
    for resource in (SCALED_OBJECTS, SCALED_JOBS):
        listed = await client.list(resource, namespace)
        listed.sort(key=lambda one: (one["metadata"].get("namespace", ""), one["metadata"]["name"]))
        found += [{**one, "kind": resource.kind} for one in listed]
    return found
