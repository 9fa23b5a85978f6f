"""Controller of CloudEventSources and ClusterCloudEventSources: forwards Events to them, and writes condition Active.

It subscribes to all Events that the leader records (`kube/events.py`) in any namespace; `core/cloud_events.py` decides
which of them become CloudEvents, and for which sources: a CloudEventSource, which a tenant may write, gets those of its
own namespace alone. Next: `delivery.py`, one queue a source. As in KEDA a source counts as active until shown
otherwise. It has no finalizer; one that KEDA left is removed. Behaviour reference, section 16.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from keda_py.apis.cloud_event_source import EventSubscription
from keda_py.core.cloud_events import TYPES, CloudEvent, is_wanted, reaches
from keda_py.core.conditions import ConditionValue, with_condition
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.informers.cache import key_of
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import CLUSTER_CLOUD_EVENT_SOURCES, Obj
from keda_py.kube.status import patch_status
from keda_py.operator.cloud_events.delivery import Delivery
from keda_py.operator.cloud_events.destinations import Destinations, read_spec
from keda_py.operator.controller.finalizer import remove_finalizer
from keda_py.operator.controller.retries import Retries
from keda_py.operator.controller.work_queue import DueQueue
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies

DRAIN_SECONDS = 2.0
ACTIVE = ConditionValue("True", "CloudEventSourceActive", "Is configured to send events to the configured destination")
FAILED = ConditionValue("False", "CloudEventSourceFailed", "Failed to send events to the configured destination")

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Source:
    """An open source. `version` is the uid and generation that its sink was opened for."""

    delivery: Delivery
    running: asyncio.Task[None]
    subscription: EventSubscription | None = None
    version: tuple[str, int] | None = None
    problem: str = ""


class CloudEventSources:
    """`run` while this replica leads, before any Event is recorded; `drain` last. `everywhere`: sources get all
    namespaces' events.

    With several active replicas each sends the Events that it records itself; `tells`: this replica writes the
    statuses.
    """

    def __init__(
        self,
        parts: ScaledObjectDependencies,
        destinations: Destinations,
        *,
        everywhere: bool,
        tells: Callable[[], bool],
    ) -> None:
        self._parts, self._destinations = parts, destinations
        self._shared = parts.shared
        self._everywhere, self._tells = everywhere, tells
        self._queue = DueQueue(parts.shared.clock, self._work)
        self._sources: dict[ObjectKey, _Source] = {}
        self._retries = Retries(
            interrupted="work on cloudeventsource was interrupted", failed="work on cloudeventsource failed"
        )
        parts.shared.events.subscribe(self._on_event)
        destinations.subscribe(self._on_credentials)

    async def run(self) -> None:
        """Send until cancelled. Events that an earlier run left in a queue are sent too: no other component knows of
        them.
        """
        self._queue = DueQueue(self._shared.clock, self._work)
        caches = self._parts.caches
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for key, source in self._sources.items():
                source.running, source.version = self._start(key, source.delivery), None
            with ExitStack() as subscriptions:
                for informer in (caches.event_sources, caches.cluster_event_sources):
                    subscriptions.callback(informer.subscribe(partial(self._on_source, informer.spec.resource.kind)))
                for key in [key for key in self._sources if self._live(key) is None]:
                    self._forget(key)
                await self._queue.run()

    def take_over(self) -> None:
        """Make all sources due after this replica became the leader, which writes their statuses."""
        for informer in (self._parts.caches.event_sources, self._parts.caches.cluster_event_sources):
            for live in informer.objects():
                self._queue.add(ObjectKey.of(informer.spec.resource.kind, live))

    async def drain(self) -> None:
        """Try the remaining events once, for DRAIN_SECONDS at most; call it when `run` has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS), asyncio.TaskGroup() as tasks:
                for source in self._sources.values():
                    tasks.create_task(source.delivery.drain())
        if left := sum(len(source.delivery) for source in self._sources.values()):
            log.warning("cloudevents left unsent", extra={"events": left})

    def _on_event(self, regarding: Obj, reason: str, note: str) -> None:
        """Queue the CloudEvent of a Kubernetes Event for each source that wants it; never waits."""
        kind = TYPES.get((regarding.get("kind", ""), reason))
        if kind is None or not self._sources:
            return
        meta = regarding["metadata"]
        event = CloudEvent(
            id=str(uuid4()),
            type=kind,
            time=self._shared.clock.now(),
            kind=regarding["kind"],
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            reason=reason,
            message=note,
        )
        for key, source in self._sources.items():
            reaches_source = self._everywhere or reaches(event, key.namespace)
            if reaches_source and is_wanted(kind, source.subscription):
                source.delivery.put(event)

    def _on_source(self, kind: str, old: Obj | None, new: Obj | None) -> None:
        """Open or drop a source. Events are queued from its first sight on, before its destination is known to be
        usable.
        """
        live = new or old or {}
        key = ObjectKey.of(kind, live)
        if new is None or new["metadata"].get("deletionTimestamp"):
            self._forget(key)
        else:
            source = self._sources.get(key) or self._add(key)
            try:
                source.subscription = read_spec(live).event_subscription
            except ConfigError:
                log.debug("subscription cannot be read", extra=_about(live))  # reconcile writes it into the condition
        if new is not None:
            self._queue.add(key)

    def _on_credentials(self, key: ObjectKey) -> None:
        source = self._sources.get(key)
        if source is not None:
            source.version = None
            self._queue.add(key)

    def _add(self, key: ObjectKey) -> _Source:
        metrics = self._shared.instruments.cloud_events
        delivery = Delivery(key, self._shared.clock, metrics, lambda: self._queue.add(key))
        source = self._sources[key] = _Source(delivery=delivery, running=self._start(key, delivery))
        return source

    def _start(self, key: ObjectKey, delivery: Delivery) -> asyncio.Task[None]:
        return self._tasks.create_task(delivery.run(), name=f"cloudevents for {key}")

    def _forget(self, key: ObjectKey) -> None:
        source = self._sources.pop(key, None)
        if source is not None:
            source.running.cancel()
            source.delivery.close()
            self._destinations.forget(key)

    async def _work(self, key: ObjectKey) -> None:
        live = self._live(key)
        if live is None:
            self._retries.forget(key)
            return
        with self._retries.attempt(self._queue, key, _about(live)):
            if not live["metadata"].get("deletionTimestamp"):
                await self._reconcile(key, live)
            elif self._tells():
                await remove_finalizer(self._shared.client, self._informer(key).spec.resource, live)

    async def _reconcile(self, key: ObjectKey, live: Obj) -> None:
        """Open the sink again if the spec has changed, then write whether it works."""
        source = self._sources.get(key)
        if source is None:
            return
        version = (live["metadata"]["uid"], live["metadata"].get("generation", 1))
        if source.version != version:
            source.version = version  # set before the await: a change meanwhile makes it be opened once more
            await self._connect(source, live)
        if not self._tells():
            return
        status = live.get("status") or {}
        conditions = with_condition(status.get("conditions") or (), "Active", _condition(source))
        resource = self._informer(key).spec.resource
        written = await patch_status(self._shared.client, resource, live, {**status, "conditions": conditions})
        if written is not None and (why := source.problem or source.delivery.failure):
            self._shared.events.record(live, "Warning", FAILED.reason, f"{FAILED.message}: {why}")

    async def _connect(self, source: _Source, live: Obj) -> None:
        source.problem = ""
        try:
            source.delivery.connect(await self._destinations.open(live))
        except ConfigError as error:
            log.warning("destination cannot be used", extra=_about(live) | {"error": str(error)})
            source.delivery.connect(None)
            source.problem = str(error)
        except Exception:
            # The work queue tries again: without a version the next attempt opens the sink.
            source.version = None
            raise

    def _informer(self, key: ObjectKey) -> Informer:
        caches = self._parts.caches
        is_cluster_wide = key.kind == CLUSTER_CLOUD_EVENT_SOURCES.kind
        return caches.cluster_event_sources if is_cluster_wide else caches.event_sources

    def _live(self, key: ObjectKey) -> Obj | None:
        return self._informer(key).get(key.namespace, key.name)


def _condition(source: _Source) -> ConditionValue:
    """The Active condition: KEDA's text for a failing sink, with the reason for one that cannot be used at all."""
    if source.problem:
        return ConditionValue(FAILED.status, FAILED.reason, f"{FAILED.message}: {source.problem}")
    return FAILED if source.delivery.failure else ACTIVE


def _about(live: Obj) -> dict[str, str]:
    namespace, name = key_of(live)
    return {"kind": live["kind"], "namespace": namespace, "source": name}
