"""Leader election on a Lease: who may write.

The PUT with resourceVersion is the fence between candidates; the deadlines run on the loop's time, so that a stepped
wall clock elects no replica, and another machine's clock is never compared with ours. Three numbers make it safe
(KEDA's defaults 15, 10 and 2 s):

    renewed ──────────── renew deadline ────────── lease duration
            we may write             no replica writes            another replica may take over

Every request here, and every write of a leader, takes less than duration minus deadline, so that nothing begun before
the deadline lands after the take-over; `KubeClient.guarded` asks `is_leader` as each write is sent.

A replica that has lost the Lease becomes a candidate again instead of ending as KEDA's does: it goes on serving, its
caches stay warm, and it is safe because nothing of the lost term is left to write. The term's work is cancelled, its
writes are refused from the deadline on, and the next term begins from the API as a new process would.

Every replica runs this; those that wait follow the Lease by a watch on its name, so that a released one is taken at
once, and know the holder's address from it.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable

from keda_py.clock import SystemClock
from keda_py.errors import Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.leases.lease_record import (
    PENDING,
    SHARDS_ANNOTATION,
    SLOT_SECONDS,
    Holder,
    LeaseSpec,
    check_lease,
    held,
    holder_of,
    is_newer,
    mark_for,
    released,
    seconds_of,
)
from keda_py.kube.resources import LEASES, Obj, Selection
from keda_py.kube.transport import Request

log = logging.getLogger(__name__)

RELEASE_SECONDS = 1.0
"""Who leaves does not wait longer for a server that is away."""

Term = Callable[[], Awaitable[None]]
"""What a leader does, until cancelled."""


class Election:
    """Run `watch` and `run` in tasks for the life of the process. `is_leader` is asked before each write."""

    def __init__(self, client: KubeClient, spec: LeaseSpec) -> None:
        if not spec.retry_period < spec.renew_deadline < spec.duration:
            raise ValueError(f"retry period < renew deadline < lease duration does not hold: {spec}")
        self._client, self._spec = client, spec
        self._path = LEASES.named(spec.namespace, spec.name)
        self._wall = SystemClock()
        self._address = ""
        self._lease: Obj | None = None
        self._seen_at = float("-inf")
        self._renewed_at = float("-inf")
        self._failing = self._leading = False
        self._other_holder, self._alone = asyncio.Event(), asyncio.Event()
        self._pending_since: float | None = None
        selection = Selection(fields=f"metadata.name={spec.name}")
        self._informer = Informer(
            client, InformerSpec(resource=LEASES, namespaces=(spec.namespace,), selection=selection)
        )
        self._informer.subscribe(self._hear)

    @property
    def identity(self) -> str:
        """Who we are in the Lease."""
        return self._spec.identity

    @property
    def is_leader(self) -> bool:
        """Whether we may write now: false from the renew deadline on, whatever hangs."""
        return self._leading and self._is_mine() and _now() - self._renewed_at < self._spec.renew_deadline

    @property
    def holder(self) -> Holder | None:
        """Who holds the Lease as far as we know; None while no replica does."""
        return holder_of(self._lease)

    async def watch(self) -> None:
        """Follow the Lease until cancelled. Where that is not allowed, `run` reads it every retry period anyway."""
        await self._informer.run()

    async def run(self, term: Term, address: str = "") -> None:
        """Until cancelled: wait for the Lease, do `term` while it is ours, begin again. `address` is where we serve."""
        self._address = address
        names = {"lease": self._spec.name, "identity": self._spec.identity}
        while True:
            await self._campaign()
            self._leading = True
            log.info("leading", extra=names)
            async with asyncio.TaskGroup() as tasks:
                working = tasks.create_task(self._work(term))
                await self._hold()
                self._leading = False
                log.warning("leadership lost, nothing is written until the lease is ours again", extra=names)
                working.cancel()
            # Whatever a server answers, terms do not follow each other faster than renewals would.
            await asyncio.sleep(self._spec.retry_period)

    async def _work(self, term: Term) -> None:
        """Once no replica is active any more because of what an earlier holder said of shards."""
        await self._alone.wait()
        await term()

    async def release(self) -> None:
        """Let the next replica lead at once; to be called when `run` has been cancelled, after the last write."""
        if not self.is_leader:
            return
        self._leading = False
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                try:
                    await self._give_back(self._lease)
                except Conflict:  # another client touched it, or a renewal arrived whose answer did not
                    await self._give_back(await self._read())
        except (KubeError, TimeoutError) as error:
            fields = {"error": str(error) or f"no answer within {RELEASE_SECONDS:g} s"}
            log.warning("lease not released, it expires by itself", extra=fields)

    async def _campaign(self) -> None:
        """Return once the Lease is ours."""
        self._pending_since = None
        self._alone.clear()
        while True:
            self._other_holder.clear()
            if await self._try():
                return
            await self._wait(self._until_next_try())

    async def _hold(self) -> None:
        """Renew until the deadline passes without success, or another replica holds the Lease."""
        while self._is_mine():
            self._other_holder.clear()
            try:
                async with asyncio.timeout_at(self._renewed_at + self._spec.renew_deadline):
                    await self._wait(self._spec.retry_period)
                    await self._try()
            except TimeoutError:
                return

    async def _wait(self, seconds: float) -> None:
        """Or until the holder is another one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._other_holder.wait()

    def _until_next_try(self) -> float:
        """The retry period, stretched by chance; sooner if the Lease runs out sooner."""
        pause = self._spec.retry_period * random.uniform(1.0, 2.2)
        if self._lease is None:
            return pause
        left = self._seen_at + seconds_of(self._lease, self._spec) - _now()
        return min(pause, left + 0.001) if left > 0 else pause

    async def _try(self) -> bool:
        """One attempt to take or renew; True when the Lease is ours now."""
        try:
            ours = (self._is_mine() and await self._renew()) or await self._take()
        except KubeError as error:
            level = logging.DEBUG if self._failing else logging.WARNING
            log.log(level, "lease cannot be read or written", extra={"lease": self._spec.name, "error": str(error)})
            self._failing = True
            return False
        self._failing = False
        return ours

    async def _renew(self) -> bool:
        """Write without reading first; False when another client touched the Lease in between."""
        try:
            return await self._write(self._lease)
        except (Conflict, NotFound):
            return False

    async def _take(self) -> bool:
        lease = await self._read()
        if lease is not None:
            self._observe(lease)
        known = lease or self._lease  # one that was deleted still has its holder, who makes it anew
        if known is not None and not (self._is_mine() or self._expired(known)):
            return False
        try:
            return await self._write(lease)
        except Conflict:  # another replica was faster
            return False

    async def _write(self, lease: Obj | None) -> bool:
        """Take or renew it; True when the answer says that it is ours."""
        started = _now()
        waited = self._pending_since is not None and started - self._pending_since >= SLOT_SECONDS
        mark = mark_for(lease, self._spec, waited)
        body = held(lease, self._spec, self._address, self._wall.now(), {SHARDS_ANNOTATION: mark})
        self._observe(await (self._post(body) if lease is None else self._put(body)))
        if not self._is_mine():
            return False
        self._renewed_at = started
        self._note_mark(mark)
        return True

    def _note_mark(self, mark: str | None) -> None:
        if (mark or "").startswith(PENDING):
            if self._pending_since is None:
                self._pending_since = _now()
                log.info("waiting for replicas that shared the work otherwise", extra={"seconds": SLOT_SECONDS})
            self._alone.clear()
        else:
            self._pending_since = None
            self._alone.set()

    async def _give_back(self, lease: Obj | None) -> None:
        if lease is not None and self._is_ours(lease):
            self._observe(await self._put(released(lease, self._spec, self._wall.now())))

    def _is_mine(self) -> bool:
        return self._lease is not None and self._is_ours(self._lease)

    def _is_ours(self, lease: Obj) -> bool:
        holder = holder_of(lease)
        return holder is not None and holder.identity == self._spec.identity

    def _expired(self, lease: Obj) -> bool:
        """Unheld, or unchanged for its whole duration as measured here: clocks of other machines are not trusted."""
        return holder_of(lease) is None or _now() - self._seen_at >= seconds_of(lease, self._spec)

    def _hear(self, old: Obj | None, new: Obj | None) -> None:
        """A watch event, which may be older than what a request of ours has answered."""
        if new is not None:
            if is_newer(new, self._lease):
                self._observe(new)
        elif self._is_mine():
            self._other_holder.set()  # deleted: make it anew, before others begin to wonder

    def _observe(self, lease: Obj) -> None:
        """Remember it, and since when it has been like that."""
        before = self.holder
        if is_newer(lease, self._lease):
            self._seen_at = _now()
        self._lease = lease
        holder = self.holder
        if (before and before.identity) != (holder and holder.identity):
            self._other_holder.set()
            if holder is not None and holder.identity != self._spec.identity:
                self._tell_holder(holder)

    def _tell_holder(self, holder: Holder) -> None:
        fields = {"lease": self._spec.name, "holder": holder.identity, "address": holder.address}
        if holder.address:
            log.info("another replica leads", extra=fields)
        else:  # only KEDA's own operator is known to use this Lease without saying so
            log.warning("the lease is held by one that is not keda-py; waiting until it lets go", extra=fields)

    async def _read(self) -> Obj | None:
        try:
            return await self._send("GET", self._path.path, None)
        except NotFound:
            return None

    async def _post(self, body: Obj) -> Obj:
        return await self._send("POST", LEASES.collection(self._spec.namespace), body)

    async def _put(self, body: Obj) -> Obj:
        return await self._send("PUT", self._path.path, body)

    async def _send(self, method: str, path: str, body: Obj | None) -> Obj:
        request = Request(method=method, path=path, body=body, timeout=self._spec.request_seconds, resource="leases")
        return check_lease(await self._client.send(request), self._spec.name)


def _now() -> float:
    return asyncio.get_running_loop().time()
