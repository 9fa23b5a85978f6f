"""Membership of the active replicas: a slot that is taken and renewed, and the share of all objects that follows
from it.

With `--shards N` there are N slots, each a Lease; the main Lease (`lease.py`) still decides which replica does what
only one may do, and how many slots there are. The times are a leader's, shorter: a replica that could not renew within
the deadline writes nothing, and another replica vacates its slot after its duration, measured by its own clock. Each
renewal reads the main Lease first: no replica writes for longer than the deadline after the main Lease has changed.
`core/sharding/share.py` decides when objects may be taken over; `quiet` tells that no write about objects that were
given up is under way.
"""

import asyncio
import logging
import random
from collections.abc import Callable

from keda_py.clock import SystemClock
from keda_py.core.sharding.share import Share, Slot, owner_of
from keda_py.errors import AlreadyExists, Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.leases.lease import RELEASE_SECONDS, Term
from keda_py.kube.leases.lease_record import Holder, LeaseSpec, check_lease, holder_of, seconds_of, shards_of
from keda_py.kube.leases.slots import held_slot, read_slot, slot_spec, vacant_slot
from keda_py.kube.resources import LEASES, Obj
from keda_py.kube.transport import Request

log = logging.getLogger(__name__)

Leases = dict[int, Obj | None]
# Divisor of the pause while the replicas have not agreed yet, because objects may be without an owner until then.
HURRY = 5


class Membership:
    """Slot of one process. Run `run` in a task; `owns` and `is_live` are checked before each write.

    The subscriber is called on the loop whenever our share changes, before any other replica can know of it.
    """

    def __init__(self, client: KubeClient, main: LeaseSpec, quiet: Callable[[], bool]) -> None:
        self._client, self._main, self._quiet = client, main, quiet
        self._specs = {number: slot_spec(main, number) for number in range(main.shards)}
        self._times = self._specs[0]
        self._wall = SystemClock()
        self._address = ""
        self._share: Share | None = None
        self._slots: dict[int, Slot] = {}
        self._seen: dict[int, tuple[object, float]] = {}
        self._renewed_at = float("-inf")
        self._failing = self._waiting = False
        self._changed: Callable[[], None] = lambda: None

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever the share changes."""
        self._changed = changed

    @property
    def is_live(self) -> bool:
        """Return whether we may write at all: false from the renew deadline on, whatever hangs."""
        return self._share is not None and _now() - self._renewed_at < self._times.renew_deadline

    @property
    def identity(self) -> str:
        """Return the name of this replica as a holder."""
        return self._main.identity

    @property
    def share(self) -> Share | None:
        """Return our share of the objects; None without a slot."""
        return self._share

    def owns(self, key: str) -> bool:
        """Return whether an object is ours to work on now."""
        return self._share is not None and self.is_live and self._share.owns(key)

    def holder_of(self, key: str) -> Holder | None:
        """Return the other replica that owns an object; None if it is ours, or unknown."""
        view = frozenset(number for number, slot in self._slots.items() if slot.address)
        number = owner_of(key, view)
        if number is None or self._slots[number].holder == self._main.identity:
            return None
        return Holder(identity=self._slots[number].holder, address=self._slots[number].address)

    async def run(self, term: Term, address: str = "") -> None:
        """Wait for a slot, run `term` while one is ours, and repeat, until cancelled. `address` is where we serve."""
        self._address = address
        while True:
            number = await self._campaign()
            names = {"slot": number, "identity": self._main.identity}
            log.info("active", extra=names)
            async with asyncio.TaskGroup() as tasks:
                working = tasks.create_task(_work(term))
                await self._hold()
                self._adopt(None)
                log.warning("slot lost, nothing is written until one is ours again", extra=names)
                working.cancel()
            await asyncio.sleep(self._times.retry_period)  # as between two terms of a leader

    async def release(self) -> None:
        """Vacate our slot for another replica to take at once; call it after `run` was cancelled and the last write."""
        # Whether it was live is asked before the share is dropped, and the share is dropped before the request: no
        # write of ours may be sent while another replica can take the slot already.
        share, live = self._share, self.is_live
        self._adopt(None)
        if share is None or not live:
            return
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                while not await self._vacate_own(self._specs[share.me]):
                    log.debug("slot changed while it was released, retrying")
        except (KubeError, TimeoutError) as error:
            log.warning("slot not released, it expires by itself", extra={"error": str(error)})

    async def _vacate_own(self, slot: LeaseSpec) -> bool:
        """Try to vacate our slot; False if it changed meanwhile, as by a renewal that arrives after it was given up."""
        lease = await self._read(slot)
        if lease is None or read_slot(lease).holder != self._main.identity:
            return True
        return await self._write(lease, vacant_slot(lease, slot, self._wall.now()))

    async def _campaign(self) -> int:
        """Wait for a slot and return its number."""
        while True:
            try:
                number = await self._try()
            except KubeError as error:
                self._note_trouble(error)
            else:
                self._failing = False
                if number is not None:
                    return number
            await asyncio.sleep(self._times.retry_period * random.uniform(0.8, 1.2))

    async def _try(self) -> int | None:
        """Try once to take a slot that is free, or was ours before."""
        started, leases = _now(), await self._read_all()
        if leases is None:
            self._note_wait()
            return None
        self._waiting = False
        # Our own slot from before comes first: objects stay with the slot, so that none moves when a container restarts
        # in its pod.
        for number in sorted(leases, key=lambda number: self._slots[number].holder != self._main.identity):
            lease, holder = leases[number], self._slots[number].holder
            if holder and holder != self._main.identity and not self._has_expired(number, lease):
                continue
            # The view is empty: until our first round has read all slots, no other replica can agree with us on a view,
            # so that no object is taken over by one that we do not act on yet.
            body = held_slot(lease, self._specs[number], self._address, self._wall.now(), frozenset())
            if await self._write(lease, body):
                self._renewed_at = started
                self._adopt(Share(me=number))
                return number
        return None

    async def _hold(self) -> None:
        """Renew until the deadline passes without success, the slot is another replica's, or sharding has ended."""
        while True:
            try:
                # From the last renewal, over the round and the pause: a request that hangs must not keep us a member,
                # because another replica vacates our slot soon after that deadline.
                async with asyncio.timeout_at(self._renewed_at + self._times.renew_deadline):
                    if not await self._round():
                        return
                    await asyncio.sleep(self._pause())
            except TimeoutError:
                return

    def _pause(self) -> float:
        calm = self._share is not None and self._share.is_settled
        return self._times.retry_period / (1 if calm else HURRY)

    async def _round(self) -> bool:
        """Read, vacate expired slots, give up objects, renew; return False if the slot is not ours any more."""
        try:
            return await self._renew()
        except KubeError as error:
            self._note_trouble(error)
            # One failed round is not the end of a membership: the deadline in `_hold` decides, as for the leader's
            # Lease.
            return True

    async def _renew(self) -> bool:
        started, leases = _now(), await self._read_all()
        share = self._share
        if leases is None or share is None or self._slots[share.me].holder != self._main.identity:
            return False
        # Before the share is computed: the objects of a replica that has died get new owners in this round, and not in
        # the next one.
        await self._vacate(leases, share.me)
        stored, share = self._slots[share.me].view, share.after(self._slots)
        # Adopted before it is written: what the new view gives to other replicas is given up before they can read of
        # it. What it gives to us is ours once all of them have published the same view (`Share.after`).
        self._adopt(share)
        # Until our last write about given-up objects has ended, the old view stays on the wire: the new owners wait for
        # it.
        view = share.view if self._quiet() else stored
        body = held_slot(leases[share.me], self._specs[share.me], self._address, self._wall.now(), view)
        if await self._write(leases[share.me], body):
            # The time before the request, as in `lease.py`: other replicas count from when they saw the write, which is
            # later.
            self._renewed_at, self._failing = started, False
            self._adopt(share.confirmed(view))
        return True

    async def _vacate(self, leases: Leases, me: int) -> None:
        """Vacate the slots whose Leases have expired."""
        for number, lease in leases.items():
            if number == me or not self._slots[number].holder or not self._has_expired(number, lease):
                continue
            if await self._write(lease, vacant_slot(lease, self._specs[number], self._wall.now())):
                fields = {"slot": number, "holder": self._slots[number].holder}
                log.warning("a replica has not renewed its slot, its objects get new owners", extra=fields)
                self._slots[number] = Slot()

    def _has_expired(self, number: int, lease: Obj | None) -> bool:
        """Return whether it is unchanged for its duration as measured here: other machines' clocks are not trusted."""
        seconds = self._times.duration if lease is None else max(seconds_of(lease, self._times), self._times.duration)
        return _now() - self._seen[number][1] >= seconds

    def _adopt(self, share: Share | None) -> None:
        """Replace our share; the subscriber is called before any other replica can know of it."""
        if share == self._share:
            return
        before, self._share = self._share, share
        if before is None or share is None or (before.views, before.agreed) != (share.views, share.agreed):
            self._changed()
        if share is not None and share.is_settled and not (before is not None and before.is_settled):
            log.info("share agreed on", extra={"slots": sorted(share.view), "epoch": share.epoch})

    async def _read_all(self) -> Leases | None:
        """Read every slot's Lease; None if the main Lease does not allow our slots. Raises KubeError."""
        main, *leases = await asyncio.gather(self._read(self._main), *map(self._read, self._specs.values()))
        found: Leases = dict(enumerate(leases))
        for number, lease in found.items():
            meta = (lease or {}).get("metadata") or {}
            version = (meta.get("uid"), meta.get("resourceVersion"))
            # By uid and version: a Lease that was deleted and made again is another one, whose duration begins anew.
            if number not in self._seen or self._seen[number][0] != version:
                self._seen[number] = (version, _now())
        self._slots = {number: read_slot(lease) for number, lease in found.items()}
        return found if shards_of(main) == self._main.shards else None

    def _note_wait(self) -> None:
        if not self._waiting:
            fields = {"lease": self._main.name, "shards": self._main.shards}
            log.info("waiting until the holder of the lease sets this number of shards", extra=fields)
        self._waiting = True

    def _note_trouble(self, error: KubeError) -> None:
        level = logging.DEBUG if self._failing else logging.WARNING
        log.log(level, "slots cannot be read or written", extra={"lease": self._main.name, "error": str(error)})
        self._failing = True

    async def _read(self, spec: LeaseSpec) -> Obj | None:
        try:
            return await self._send("GET", LEASES.named(spec.namespace, spec.name).path, spec.name, None)
        except NotFound:
            return None

    async def _write(self, lease: Obj | None, body: Obj) -> bool:
        """Write over the version that was read; False if another was faster, or the answer shows another holder."""
        meta = body["metadata"]
        try:
            if lease is None:
                answer = await self._send("POST", LEASES.collection(meta["namespace"]), meta["name"], body)
            else:
                answer = await self._send("PUT", LEASES.named(meta["namespace"], meta["name"]).path, meta["name"], body)
        except (AlreadyExists, Conflict, NotFound):
            return False
        # Only what the API server says it has stored counts: an admission webhook may change what was sent.
        return holder_of(answer) == holder_of(body)

    async def _send(self, method: str, path: str, name: str, body: Obj | None) -> Obj:
        request = Request(method=method, path=path, body=body, timeout=self._times.request_seconds, resource="leases")
        return check_lease(await self._client.send(request), name)


async def _work(term: Term) -> None:
    await term()


def _now() -> float:
    return asyncio.get_running_loop().time()
