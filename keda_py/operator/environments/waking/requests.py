"""Wakes that wakers ask for: each becomes an Override Awake of the Environment whose Service was asked.

A request comes by HTTPS (`/wake`) or, where the operator cannot be reached, in an annotation of the slice. From the
Override on it is an ordinary activation: the same decision, budget, waves and record. The leader alone does this.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.waking import WakeOnRequestStatus, WakeRequestStatus
from keda_py.apis.parsing import parse_manifest
from keda_py.core.environment.overrides import OverrideSpec, TargetKey
from keda_py.core.environment.request_overrides import LongerOverride, NewOverride, override_for
from keda_py.core.environment.spec import build_environment
from keda_py.core.values.times import write_time
from keda_py.core.waking.requests import WakeRequest, read_report
from keda_py.core.waking.rules import WakeState, read_rules
from keda_py.errors import AlreadyExists, ConfigError, KubeError, NotFound
from keda_py.external_metrics.authorised_request import ApiResponse, AuthorisedRequest
from keda_py.kube.client import KubeClient
from keda_py.kube.events import EventRecorder
from keda_py.kube.resources import ENVIRONMENTS, OVERRIDES, SCALED_OBJECTS, Obj
from keda_py.kube.status import patch_status
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.override_cache import Overriding
from keda_py.operator.waking.caches import WakingCaches
from keda_py.serving.statuses import bad_request, not_found, unavailable
from keda_py.serving.wake_endpoint import is_report

BEHIND_SECONDS: Final = 2.0
"""For so long after a write the cache may not show the Override yet, and another request writes none."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Asked:
    """The last request for an Environment; `wakes` is 1 if it has woken it, 0 if it made the stay longer."""

    last: WakeRequestStatus
    at: datetime
    wakes: int = 0


@dataclass(slots=True, kw_only=True)
class WakeRequests:
    """`client` writes while this replica leads."""

    client: KubeClient
    events: EventRecorder
    slices: WakingCaches
    caches: EnvironmentCaches
    overriding: Overriding
    leads: Callable[[], bool]
    take_scaled_object: Callable[[WakeRequest, str], Awaitable[None]] | None = None
    """Called with a request for the ScaledObject of this name."""
    _asked: dict[str, _Asked] = field(default_factory=dict)
    _turns: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def answer(self, question: AuthorisedRequest) -> ApiResponse:
        """Answer a waker. Raises StatusError 400, 404, and 503 where the wake cannot be asked for now."""
        if not is_report(question.asked):
            return ApiResponse(body=b"{}")  # a waker keeps its connection warm
        if not self.leads():
            raise unavailable("this replica does not hold the Lease, and the one that does cannot be asked")
        try:
            request = read_report(question.asked.body)
            found = await self.take(request)
        except ConfigError as error:
            raise bad_request(str(error)) from None
        except KubeError as error:
            raise unavailable(f"the wake cannot be asked for now: {error}") from None
        if not found:
            raise not_found()
        return ApiResponse(body=b"{}", status=202)

    async def take(self, request: WakeRequest) -> bool:
        """Ask for the wake of what has the Service; False if no slice of ours leads it to wakers. Raises KubeError."""
        for seen in self.slices.slices_of(request.namespace, request.service):
            try:
                rules = read_rules(seen.rules)
            except ConfigError:
                continue  # it is put right as soon as its Service is looked at
            if rules.owner_kind == ENVIRONMENTS.kind:
                live = self.caches.environments.get(request.namespace, rules.owner_name)
                # A request during the wake makes the stay longer; one that is forwarded already asks for nothing.
                if live is not None and rules.state is not WakeState.FORWARDING:
                    # Several wakers ask at once, and again after a second. While the API server takes longer than that,
                    # each would write an Override of its own.
                    async with self._turns.setdefault(live["metadata"]["uid"], asyncio.Lock()):
                        await self._wake(request, live)
                return True
            if rules.owner_kind == SCALED_OBJECTS.kind and self.take_scaled_object is not None:
                await self.take_scaled_object(request, rules.owner_name)
                return True
        return False

    async def take_report(self, namespace: str, report: str) -> None:
        """Take what a waker has written into a slice of this namespace; an unreadable report asks for nothing."""
        try:
            request = read_report(report)
        except ConfigError as error:
            log.warning("report of a request dropped", extra={"namespace": namespace, "error": str(error)})
            return
        # A slice speaks for its own namespace, whatever its annotation says.
        await self.take(replace(request, namespace=namespace))

    def add_news(self, uid: str, stored: WakeOnRequestStatus) -> WakeOnRequestStatus:
        """Add the last request for an Environment, and the wakes that its status does not count yet."""
        asked = self._asked.get(uid)
        if asked is None or stored.last_request == asked.last:
            return stored
        return stored.model_copy(update={"last_request": asked.last, "wakes": stored.wakes + asked.wakes})

    async def _wake(self, request: WakeRequest, live: Obj) -> None:
        clock, uid = self.client.clock, live["metadata"]["uid"]
        try:
            spec, now = build_environment(parse_manifest(Environment, live)), clock.now()
        except ConfigError:
            return  # its own status says why
        before = self._asked.get(uid)
        if spec.wake is None or (before is not None and (now - before.at).total_seconds() < BEHIND_SECONDS):
            return
        whole = {"apiVersion": ENVIRONMENTS.api_version, "kind": ENVIRONMENTS.kind, **live}
        found = override_for(request, whole, spec.wake.stay, await self._ruling(live), now)
        match found:
            case NewOverride(body=body):
                await self._create(body, request.title)
                note = f"a request to {request.title} wakes it until {body['spec']['until']}"
                self.events.record(live, "Normal", "WokenByRequest", note)
                log.info("woken by a request", extra={"namespace": request.namespace, "service": request.service})
            case LongerOverride(name=name):
                await self._extend(request.namespace, name, found)
            case None:
                return
        woken = int(isinstance(found, NewOverride))
        self._asked[uid] = _Asked(request.status(now, found.until), clock.now(), woken)

    async def _ruling(self, live: Obj) -> OverrideSpec | None:
        meta = live["metadata"]
        overrides = await self.overriding.of_namespace(meta["namespace"])
        return overrides.verdict([TargetKey(ENVIRONMENTS.kind, meta["name"])], self.client.clock.now()).rules

    async def _create(self, body: Obj, title: str) -> None:
        try:
            made = await self.client.create(OVERRIDES, body)
        except AlreadyExists:
            return  # another leader was asked for the same in this second
        try:
            # Its status says by which request, since anybody who may create Overrides may annotate them.
            await patch_status(self.client, OVERRIDES, made, {**(made.get("status") or {}), "request": title})
        except KubeError as error:  # it wakes nevertheless, and its reason names the request
            fields = {"namespace": made["metadata"]["namespace"], "override": made["metadata"]["name"]}
            log.warning("request of an override was not recorded", extra=fields | {"error": str(error)})

    async def _extend(self, namespace: str, name: str, found: LongerOverride) -> None:
        change = {"spec": {"until": write_time(found.until)}}
        try:
            await self.client.patch(OVERRIDES.named(namespace, name), change)
        except NotFound:
            return  # it was ended by hand meanwhile; the next request asks again

    def forget(self, uid: str) -> None:
        self._asked.pop(uid, None)
        self._turns.pop(uid, None)
