"""Evidence in the cluster beside the operator's insight: the manifest, the HPA's steps, who set the count by hand.

Read with the rights of the user who asks; what may not be read is left out and named.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keda_py.apis.foreign import value_at
from keda_py.core.hpa.rescale_note import REASON, read_rescale
from keda_py.errors import ConfigError, Forbidden, KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS, Obj, Resource, Selection, safe_segment
from keda_py.replay.reading.cluster import ClusterReading
from keda_py.replay.reading.manifests import ManifestSource

EVENTS = Resource(version="v1", kind="Event", plural="events")
AUTOSCALERS = ("keda-py", "keda-operator", "keda", "kube-controller-manager")
"""Field managers that set a count as part of autoscaling: we, KEDA, the HPA controller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Change of the count by the HPA."""

    at: datetime
    size: int
    metric: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """Writer of the present count, and the time."""

    manager: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything is optional; `unread` names what the user may not read.

    `replicas` is the count that the workload is to have now; the operator's is that of its last poll. `sources` are the
    manifest, and what rules it, for the replay that tells what comes next. `policy` says which ClusterEnvironment
    writes its Environment.
    """

    manifest: Obj | None = None
    replicas: int | None = None
    sources: Sequence[ManifestSource] = ()
    steps: Sequence[Step] = ()
    by_hand: ByHand | None = None
    policy: Sequence[str] = ()
    unread: tuple[str, ...] = ()


NOTHING = Evidence()


async def gather(client: KubeClient, insight: Mapping[str, Any]) -> Evidence:
    """Read the evidence; never fails, since explain shows the operator's insight in any case."""
    resource = SCALED_JOBS if insight.get("kind") == "ScaledJobInsight" else SCALED_OBJECTS
    namespace, name = insight["metadata"]["namespace"], insight["metadata"]["name"]
    found = NOTHING
    manifest, found = await _try(client.get(resource.named(namespace, name)), resource.plural, found)
    if manifest is None or resource is SCALED_JOBS:
        return replace(found, manifest=manifest)
    sources, unread = await read_sources(client, namespace, {**manifest, "kind": resource.kind})
    found = replace(found, sources=sources, unread=(*found.unread, *unread))
    status = manifest.get("status") or {}
    if hpa := status.get("hpaName"):
        wanted = Selection(fields=f"involvedObject.name={hpa},reason={REASON}")
        events, found = await _try(client.list(EVENTS, namespace, wanted), "events", found)
        found = replace(found, steps=sorted(map_steps(events or ()), key=lambda step: step.at))
    if target := _target(status.get("scaleTargetGVKR") or {}):
        workload = ((manifest.get("spec") or {}).get("scaleTargetRef") or {}).get("name")
        live, found = await _try(client.get(target.named(namespace, str(workload or ""))), target.plural, found)
        found = replace(found, replicas=count_of(live), by_hand=who_set_the_count(live or {}))
    return replace(found, manifest=manifest)


async def read_sources(client: KubeClient, namespace: str, live: Obj) -> tuple[list[ManifestSource], list[str]]:
    """List a namespace's objects and what rules them; `live` alone if nothing may be listed. Never fails."""
    reading = ClusterReading(client, namespace)
    try:
        return await reading.read(live), [resource.plural for resource in reading.forbidden]
    except KubeError:
        return [ManifestSource(body=live)], []


async def _try(asked: Awaitable[Any], what: str, found: Evidence) -> tuple[Any, Evidence]:
    try:
        return await asked, found
    except Forbidden:
        return None, replace(found, unread=(*found.unread, what))
    except (KubeError, ConfigError):  # ConfigError: a reference that cannot be the name of an object
        return None, found


def _target(kind: Mapping[str, Any]) -> Resource | None:
    """Read `status.scaleTargetGVKR`; None if a part of it could be a path, since other clients may write it."""
    group, version, plural = (str(kind.get(field) or "") for field in ("group", "version", "resource"))
    try:
        for field, text in (("group", group or "core"), ("version", version), ("resource", plural)):
            safe_segment(field, text)
    except ConfigError:
        return None
    return Resource(group=group, version=version, kind=str(kind.get("kind") or ""), plural=plural)


def map_steps(events: Sequence[Obj]) -> list[Step]:
    """Parse an HPA's Events into steps; Events in another form than the HPA controller's are skipped."""
    steps = []
    for event in events:
        rescale, at = read_rescale(str(event.get("message") or "")), _time_of(event)
        if event.get("reason") == REASON and rescale.size is not None and at is not None:
            steps.append(Step(at=at, size=rescale.size, metric=rescale.metric, why=rescale.why))
    return steps


def count_of(live: Obj | None) -> int | None:
    """Return `spec.replicas`; None if it is missing, as in other kinds of workloads, or no count."""
    count = value_at(live, "spec", "replicas")
    return count if type(count) is int and count >= 0 else None


def who_set_the_count(live: Obj) -> ByHand | None:
    """Return the last writer of `spec.replicas`; None for an autoscaler, the workload's creator, or an unknown one."""
    meta = live.get("metadata") or {}
    for entry in meta.get("managedFields") or ():
        at = parsed_time(entry.get("time"))
        owns = "f:replicas" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})
        created = parsed_time(meta.get("creationTimestamp"))
        if owns and at is not None and entry.get("manager") not in AUTOSCALERS and at != created:
            return ByHand(manager=str(entry.get("manager") or "an unnamed client"), at=at)
    return None


def _time_of(event: Obj) -> datetime | None:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((at for text in times if (at := parsed_time(text)) is not None), None)


def parsed_time(text: object) -> datetime | None:
    """Parse an instant with its zone; None for another value."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo is not None else None
