"""The HPA controller: each period it reads scales and metrics, lets `core/hpa/controller.py` decide, and writes.

No arithmetic here: `hpa_inputs.py` provides the inputs, this file carries out the verdict in the order and with the
texts of the real controller. Each HPA has a timer of its own, as there; nothing else makes it due.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace

from keda_py.clock import Timer
from keda_py.core.hpa.behavior import HpaHistory
from keda_py.core.hpa.conditions import HpaEvent, ZeroMark
from keda_py.core.hpa.controller import (
    ControllerOptions,
    HpaSpec,
    MetricSample,
    SyncResult,
    needs_metrics,
    record_rescale,
    report_failed_rescale,
    sync,
)
from keda_py.core.hpa.pods import Pod, ScaleTarget
from keda_py.core.hpa.wire import read_spec, read_zero_mark
from keda_py.localkube.apiserver.scales import with_replicas
from keda_py.localkube.controllers.autoscaling.hpa_inputs import SOURCE, HpaInputs, SyncFailure, TargetScale
from keda_py.localkube.controllers.autoscaling.hpa_wire import build_status, set_conditions
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.controllers.shared.recorder import EventText
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj
from keda_py.schema.status import StatusError

log = logging.getLogger(__name__)

HPAS = ("autoscaling", "horizontalpodautoscalers")
SYNC_SECONDS = 15.0


class HorizontalPodAutoscalers:
    """Syncs every HPA while `run` is running."""

    storages = (HPAS,)

    def __init__(
        self,
        context: ControllerContext,
        inputs: HpaInputs,
        options: ControllerOptions,
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        self._context, self._inputs = context, inputs
        self._options, self._sync_seconds = options, sync_seconds
        self._hpas = context.resource("autoscaling/v2", "HorizontalPodAutoscaler")
        self._histories: dict[str, HpaHistory] = {}
        self._timers: dict[Key, Timer] = {}
        self._syncing: set[Key] = set()
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Own the syncs' tasks until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.close()  # a timer that fires while the group ends could start no task

    def keys_of(self, event: Event) -> Iterable[Key]:
        """New HPAs; the state of deleted ones is dropped."""
        if event.type == DELETED:
            self._histories.pop(event.object["metadata"]["uid"], None)
            self._inputs.forget((event.namespace, event.name))
            timer = self._timers.pop((event.namespace, event.name), None)
            if timer is not None:
                timer.cancel()
        return ((event.namespace, event.name),) if event.previous is None else ()

    def sync(self, key: Key) -> None:
        """Start the timer of a new HPA: its first sync is one period away."""
        self._arm(key)

    def close(self) -> None:
        """Cancel all further syncs."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._tasks = None

    def _arm(self, key: Key) -> None:
        if self._context.store.find(self._hpas, *key) is not None:
            self._timers[key] = self._context.clock.call_later(self._sync_seconds, lambda: self._due(key))

    def _due(self, key: Key) -> None:
        # The next period begins now, however long this sync takes: as in the real controller.
        self._timers.pop(key, None)
        self._arm(key)
        # A sync may outlast its period, since metrics come by HTTPS: skip a period, or two syncs would write at once.
        if self._tasks is not None and key not in self._syncing:
            self._syncing.add(key)
            self._tasks.create_task(self._sync_one(key))

    async def _sync_one(self, key: Key) -> None:
        hpa = self._context.store.find(self._hpas, *key)
        with self._context.clock.busy():
            try:
                if hpa is not None and "deletionTimestamp" not in hpa["metadata"]:
                    await self._reconcile(hpa)
            except Exception:  # one bad HPA does not affect the others
                log.exception("hpa sync failed", extra={"namespace": key[0], "hpa": key[1]})
            finally:
                self._syncing.discard(key)

    async def _reconcile(self, hpa: Obj) -> None:
        try:
            verdict = await self._decide(hpa)
        except SyncFailure as failure:
            self._record_events(hpa, (failure.event,))
            newest = self._newest(hpa)
            if newest is not None:
                before = newest.get("status") or {}
                conditions = set_conditions(before.get("conditions"), failure.conditions, self._context.now())
                self._context.set_status(self._hpas, newest, {**before, "conditions": conditions})
            return
        self._record_events(hpa, verdict.events)
        newest = self._newest(hpa)
        if newest is not None:
            self._histories[hpa["metadata"]["uid"]] = verdict.history
            self._context.set_status(self._hpas, newest, build_status(newest, verdict, self._context.now()))

    async def _decide(self, hpa: Obj) -> SyncResult:
        """Read the inputs, let the core decide, and write the scale if it changes."""
        spec, target = read_spec(hpa), self._inputs.target(hpa)
        # The mark of a zero is read from the status, as there: it outlives the controller.
        remembered = self._histories.get(hpa["metadata"]["uid"], HpaHistory())
        history = replace(remembered, scaled_to_zero=read_zero_mark(hpa) is ZeroMark.SET)
        metrics: tuple[MetricSample, ...] = ()
        pods: tuple[Pod, ...] = ()
        if needs_metrics(spec, target.replicas, history, self._options):
            metrics = await self._inputs.samples(hpa, target)
            pods = self._inputs.pods(hpa, target)
        shown = ScaleTarget(
            namespace=hpa["metadata"]["namespace"],
            replicas=target.replicas,
            status_replicas=target.status_replicas,
            pods=pods,
        )
        verdict = sync(spec, shown, metrics, history, self._options, self._context.clock.now())
        return self._rescale(spec, verdict, target) if verdict.rescale else verdict

    def _rescale(self, spec: HpaSpec, verdict: SyncResult, target: TargetScale) -> SyncResult:
        """Write the scale; a refusal becomes a condition and an Event, and the next sync tries again."""
        scale = {"metadata": target.obj["metadata"], "spec": {"replicas": verdict.desired}}
        try:
            changed = with_replicas(target.resource, target.obj, scale)
            self._context.store.update(target.resource, changed, subresource="scale")
        except StatusError as error:
            return report_failed_rescale(verdict, str(error))
        return record_rescale(spec, verdict, self._options, self._context.clock.now())

    def _record_events(self, hpa: Obj, events: Iterable[HpaEvent]) -> None:
        for event in events:
            text = EventText(type=event.type, reason=event.reason, message=event.message, source=SOURCE)
            self._context.events.record(hpa, text)

    def _newest(self, hpa: Obj) -> Obj | None:
        """The current HPA, None if it was deleted or replaced while metrics were asked for."""
        metadata = hpa["metadata"]
        found = self._context.store.find(self._hpas, metadata["namespace"], metadata["name"])
        return found if found is not None and found["metadata"]["uid"] == metadata["uid"] else None
