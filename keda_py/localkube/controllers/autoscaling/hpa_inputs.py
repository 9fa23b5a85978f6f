"""The inputs of one HPA sync: the target's scale, its metrics, its pods and their usage.

A `SyncFailure` ends the sync early, in the real controller's words. Called by `horizontal.py`; shapes come from
`hpa_wire.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from keda_py.core.hpa.conditions import HpaCondition, HpaEvent, able_to_scale, scaling_active
from keda_py.core.hpa.controller import MetricSample, report_failed_scale
from keda_py.core.hpa.custom import ObjectSample, PodsSample
from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.pods import Pod
from keda_py.core.hpa.resources import ResourceSample
from keda_py.core.hpa.wire import read_target
from keda_py.errors import ConfigError, KedaPyError
from keda_py.localkube.apiserver.scales import scale_of
from keda_py.localkube.controllers.autoscaling.hpa_wire import SOURCES, read_pod
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.controllers.shared.recorder import EventText
from keda_py.localkube.controllers.shared.usage import Usage
from keda_py.localkube.model.selectors import parse_labels
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import StatusError

SOURCE = "horizontal-pod-autoscaler"
GOT_SCALE = able_to_scale("SucceededGetScale", "the HPA controller was able to get the target's current scale")


class ExternalMetricsSource(Protocol):
    """Provides External metrics."""

    async def sample(self, namespace: str, source: Obj) -> ExternalSample:
        """Query an `external` metric source: its values, or an error."""
        ...


class CustomMetricsSource(Protocol):
    """Provides Pods and Object metrics."""

    async def pods(self, namespace: str, selector: str, source: Obj) -> PodsSample:
        """Query a `pods` metric source: a value for each pod, or an error."""
        ...

    async def object(self, namespace: str, source: Obj) -> ObjectSample:
        """Query an `object` metric source: its value, or an error."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetScale:
    """The scale target at the start of the sync."""

    resource: Resource
    obj: Obj
    replicas: int
    status_replicas: int
    selector: str


class SyncFailure(KedaPyError):
    """A sync that cannot go on; conditions and Event are still written."""

    def __init__(self, event: HpaEvent, *conditions: HpaCondition) -> None:
        super().__init__(event.message)
        self.event, self.conditions = event, conditions


class _Selectors:
    """The HPAs by the selector of their target: two on the same pods would work against each other, so both stop."""

    def __init__(self) -> None:
        self._claims: dict[Key, str] = {}
        self._claimants: dict[Key, dict[str, None]] = {}

    def claim(self, key: Key, selector: str) -> list[str]:
        """Note this HPA's selector; returns the names of all HPAs of the namespace with the same one."""
        namespace, name = key
        if self._claims.get(key) != selector:
            self.drop(key)
            self._claims[key] = selector
            self._claimants.setdefault((namespace, selector), {})[name] = None
        return sorted(self._claimants[(namespace, selector)])

    def drop(self, key: Key) -> None:
        selector = self._claims.pop(key, None)
        if selector is not None:
            self._claimants[(key[0], selector)].pop(key[1], None)


class HpaInputs:
    """Reads the inputs of every HPA of the cluster."""

    def __init__(
        self, context: ControllerContext, external: ExternalMetricsSource, custom: CustomMetricsSource, usage: Usage
    ) -> None:
        self._context, self._usage = context, usage
        self._external, self._custom = external, custom
        self._pod = context.resource("v1", "Pod")
        self._selectors = _Selectors()

    def forget(self, key: Key) -> None:
        self._selectors.drop(key)

    def target(self, hpa: Obj) -> TargetScale:
        """Read the target's /scale. Raises SyncFailure if it cannot be read."""
        reference, namespace = hpa["spec"]["scaleTargetRef"], hpa["metadata"]["namespace"]
        try:
            resource = self._resource_of(reference)
            obj = self._context.store.get(resource, namespace, reference["name"])
            scale = scale_of(resource, obj)
        except StatusError as error:
            condition, event = report_failed_scale(str(error))
            raise SyncFailure(event, condition) from None
        status = scale.get("status") or {}
        return TargetScale(
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

    async def samples(self, hpa: Obj, target: TargetScale) -> tuple[MetricSample, ...]:
        """Query each metric of the spec, in their order, as the real controller does."""
        metrics = hpa["spec"].get("metrics") or ()
        return tuple([await self._sample(hpa["metadata"]["namespace"], target.selector, each) for each in metrics])

    async def _sample(self, namespace: str, selector: str, metric: Obj) -> MetricSample:
        source = metric[SOURCES[metric["type"]]]
        match metric["type"]:
            case "External":
                return await self._external.sample(namespace, source)
            case "Pods":
                return await self._custom.pods(namespace, selector, source)
            case "Object":
                return await self._custom.object(namespace, source)
            case _:
                target, container = read_target(source["target"]), source.get("container", "")
                return ResourceSample(resource=source["name"], target=target, container=container)

    def pods(self, hpa: Obj, target: TargetScale) -> tuple[Pod, ...]:
        """The pods of the target's selector, each with its usage."""
        namespace, text = hpa["metadata"]["namespace"], target.selector
        self._check_selector(hpa, text)
        selector = parse_labels(text)
        equal = {
            r.key: next(iter(r.values)) for r in selector.requirements if r.operator == "in" and len(r.values) == 1
        }
        # The index knows pods by equal labels: a list of the namespace at each sync of each HPA would be quadratic.
        found = self._labelled(namespace, equal) if equal else self._context.store.list(self._pod, namespace)
        return tuple(self._read(pod) for pod in found if selector.matches(pod))

    def _check_selector(self, hpa: Obj, text: str) -> None:
        if not text:
            message = "the HPA target's scale is missing a selector"
            event = HpaEvent("Warning", "SelectorRequired", "selector is required")
            raise SyncFailure(event, GOT_SCALE, scaling_active("InvalidSelector", message, active=False))
        namespace, name = hpa["metadata"]["namespace"], hpa["metadata"]["name"]
        others = self._selectors.claim((namespace, name), text)
        if len(others) > 1:
            listed = " ".join(f"{namespace}/{other}" for other in others)
            message = f"pods by selector {text} are controlled by multiple HPAs: [{listed}]"
            event = HpaEvent("Warning", "AmbiguousSelector", message)
            raise SyncFailure(event, GOT_SCALE, scaling_active("AmbiguousSelector", message, active=False))

    def _labelled(self, namespace: str, labels: Mapping[str, str]) -> list[Obj]:
        places = self._context.index.pods(namespace, labels)
        return [pod for place in places if (pod := self._context.at(place)) is not None]

    def _read(self, pod: Obj) -> Pod:
        try:
            return read_pod(pod, self._usage.of(pod))
        except ConfigError as error:
            # Without a sample the arithmetic treats the pod like one that a metrics server failed to scrape.
            text = EventText(type="Warning", reason="InvalidUsage", message=str(error), source=SOURCE)
            self._context.events.record(pod, text)
            return read_pod(pod, None)
