"""Controller of the slices that lead Services to wakers; the leader runs it.

A Service is due when an owner's wish, the Service, one of our slices or the set of wakers changes, and again after some
seconds while it has slices, because a waker may die without a sign. Each pass finds the next steps
(`core/waking/steps.py`), writes them, and asks wakers whether they listen. Slices hold all that has to survive this
process; what is remembered here are answers of probes and since when things have been so, which a new leader finds
out again. Members are scaled to 0 once `sleep_obstacle` is "": the slices come first.

In: `wishes.py`, `caches.py`. Next: `environments/waking/settling.py`, which asks before members are put to sleep.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, texts_at
from keda_py.clock import Clock
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.waking.rules import LABEL, SERVICE_LABEL, WakeState
from keda_py.core.waking.services import WakeService
from keda_py.core.waking.slices import SliceSeen, WakeWish, stored_wish
from keda_py.core.waking.steps import (
    DeleteSlice,
    Steps,
    WriteSlice,
    may_go,
    next_steps,
    sleep_obstacle,
)
from keda_py.errors import AlreadyExists, ConfigError, Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import ENDPOINT_SLICES, SERVICES, Obj, Selection
from keda_py.operator.controller.work_queue import DueQueue
from keda_py.operator.waking.caches import UNDATED, OwnWrites, Proposals, WakingCaches
from keda_py.operator.waking.coverage import Coverage, CoverageReader, covered_by, is_shown
from keda_py.operator.waking.probing import ask_waker
from keda_py.operator.waking.progress import AGAIN_SECONDS, SOON_SECONDS, Progress
from keda_py.operator.waking.wishes import OwnerWish, Wishes

ALIVE_SECONDS, ALIVE_PROBES = 2.0, 3
"""Between two probes that a waker is alive, on a few of its Services: one that dies without a sign leaves all slices
within five seconds, at a cost that does not grow with the Services."""
FAILED_SECONDS = 5.0
"""Pause after a write that the API server refused."""
MOST_PORTS_OF_NAMESPACE = 250
"""Ports of wakers for one namespace, of the cluster's 10 000: no tenant takes those of the others."""
CROWDED_SECONDS = 60.0
"""Until a Service for which there was no port is looked at again."""
_WAKER, _THROUGH = "Waker", "Through"
"""Kinds of keys in the work queue beside Services: wakers by address, and Services to ask a waker through."""

Exists = Callable[[str], bool]
"""Whether an owner of this uid exists."""
log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Waking:
    """`notify` is called with the uid of each owner for which something may have changed."""

    client: KubeClient
    clock: Clock
    caches: WakingCaches
    exists: Exists
    wishes: Wishes = field(default_factory=Wishes)
    on_report: Callable[[str, str], Awaitable[None]] | None = None
    """Called with the namespace of a slice and the report of a request that a waker has written into it."""
    _progress: dict[ObjectKey, Progress] = field(default_factory=dict)
    _proposed: Proposals = field(default_factory=Proposals)
    _written: OwnWrites = field(default_factory=OwnWrites)
    _queue: DueQueue | None = None
    _notify: list[Callable[[str], None]] = field(default_factory=list)
    _synced: bool = False

    def begin(self) -> None:
        """Forget what owners wanted in an earlier term: each speaks again as it is looked at."""
        self.wishes = Wishes()

    async def run(self) -> None:
        """Keep all slices right until cancelled."""
        await self.caches.wait_synced()
        with ExitStack() as stack:
            self._queue = DueQueue(self.clock, self._work)
            self._progress.clear()
            self._proposed, self._written = Proposals(), OwnWrites()
            self._synced = True
            try:
                for informer, hear in (
                    (self.caches.services, self._on_service),
                    (self.caches.slices, self._on_slice),
                    (self.caches.wakers, self._on_wakers),
                ):
                    stack.callback(informer.subscribe(hear))
                for wish in self.wishes:
                    self._tell(wish.owner.uid)
                await self._queue.run()
            finally:
                self._queue, self._synced = None, False

    def subscribe(self, notify: Callable[[str], None]) -> Callable[[], None]:
        """Call `notify` with the uid of an owner whose Services have changed; the returned function ends that."""
        self._notify.append(notify)
        return partial(self._notify.remove, notify)

    def want(self, uid: str, wish: OwnerWish | None) -> None:
        """Note what an owner wants now; None: nothing."""
        known = self.wishes.has_spoken(uid)
        before = self.wishes.put(uid, wish)
        if before == wish and known:
            return
        if wish is not None and wish.state is WakeState.ASLEEP and (before is None or before.state is not wish.state):
            self._restart(wish)
        self._add_all(before)
        self._add_all(wish)
        if not known:  # slices of an earlier process may be about Services that are not wanted any more
            for one in self.caches.all_slices():
                if one.owner_uid == uid:
                    self._add(_key(one.namespace, one.service))

    def _restart(self, wish: OwnerWish) -> None:
        """Begin the wait for slices anew: what was seen during an earlier sleep or wake says nothing about this one."""
        for service in covered_by(wish, self.caches):
            if (progress := self._progress.get(_key(service.namespace, service.name))) is not None:
                progress.restart(self.clock.monotonic())

    def forget(self, uid: str) -> None:
        """Forget an owner that is gone: its slices go."""
        if self.wishes.has_spoken(uid):
            self.want(uid, None)
            self.wishes.drop(uid)

    def sleep_obstacle(self, wish: OwnerWish) -> str:
        """Say why the members of an owner may not be scaled to 0 yet; "" if they may."""
        for service in covered_by(wish, self.caches):
            if service.obstacle is not None:
                continue
            # From now on it is waited for, also where the slices cannot be watched.
            now = self.clock.monotonic()
            self._progress.setdefault(_key(service.namespace, service.name), Progress(since=now))
            if found := self._obstacle(service, wish):
                return f"Service {service.name}: {found}"
        return ""

    def coverage(self, wish: OwnerWish) -> Coverage:
        """Return what the owner's status says."""
        return CoverageReader(self.caches, self.wishes, self._problem_of).read(wish)

    def _problem_of(self, service: WakeService) -> str:
        progress = self._progress.get(_key(service.namespace, service.name))
        return progress.problem if progress is not None else ""

    def _obstacle(self, service: WakeService, wish: OwnerWish) -> str:
        now = self.clock.monotonic()
        progress = self._progress.get(_key(service.namespace, service.name)) or Progress(since=now)
        readiness = progress.readiness(now, len(self.caches.ready_wakers), known=self._synced)
        return sleep_obstacle(readiness, require=wish.spec.require_waker)

    async def _work(self, key: ObjectKey) -> None:
        """Do the next steps for one Service, or look after one waker; an error is logged and tried again."""
        try:
            if key.kind == _WAKER:
                await self._check_alive(key)
            elif key.kind == _THROUGH:
                await self._look_through(key)
            else:
                await self._pass(key)
        except (Conflict, AlreadyExists, NotFound) as error:
            # Our cache is behind, or another client has the name: its watch makes the Service due, or time does.
            log.debug("slice changed meanwhile", extra=key.log_fields | {"error": str(error)})
            self._note_problem(key, str(error) if isinstance(error, AlreadyExists) else "")
            self._add(key, AGAIN_SECONDS if isinstance(error, AlreadyExists) else SOON_SECONDS)
        except KubeError as error:
            log.warning("slice was not written", extra=key.log_fields | {"error": str(error)})
            self._note_problem(key, f"its EndpointSlice cannot be written: {error}")
            self._add(key, FAILED_SECONDS)
        except Exception:  # one bad object does not affect the other Services
            log.exception("service failed", extra=key.log_fields)
            self._add(key, AGAIN_SECONDS)

    async def _check_alive(self, key: ObjectKey) -> None:
        """Take a waker for dead that answers for none of some Services: one alone may just have lost its slice."""
        if all(one.address != key.name for one in self.caches.ready_wakers):
            return
        known = (progress.known(key.name) for progress in list(self._progress.values()))
        probes = list(islice((one for one in known if one is not None), ALIVE_PROBES))
        if probes:  # else the next Service that is led to it makes it due again
            self._add(key, ALIVE_SECONDS)
        for _ in range(2):
            pods = await asyncio.gather(*(ask_waker(one.address, one.port, one.service_uid) for one in probes))
            if not probes or any(pod == one.pod for pod, one in zip(pods, probes, strict=True)):
                return
        log.warning("waker does not answer, taken out of all slices", extra={"waker": probes[0].pod})
        for service, progress in self._progress.items():
            if progress.fail(key.name):
                self._add(service)

    async def _look_through(self, key: ObjectKey) -> None:
        """Ask for a waker through the Service. Not part of a pass: a pod that reads on without an answer takes a
        second, and meanwhile a waker may leave, or a request come.
        """
        service_key = _key(key.namespace, key.name)
        service, owner = self.caches.service(key.namespace, key.name), self._owner(service_key)
        progress = self._progress.get(service_key)
        if service is None or owner is None or progress is None:
            return
        await progress.look_through(service, frozenset(one.pod for one in self.caches.ready_wakers))
        self._tell_changes(service_key, service, owner)

    async def _pass(self, key: ObjectKey) -> None:
        await self._take_reports(key)
        service, owner = self.caches.service(key.namespace, key.name), self._owner(key)
        name, slices = (key.namespace, key.name), self.caches.slices_of(key.namespace, key.name)
        if self._written.are_pending(name, slices, self.clock.monotonic()):
            self._add(key, SOON_SECONDS)
            return
        self._proposed.drop(name)
        wish = await self._wish(key, service, owner, slices)
        steps = await self._ask(key, service, wish, slices)
        if owner != self._owner(key):
            # It has spoken, or wants something else, since this pass began to wait: what follows from its old wish
            # would for example delete the slices of an owner that has just begun to fall asleep.
            self._add(key)
            return
        progress = self._progress.get(key)
        if progress is not None:  # before the writes: nothing falls asleep because of what they take away
            progress.show(self.clock.monotonic(), shown=steps.shown)
        await self._write(name, steps)
        if service is None or wish is None or progress is None:
            if progress is None or not progress.problem:
                self._progress.pop(key, None)
            else:
                self._add(key, CROWDED_SECONDS)
        else:
            if progress.shown_at is not None and not progress.through:
                self._add(ObjectKey(_THROUGH, key.namespace, key.name))
            self._add(key, progress.pause(self.clock.monotonic()))
        if service is not None and owner is not None:
            self._tell_changes(key, service, owner)

    async def _take_reports(self, key: ObjectKey) -> None:
        for one in self.caches.slices_of(key.namespace, key.name):
            if one.request and self.on_report is not None:  # before it is taken off: a kill in between asks again
                await self.on_report(one.namespace, one.request)

    async def _ask(
        self, key: ObjectKey, service: WakeService | None, wish: WakeWish | None, slices: list[SliceSeen]
    ) -> Steps:
        """Return the next steps, after asking the wakers that can have heard of the slices."""
        steps, progress = self._steps(key, service, wish, slices), self._progress.get(key)
        if progress is None or not steps.probes:
            return steps
        await progress.ask(steps.probes, self.clock.monotonic())
        for address in {one.address for one in steps.probes}:
            self._add(ObjectKey(_WAKER, "", address), ALIVE_SECONDS)
        return self._steps(key, service, wish, slices)

    def _owner(self, key: ObjectKey) -> OwnerWish | None:
        """Return what the owner of a Service wants now; None without one."""
        service = self.caches.service(key.namespace, key.name)
        return None if service is None else self.wishes.of(service)

    def _tell_changes(self, key: ObjectKey, service: WakeService, owner: OwnerWish) -> None:
        """Make an owner due once what it may do, or what its status says, has changed."""
        progress = self._progress.get(key) or Progress(since=0.0)
        told = (is_shown(service, self.caches), progress.problem, service.obstacle or self._obstacle(service, owner))
        if told != progress.told:
            progress.told = told
            self._tell(owner.owner.uid)

    def _steps(
        self, key: ObjectKey, service: WakeService | None, wish: WakeWish | None, slices: list[SliceSeen]
    ) -> Steps:
        progress = self._progress.get(key) or Progress(since=0.0)
        claimed = partial(self._claimed, (key.namespace, key.name))
        steps = next_steps(service, wish, slices, self.caches.ready_wakers, progress.answered, claimed)
        if not slices and steps.ports:  # before anything is waited for: the next Service shall find it
            self._proposed.put((key.namespace, key.name), frozenset(one.port for one in steps.ports))
        return steps

    def _claimed(self, service: tuple[str, str], port: int) -> tuple[str, str] | None:
        """Return the age of the oldest slice of another Service that claims a port; a proposed one is the youngest."""
        found = self.caches.claimed(service, port)
        return UNDATED if found is None and self._proposed.has_other(service, port) else found

    def _wish_of_silent_owner(self, service: WakeService, slices: Iterable[SliceSeen]) -> WakeWish | None:
        """Return what a slice says for an owner that has not spoken in this term; None if all owners want nothing.

        An owner may be silent for long: its manifest cannot be read, or it is held back. Its slice stays meanwhile, but
        not the addresses of wakers that died: a pod of another namespace may get such an address. No waker listens for
        a slice that cannot be read, so it counts as no wish.
        """
        for one in slices:
            if not self.wishes.has_spoken(one.owner_uid) and self.exists(one.owner_uid):
                with suppress(ConfigError):
                    return stored_wish(one, service)
        return None

    async def _wish(
        self, key: ObjectKey, service: WakeService | None, owner: OwnerWish | None, slices: list[SliceSeen]
    ) -> WakeWish | None:
        """Return what is wanted now: an owner that is awake wants no new slice, and the old ones for a grace."""
        if service is not None and owner is None and (kept := self._wish_of_silent_owner(service, slices)) is not None:
            self._progress.setdefault(key, Progress(since=self.clock.monotonic()))
            return kept
        if service is None or owner is None or (owner.state is not WakeState.ASLEEP and not slices):
            return None
        now = self.clock.monotonic()
        progress = self._progress.setdefault(key, Progress(since=now))
        if not slices and not self._has_room(key.namespace, len(service.ports)):
            progress.problem = f"the namespace has {MOST_PORTS_OF_NAMESPACE} ports of wakers, which is the most"
            return None
        if owner.state is not WakeState.FORWARDING:
            progress.forwarding_at = None
            return owner.of(service)
        progress.forwarding_at = now if progress.forwarding_at is None else progress.forwarding_at
        waited = now - progress.forwarding_at
        if may_go(owner.state, waited, 0) or (
            may_go(owner.state, waited, 1) and may_go(owner.state, waited, await self._ready_endpoints(service))
        ):
            return None
        return owner.of(service)

    def _has_room(self, namespace: str, ports: int) -> bool:
        """Return whether the namespace may have these ports as well."""
        taken = self.caches.ports_in(namespace) + self._proposed.ports_in(namespace)
        return taken + ports <= MOST_PORTS_OF_NAMESPACE

    async def _ready_endpoints(self, service: WakeService) -> int:
        """Count the ready endpoints of its own slices: one read for each wake, since no watch tells them."""
        selection = Selection(labels=f"{SERVICE_LABEL}={service.name},!{LABEL}")
        found = await self.client.list(ENDPOINT_SLICES, service.namespace, selection)
        endpoints = (one for each in found for one in maps_at(each, "endpoints"))
        return sum(map_at(one, "conditions").get("ready") is not False for one in endpoints)

    async def _write(self, service: tuple[str, str], steps: Steps) -> None:
        for write in steps.writes:
            match write:
                case DeleteSlice(seen=seen):
                    path = ENDPOINT_SLICES.named(seen.namespace, seen.name)
                    await self.client.delete(path, uid=seen.uid)
                    log.info("slice removed", extra={"namespace": seen.namespace, "slice": seen.name})
                case WriteSlice(body=body, version=""):
                    stored = await self.client.create(ENDPOINT_SLICES, body)
                    self._written.note(service, stored, self.clock.monotonic())
                    log.info("slice proposed", extra=_about(body))
                case WriteSlice(body=body, version=version):
                    meta = body["metadata"]
                    path = ENDPOINT_SLICES.named(meta["namespace"], meta["name"])
                    stored = await self.client.update(path, {**body, "metadata": {**meta, "resourceVersion": version}})
                    self._written.note(service, stored, self.clock.monotonic())
                    log.info("slice written", extra=_about(body) | {"wakers": len(body["endpoints"])})

    def _note_problem(self, key: ObjectKey, problem: str) -> None:
        if (progress := self._progress.get(key)) is not None:
            progress.problem = problem

    def _on_service(self, old: Obj | None, new: Obj | None) -> None:
        live = new or old or {}
        self._add(_key(namespace_of(live), name_of(live)))
        for wish in self.wishes.within(namespace_of(live)):
            self._tell(wish.owner.uid)

    def _on_slice(self, old: Obj | None, new: Obj | None) -> None:
        live = new or old or {}
        self._add(_key(namespace_of(live), texts_at(live, "metadata", "labels").get(SERVICE_LABEL, "")))

    def _on_wakers(self, old: Obj | None, new: Obj | None) -> None:
        """A waker came or went: all Services that lead to wakers are due, and all owners that wait for one."""
        for address in {one.address for one in self.caches.ready_wakers}:
            self._add(ObjectKey(_WAKER, "", address))
        for one in self.caches.all_slices():
            self._add(_key(one.namespace, one.service))
        for wish in self.wishes:
            self._add_all(wish)
            self._tell(wish.owner.uid)

    def _add_all(self, wish: OwnerWish | None) -> None:
        if wish is not None:
            for service in covered_by(wish, self.caches):
                self._add(_key(service.namespace, service.name))

    def _add(self, key: ObjectKey, delay: float = 0.0) -> None:
        if self._queue is not None:
            self._queue.add(key, delay)

    def _tell(self, uid: str) -> None:
        for notify in tuple(self._notify):
            notify(uid)


def _key(namespace: str, name: str) -> ObjectKey:
    return ObjectKey(SERVICES.kind, namespace, name)


def _about(body: Obj) -> dict[str, object]:
    return {"namespace": body["metadata"]["namespace"], "slice": body["metadata"]["name"]}
