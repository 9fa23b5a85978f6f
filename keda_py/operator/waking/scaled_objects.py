"""ScaledObjects that requests wake, the leader's part: what they want of their Services, and requests for them.

A request is stored as an annotation of its ScaledObject, so that it reaches the replica that owns it, and is known
after a restart. From there on it is an ordinary activation: the object is reconciled and looked at.
"""

import asyncio
import logging
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta

from keda_py.apis.foreign import name_of, namespace_of, text_at
from keda_py.apis.parsing import parse_manifest
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.waking.requests import REQUESTED, WakeRequest, write_requested
from keda_py.core.waking.spec import WakeSpec
from keda_py.errors import ConfigError, NotFound
from keda_py.kube.resources import SCALED_OBJECTS, Obj, Resource
from keda_py.operator.cluster.caches import BY_TARGET, WORKLOADS, target_key
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.waking.request_triggers import RequestTriggers, has_request_trigger, is_stopped
from keda_py.operator.waking.waking import Waking
from keda_py.sdk.registry import wake_spec_of

_SHARE, _LEAST, _MOST = 10, timedelta(seconds=5), timedelta(minutes=1)
"""A later request is written after a tenth of `stay`, within these bounds: not one write a request."""
log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class ScaledObjectWakes:
    """`run` while this replica leads."""

    shared: Dependencies
    triggers: RequestTriggers
    waking: Waking
    _owners: set[str] = field(default_factory=set)
    """Uids of objects whose wishes are known, and of those whose slices an earlier leader has left."""

    async def run(self) -> None:
        """Keep the wishes of all ScaledObjects up to date until cancelled."""
        await self.waking.caches.wait_synced()
        cluster = self.triggers.cluster
        self._owners = {one.owner_uid for one in self.waking.caches.all_slices()}
        with ExitStack() as stack:
            stack.callback(cluster.scaled_objects.subscribe(self._on_object))
            for resource in WORKLOADS:
                hear = _OfWorkloads(self, resource).hear
                stack.callback(cluster.workloads[resource.plural].subscribe(hear))
            await asyncio.Event().wait()

    async def take(self, request: WakeRequest, name: str) -> None:
        """Store a request for the ScaledObject of this name. Raises KubeError."""
        live = self.triggers.cluster.scaled_objects.get(request.namespace, name)
        wake = None if live is None else self._wake_spec(live)
        if live is None or wake is None:
            return
        now, last = self.shared.clock.now(), self.triggers.last_request(request.namespace, name)
        if last is not None and now - last < min(max(wake.stay / _SHARE, _LEAST), _MOST):
            return
        change = {"metadata": {"annotations": {REQUESTED: write_requested(request, now)}}}
        try:
            await self.shared.client.patch(SCALED_OBJECTS.named(request.namespace, name), change)
        except NotFound:
            return
        if last is None or now - last >= wake.stay:
            self.shared.events.record(live, "Normal", "WokenByRequest", f"a request to {request.title} wakes it")
            log.info("woken by a request", extra={"namespace": request.namespace, "service": request.service})

    def review(self, live: Obj) -> None:
        """Note what an object wants now."""
        uid = text_at(live, "metadata", "uid")
        wake = self._wake_spec(live)
        wish = None if wake is None or is_stopped(live) else self.triggers.wish(live, wake)
        if wish is None and uid not in self._owners:
            return
        self._owners.add(uid)
        self.waking.want(uid, wish)

    def _wake_spec(self, live: Obj) -> WakeSpec | None:
        if not has_request_trigger(live):
            return None
        try:
            return wake_spec_of(parse_manifest(ScaledObject, live).spec.triggers)
        except ConfigError:
            return None  # its own status says why

    def _on_object(self, old: Obj | None, new: Obj | None) -> None:
        if new is not None:
            self.review(new)
        if old is not None and (new is None or text_at(new, "metadata", "uid") != text_at(old, "metadata", "uid")):
            self.waking.forget(text_at(old, "metadata", "uid"))
            self._owners.discard(text_at(old, "metadata", "uid"))


@dataclass(frozen=True, slots=True)
class _OfWorkloads:
    """Listener to one kind of workloads; each change concerns the objects that scale it."""

    wakes: ScaledObjectWakes
    resource: Resource

    def hear(self, old: Obj | None, new: Obj | None) -> None:
        live = new or old or {}
        key = target_key(namespace_of(live), self.resource.api_version, self.resource.kind, name_of(live))
        for scaled_object in self.wakes.triggers.cluster.scaled_objects.by_index(BY_TARGET, key):
            self.wakes.review(scaled_object)
