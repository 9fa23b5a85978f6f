"""The monthly look at each Environment: do its hours still fit? The answer is stored in its status, then told.

`status.advice.checkedAt` is the memory: neither a restart nor another leader repeats an Event. One Environment an hour
is asked about, the one that waited longest; one that could not be asked about waits for a day.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import parse_optional_time, write_time
from keda_py.errors import ConfigError, KedaPyError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import CALENDARS, CLUSTER_CALENDARS, ENVIRONMENTS, Obj, Resource
from keda_py.kube.status import patch_status
from keda_py.operator.advising.question import AdviceSource, WorkloadFit
from keda_py.operator.controller.component import Component
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.settings.environments import EnvironmentSettings

EACH_SECONDS = 3600.0
MONTH, AGAIN = timedelta(days=30), timedelta(days=1)
UNFIT = "HoursDoNotFit"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST, _MOST_TOLD = 900, 3
"""Characters of a message, and workloads in it."""
_TOLD_FIELDS = ("name", "namespace", "labels", "creationTimestamp")

Ask = Callable[[str, str, Sequence[Mapping[str, Any]]], Awaitable[Sequence[WorkloadFit]]]
"""From a namespace, a zone and manifests to how the hours fit. Raises KedaPyError."""

log = logging.getLogger(__name__)


class AdviceWatch:
    """Runs on the leader alone."""

    def __init__(self, parts: EnvironmentDependencies, ask: Ask) -> None:
        self._parts, self._shared, self._ask = parts, parts.shared, ask
        self._failed: dict[ObjectKey, datetime] = {}

    async def run(self) -> None:
        """Ask about one Environment each hour, until cancelled."""
        clock = self._shared.clock
        while True:
            await clock.sleep(EACH_SECONDS)
            live = self._next(clock.now())
            if live is not None:
                with clock.busy():
                    await self._check(live)

    def _next(self, now: datetime) -> Obj | None:
        """The Environment that waited longest, None where none is due."""
        self._failed = {key: at for key, at in self._failed.items() if now - at < AGAIN}
        due = [
            (checked, namespace_of(live), name_of(live), live)
            for live in self._parts.caches.environments.objects()
            if now - (checked := _checked(live, now)) >= MONTH
            and not live["metadata"].get("deletionTimestamp")
            and ObjectKey.of(ENVIRONMENTS.kind, live) not in self._failed
        ]
        return min(due, key=lambda each: each[:3])[3] if due else None

    async def _check(self, live: Obj) -> None:
        key = ObjectKey.of(ENVIRONMENTS.kind, live)
        about = {"namespace": key.namespace, "environment": key.name}
        try:
            found = await self._ask(key.namespace, self._zone(live), list(self._manifests(key.namespace)))
            own = [each for each in found if each.environment == key.name]
            await self._store(live, own)
        except KedaPyError as error:
            self._failed[key] = self._shared.clock.now()
            log.warning("whether the hours fit is not known", extra={**about, "error": str(error)})

    async def _store(self, live: Obj, found: Sequence[WorkloadFit]) -> None:
        """Write the status, then tell: killed in between, the Event is lost, and not repeated. Raises KubeError."""
        unfit = [each for each in found if not each.fits]
        current = self._parts.caches.environments.get(namespace_of(live), name_of(live))
        if current is None or current["metadata"]["uid"] != live["metadata"]["uid"]:
            return
        advice = {
            "checkedAt": write_time(self._shared.clock.now()),
            "fits": "Unknown" if not found else "False" if unfit else "True",
            "message": _message(unfit or found),
        }
        status = dict(current.get("status") or {})
        await patch_status(self._shared.client, ENVIRONMENTS, current, {**status, "advice": advice})
        if unfit:
            self._shared.tell(current, "Normal", UNFIT, advice["message"])

    def _zone(self, live: Obj) -> str:
        """Return the zone of its hours, in which other hours are proposed, too."""
        reference, caches = map_at(live, "spec", "calendarRef"), self._parts.caches
        if not reference:
            return text_at(live, "spec", "calendar", "timeZone")
        if text_at(reference, "kind") == CLUSTER_CALENDARS.kind:
            named = caches.cluster_calendars.get("", text_at(reference, "name"))
        else:
            named = caches.calendars.get(namespace_of(live), text_at(reference, "name"))
        return text_at(named, "spec", "timeZone") if named else ""

    def _manifests(self, namespace: str) -> Iterator[Mapping[str, Any]]:
        """What says how many replicas there are and which hours they have; annotations and statuses stay here."""
        caches = self._parts.caches
        of_namespace: list[tuple[Resource, Informer]] = [
            (ENVIRONMENTS, caches.environments),
            (CALENDARS, caches.calendars),
            *((informer.spec.resource, informer) for informer in caches.members.values()),
        ]
        scaled = self._parts.cluster.scaled_objects
        for resource, informer in (*of_namespace, (scaled.spec.resource, scaled)):
            yield from (_told(resource, live) for live in informer.objects(namespace))
        yield from (_told(CLUSTER_CALENDARS, live) for live in caches.cluster_calendars.objects())


def assemble_advising(parts: EnvironmentDependencies, settings: EnvironmentSettings) -> tuple[Component, ...]:
    """Make what the leader runs; nothing without a Prometheus."""
    if not settings.advise_prometheus:
        return ()
    source = AdviceSource(url=settings.advise_prometheus, token_file=settings.advise_token_file)
    return (Component(lead=(AdviceWatch(parts, source.ask).run,)),)


def _told(resource: Resource, live: Obj) -> Mapping[str, Any]:
    meta = live["metadata"]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {name: meta[name] for name in _TOLD_FIELDS if name in meta},
        "spec": live.get("spec") or {},
    }


def _checked(live: Obj, now: datetime) -> datetime:
    """When it was asked about; a time that cannot be read, or that lies in the future, was not written by us."""
    try:
        checked = parse_optional_time(text_at(live, "status", "advice", "checkedAt"), field="checkedAt")
    except ConfigError:
        return _NEVER
    return checked if checked is not None and checked <= now else _NEVER


def _message(found: Sequence[WorkloadFit]) -> str:
    if not found:
        return "of no workload of it the use is known"
    told = "; ".join(each.sentence for each in found[:_MOST_TOLD])
    more = f"; and {len(found) - _MOST_TOLD} workloads more" if len(found) > _MOST_TOLD else ""
    return told[: _LONGEST - len(more)] + more
