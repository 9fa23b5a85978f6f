"""ScaledObjects that requests wake, as every replica sees them: the last request, and whether one would arrive.

The leader writes slices (`scaled_objects.py`); the replica that owns a ScaledObject scales it. Both read the same
caches, so nothing has to be told between them but what is stored: the condition Active with the reason WakersPending
asks for slices, a slice of state Asleep with endpoints answers, and an annotation says when the last request came.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from keda_py.apis.foreign import map_at, maps_at, text_at, texts_at
from keda_py.clock import Clock
from keda_py.core.conditions import read_condition
from keda_py.core.decision import Reason
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.waking.requests import REQUESTED, read_requested
from keda_py.core.waking.rules import WakeState, read_rules
from keda_py.core.waking.services import WakeService
from keda_py.core.waking.slices import SliceSeen, WakeOwner, WakersWait
from keda_py.core.waking.spec import WakeSpec
from keda_py.core.waking.steps import THROUGH_SECONDS
from keda_py.errors import ConfigError
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.cluster.caches import POD_LABELS, WORKLOADS, Caches
from keda_py.operator.waking.caches import WakingCaches
from keda_py.operator.waking.wishes import OwnerWish
from keda_py.sdk.registry import wake_spec_of, wakes_on_request

_STOPPED = ("AsleepBy", "HeldBy")
_MOST_TOLD = 200


@dataclass(slots=True, kw_only=True)
class RequestTriggers:
    """Reads `cluster` and `waking`; `wait` is asked before a workload goes to 0."""

    clock: Clock
    cluster: Caches
    waking: WakingCaches
    _waits: dict[ObjectKey, tuple[float, datetime]] = field(default_factory=dict)
    """Since when the Services of an object lead to wakers, and until when it waits for the nodes to follow."""

    def last_request(self, namespace: str, name: str) -> datetime | None:
        """Return when a request was seen last, as stored."""
        live = self.cluster.scaled_objects.get(namespace, name) or {}
        return read_requested(texts_at(live, "metadata", "annotations").get(REQUESTED, ""))

    def obstacle(self, namespace: str, name: str, wake: WakeSpec) -> str:
        """Say why no request can wake it now, with a remedy; "" if requests can."""
        if not (self.waking.services.synced and self.waking.wakers.synced and self.waking.slices.synced):
            return "Services and wakers are not known yet; the operator needs the rights of the chart's waker.enabled"
        live = self.cluster.scaled_objects.get(namespace, name)
        if live is None:
            return f"there is no ScaledObject {name}; requests wake ScaledObjects only, so use another trigger"
        if (wish := self.wish(live, wake, WakeState.ASLEEP)) is None:
            target = text_at(live, "spec", "scaleTargetRef", "name")[:_MOST_TOLD]
            return f"{target} is no Deployment, StatefulSet or ReplicaSet; requests wake only these"
        if not self.waking.ready_wakers:
            return "no waker is ready, so requests would be lost; look at the pods of the chart's waker"
        return self._obstacle_of_services(wish)

    def wait(self, spec: ScalingSpec) -> WakersWait | None:
        """Say why its workload may not go to 0 yet; None if it may, or if it does not depend on requests."""
        wake = wake_spec_of(spec.triggers)
        if wake is None:
            return None
        if because := self.obstacle(spec.namespace, spec.name, wake) or self._unled(spec, wake):
            self.end_wait(spec.key)
            return WakersWait(because=because)
        now, span = self.clock.monotonic(), timedelta(seconds=THROUGH_SECONDS)
        since, until = self._waits.setdefault(spec.key, (now, self.clock.now() + span))
        if now - since >= THROUGH_SECONDS:
            return None
        return WakersWait(because="nodes may not have followed its new EndpointSlices yet", until=until)

    def end_wait(self, key: ObjectKey) -> None:
        """Forget a wait: the next one begins anew."""
        self._waits.pop(key, None)

    def services(self, wish: OwnerWish) -> list[WakeService]:
        """Return the Services that it covers."""
        return [one for one in self.waking.services_in(wish.namespace) if wish.covers(one) and not one.deleting]

    def wish(self, live: Obj, wake: WakeSpec, state: WakeState | None = None) -> OwnerWish | None:
        """Return what it wants of its Services, in this state or the one it is in; None if it cannot be woken."""
        workload, meta = self._workload(live), map_at(live, "metadata")
        if workload is None:
            return None
        return OwnerWish(
            owner=WakeOwner(
                api_version=SCALED_OBJECTS.api_version,
                kind=SCALED_OBJECTS.kind,
                name=text_at(meta, "name"),
                uid=text_at(meta, "uid"),
            ),
            namespace=text_at(meta, "namespace"),
            spec=wake,
            state=_state_of(live, workload) if state is None else state,
            pods=frozenset({frozenset(texts_at(workload, POD_LABELS).items())}),
        )

    def _obstacle_of_services(self, wish: OwnerWish) -> str:
        covered = {one.name: one for one in self.services(wish)}
        for name in wish.spec.names:
            if name not in covered:
                exists = self.waking.service(wish.namespace, name) is not None
                problem = "selects none of its pods" if exists else "does not exist"
                return f"Service {name} {problem}; correct services"
            if (found := covered[name].obstacle) is not None:
                return f"Service {name} cannot wake it: {found.because}; take it out of services"
        if any(one.obstacle is None for one in covered.values()):
            return ""
        return "no Service that can be woken selects its pods; create one, or use another trigger"

    def _unled(self, spec: ScalingSpec, wake: WakeSpec) -> str:
        """Name the first Service that does not lead to wakers yet; "" if all do."""
        live = self.cluster.scaled_objects.get(spec.namespace, spec.name)
        wish = None if live is None else self.wish(live, wake, WakeState.ASLEEP)
        if wish is None:
            return "it is gone"
        unled = (one.name for one in self.services(wish) if one.obstacle is None and not self._leads(one, wish))
        name = next(unled, "")
        return name and f"Service {name} does not lead to wakers yet"

    def _leads(self, service: WakeService, wish: OwnerWish) -> bool:
        """Return whether each family of a Service has a ready waker, by a slice that stays while it sleeps."""
        ready = self.waking.ready_wakers
        families = {one.family for one in ready} & set(service.addresses)
        led = {
            one.family
            for one in self.waking.slices_of(service.namespace, service.name)
            if one.owner_uid == wish.owner.uid and one.endpoints & ready and _is_asleep(one, service)
        }
        return bool(families) and families <= led

    def _workload(self, live: Obj) -> Obj | None:
        reference = map_at(live, "spec", "scaleTargetRef")
        version, kind = text_at(reference, "apiVersion") or "apps/v1", text_at(reference, "kind") or "Deployment"
        for resource in WORKLOADS:
            if (resource.api_version, resource.kind) == (version, kind):
                cache = self.cluster.workloads[resource.plural]
                return cache.get(text_at(live, "metadata", "namespace"), text_at(reference, "name"))
        return None


def _is_asleep(seen: SliceSeen, service: WakeService) -> bool:
    """Return whether the leader keeps the slice: while pods are ready it is about to delete it."""
    try:
        rules = read_rules(seen.rules)
    except ConfigError:
        return False
    return rules.state is WakeState.ASLEEP and rules.service_uid == service.uid


def _state_of(live: Obj, workload: Obj) -> WakeState:
    active = read_condition(_conditions(live), "Active")
    if not workload["spec"]["replicas"] or active.reason == Reason.WAKERS_PENDING.value:
        return WakeState.ASLEEP
    return WakeState.FORWARDING if workload["status"]["ready"] else WakeState.WAKING


def has_request_trigger(live: Obj) -> bool:
    """Return whether a ScaledObject has a trigger by which requests wake it."""
    return any(wakes_on_request(text_at(trigger, "type")) for trigger in maps_at(live, "spec", "triggers"))


def is_stopped(live: Obj) -> bool:
    """Return whether a request cannot wake it: it is paused, deleted, or kept asleep by what rules it."""
    conditions = _conditions(live)
    if "deletionTimestamp" in map_at(live, "metadata") or read_condition(conditions, "Paused").status == "True":
        return True
    return read_condition(conditions, "Active").reason.startswith(_STOPPED)


def _conditions(live: Obj) -> list[Obj]:
    return list(_listed(live))


def _listed(live: Obj) -> Iterator[Obj]:
    for one in map_at(live, "status").get("conditions") or ():
        if isinstance(one, dict):
            yield one
