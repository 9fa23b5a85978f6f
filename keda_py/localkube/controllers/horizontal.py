"""The HPA controller: each sync period it reads the scale, asks for the metrics, lets `core/hpa.py` decide, and writes.

No arithmetic here: this file brings the core its inputs and carries out its verdict, in the order and the words of the
real controller. Every HPA has a timer of its own, as there; nothing else makes it due.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from keda_py.clock import Timer
from keda_py.core.behavior import History
from keda_py.core.hpa import (
    ControllerOptions,
    HpaSpec,
    MetricSample,
    Verdict,
    record_rescale,
    report_failed_rescale,
    report_failed_scale,
    sync,
)
from keda_py.core.hpa_conditions import HpaCondition, HpaEvent, scaling_active
from keda_py.core.hpa_external import ExternalSample
from keda_py.core.hpa_pods import Pod, ScaleTarget
from keda_py.core.hpa_resources import ResourceSample
from keda_py.errors import ConfigError, KedaPyError
from keda_py.localkube.controllers.context import ControllerContext
from keda_py.localkube.controllers.hpa_wire import (
    SOURCES,
    read_pod,
    read_spec,
    read_target,
    written_conditions,
    written_status,
)
from keda_py.localkube.controllers.loop import Key
from keda_py.localkube.controllers.recorder import Remark
from keda_py.localkube.resources import Obj, Resource
from keda_py.localkube.scales import scale_of, scaled
from keda_py.localkube.selectors import LabelSelector
from keda_py.localkube.status import StatusError
from keda_py.localkube.subscriptions import DELETED, Event
from keda_py.localkube.usage import Usage

log = logging.getLogger(__name__)

HPAS = ("autoscaling", "horizontalpodautoscalers")
SOURCE = "horizontal-pod-autoscaler"
SYNC_SECONDS = 15.0


class AsksExternalMetrics(Protocol):
    """Where External metrics come from."""

    async def sample(self, namespace: str, source: Obj) -> ExternalSample:
        """The values of an `external` metric source, or why there are none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scaled:
    """The scale target as it was when the sync began."""

    resource: Resource
    obj: Obj
    replicas: int
    status_replicas: int
    selector: str


class _Stop(KedaPyError):
    """The sync ends here: what is left is to write the condition and the Event."""

    def __init__(self, condition: HpaCondition, event: HpaEvent) -> None:
        super().__init__(condition.message)
        self.condition, self.event = condition, event


class HorizontalPodAutoscalers:
    """Syncs every HPA; `run` must be running."""

    storages = (HPAS,)

    def __init__(
        self,
        context: ControllerContext,
        external: AsksExternalMetrics,
        usage: Usage,
        options: ControllerOptions,
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        self._context, self._external, self._usage = context, external, usage
        self._options, self._sync_seconds = options, sync_seconds
        self._hpas = context.resource("autoscaling/v2", "HorizontalPodAutoscaler")
        self._pod = context.resource("v1", "Pod")
        self._histories: dict[str, History] = {}
        self._timers: dict[Key, Timer] = {}
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Keep the syncs in one group until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            await asyncio.get_running_loop().create_future()

    def concerned(self, event: Event) -> Iterable[Key]:
        """HPAs that come and go."""
        if event.type == DELETED:
            self._histories.pop(event.object["metadata"]["uid"], None)
            timer = self._timers.pop((event.namespace, event.name), None)
            if timer is not None:
                timer.cancel()
        return ((event.namespace, event.name),) if event.previous is None else ()

    def sync(self, key: Key) -> None:
        """A new HPA: its first sync is one period away."""
        self._arm(key)

    def close(self) -> None:
        """Sync nothing any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._tasks = None

    def _arm(self, key: Key) -> None:
        if self._context.store.find(self._hpas, *key) is not None:
            self._timers[key] = self._context.clock.call_later(self._sync_seconds, lambda: self._due(key))

    def _due(self, key: Key) -> None:
        self._timers.pop(key, None)
        self._arm(key)
        if self._tasks is not None:
            self._tasks.create_task(self._sync_one(key))

    async def _sync_one(self, key: Key) -> None:
        with self._context.clock.busy():
            hpa = self._context.store.find(self._hpas, *key)
            if hpa is None or "deletionTimestamp" in hpa["metadata"]:
                return
            try:
                await self._reconcile(hpa)
            except _Stop as stop:
                self._say(hpa, stop.event)
                self._write_condition(hpa, stop.condition)
            except Exception:
                log.exception("hpa sync failed", extra={"namespace": key[0], "hpa": key[1]})

    async def _reconcile(self, hpa: Obj) -> None:
        uid = hpa["metadata"]["uid"]
        spec, target = read_spec(hpa), self._target(hpa)
        history, now = self._histories.get(uid, History()), self._context.clock.now
        metrics: tuple[MetricSample, ...] = ()
        pods: tuple[Pod, ...] = ()
        if needs_metrics(spec, target.replicas):
            metrics = await self._samples(hpa)
            pods = self._pods(hpa, target)
        shown = ScaleTarget(
            namespace=hpa["metadata"]["namespace"],
            replicas=target.replicas,
            status_replicas=target.status_replicas,
            pods=pods,
        )
        verdict = sync(spec, shown, metrics, history, self._options, now())
        if verdict.rescale:
            verdict = self._rescale(spec, verdict, target)
        self._histories[uid] = verdict.history
        self._report(hpa, verdict)

    def _target(self, hpa: Obj) -> _Scaled:
        reference, namespace = hpa["spec"]["scaleTargetRef"], hpa["metadata"]["namespace"]
        try:
            resource = self._resource_of(reference)
            obj = self._context.store.get(resource, namespace, reference["name"])
            scale = scale_of(resource, obj)
        except StatusError as error:
            raise _Stop(*report_failed_scale(str(error))) from None
        status = scale.get("status") or {}
        return _Scaled(
            resource=resource,
            obj=obj,
            replicas=scale["spec"].get("replicas", 0),
            status_replicas=status.get("replicas", 0),
            selector=status.get("selector", ""),
        )

    def _resource_of(self, reference: Obj) -> Resource:
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        resource = self._context.store.resources.of_kind(group, version, reference["kind"])
        if resource is None:
            message = f'no matches for kind "{reference["kind"]}" in group "{group}"'
            raise StatusError(404, "NotFound", message)
        return resource

    async def _samples(self, hpa: Obj) -> tuple[MetricSample, ...]:
        """One for each metric of the spec, asked in their order as the real controller does."""
        namespace = hpa["metadata"]["namespace"]
        samples: list[MetricSample] = []
        for metric in hpa["spec"].get("metrics") or ():
            kind = metric["type"]
            if kind == "External":
                samples.append(await self._external.sample(namespace, metric["external"]))
                continue
            if kind not in SOURCES:
                raise _unserved(kind)
            source = metric[SOURCES[kind]]
            target, container = read_target(source["target"]), source.get("container", "")
            samples.append(ResourceSample(resource=source["name"], target=target, container=container))
        return tuple(samples)

    def _pods(self, hpa: Obj, target: _Scaled) -> tuple[Pod, ...]:
        """What the target's selector finds, with what each pod uses."""
        text, namespace = target.selector, hpa["metadata"]["namespace"]
        if not text:
            message = "the HPA target's scale is missing a selector"
            condition = scaling_active("InvalidSelector", message, active=False)
            raise _Stop(condition, HpaEvent("Warning", "SelectorRequired", "selector is required"))
        selector = LabelSelector.parse(text)
        equal = {
            r.key: next(iter(r.values)) for r in selector.requirements if r.operator == "in" and len(r.values) == 1
        }
        found = self._labelled(namespace, equal) if equal else self._context.store.list(self._pod, namespace)
        return tuple(self._read(pod) for pod in found if selector.matches(pod))

    def _labelled(self, namespace: str, labels: Mapping[str, str]) -> list[Obj]:
        places = self._context.index.pods(namespace, labels)
        return [pod for place in places if (pod := self._context.at(place)) is not None]

    def _read(self, pod: Obj) -> Pod:
        try:
            return read_pod(pod, self._usage.of(pod))
        except ConfigError as error:
            self._say(pod, HpaEvent("Warning", "InvalidUsage", str(error)))
            return read_pod(pod, None)

    def _rescale(self, spec: HpaSpec, verdict: Verdict, target: _Scaled) -> Verdict:
        """Write the scale; a refusal is a condition and an Event, and is tried again at the next sync."""
        scale = {"metadata": target.obj["metadata"], "spec": {"replicas": verdict.desired}}
        try:
            changed = scaled(target.resource, target.obj, scale)
            self._context.store.update(target.resource, changed, subresource="scale")
        except StatusError as error:
            return report_failed_rescale(verdict, str(error))
        return record_rescale(spec, verdict, self._context.clock.now())

    def _report(self, hpa: Obj, verdict: Verdict) -> None:
        for event in verdict.events:
            self._say(hpa, event)
        newest = self._newest(hpa)
        if newest is not None:
            self._context.set_status(self._hpas, newest, written_status(newest, verdict, self._context.now()))

    def _write_condition(self, hpa: Obj, condition: HpaCondition) -> None:
        newest = self._newest(hpa)
        if newest is not None:
            status = newest.get("status") or {}
            rows = written_conditions(status.get("conditions"), (condition,), self._context.now())
            self._context.set_status(self._hpas, newest, {**status, "conditions": rows})

    def _say(self, about: Obj, event: HpaEvent) -> None:
        remark = Remark(type=event.type, reason=event.reason, message=event.message, source=SOURCE)
        self._context.events.record(about, remark)

    def _newest(self, hpa: Obj) -> Obj | None:
        """The HPA as it is now: it may have been written, or replaced, while metrics were asked."""
        metadata = hpa["metadata"]
        found = self._context.store.find(self._hpas, metadata["namespace"], metadata["name"])
        return found if found is not None and found["metadata"]["uid"] == metadata["uid"] else None


def needs_metrics(spec: HpaSpec, replicas: int) -> bool:
    """Whether the core will look at metrics: not at zero, nor outside the bounds, which decide alone."""
    return replicas > 0 and spec.min_replicas <= replicas <= spec.max_replicas


def _unserved(kind: str) -> _Stop:
    """Pods and Object metrics come from custom.metrics.k8s.io, which nobody serves here."""
    reason = f"FailedGet{kind}Metric"
    message = f"unable to fetch metrics from custom metrics API: no custom metrics API is served for {kind} metrics"
    condition = scaling_active(reason, f"the HPA was unable to compute the replica count: {message}", active=False)
    return _Stop(condition, HpaEvent("Warning", reason, message))
