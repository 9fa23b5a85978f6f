"""Leader election on a Lease, which decides which replica may write.

The PUT with resourceVersion is the fence between candidates; the deadlines run on the loop's time, so that a stepped
wall clock elects no replica, and another machine's clock is never compared with ours. Three numbers make it safe
(KEDA's defaults 15, 10 and 2 s):

    renewed ──────────── renew deadline ────────── lease duration
            we may write             no replica writes            another replica may take over

Every request here, and every write of a leader, takes less than duration minus deadline, so that nothing begun before
the deadline lands after the take-over; `KubeClient.guarded` checks `is_leader` as each write is sent.

A replica that has lost the Lease becomes a candidate again instead of exiting as KEDA's does: it goes on serving, its
caches stay warm, and it is safe because no write of the lost term is left. The term's work is cancelled, its writes are
refused from the deadline on, and the next term begins from the API as a new process would.

Every replica runs this; the standbys follow the Lease by a watch on its name, so that a released one is taken at once,
and read the holder's address from it.
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

# A replica that shuts down does not wait longer than this for the API server.
RELEASE_SECONDS = 1.0

Term = Callable[[], Awaitable[None]]
"""Work of a leader, run until cancelled."""


class Election:
    """Leader election of one process. Run `watch` and `run` in tasks; `is_leader` is checked before each write."""

    def __init__(self, client: KubeClient, spec: LeaseSpec) -> None:
        if not spec.retry_period < spec.renew_deadline < spec.duration:
            raise ValueError(f"retry period < renew deadline < lease duration does not hold: {spec}")
        self._client, self._spec = client, spec
        self._path = LEASES.named(spec.namespace, spec.name)
        self._wall = SystemClock()
        self._address = ""
        # The Lease as last seen, and since when it has this version, which is what expiry is measured from.
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
        """Return the name of this replica as a holder."""
        return self._spec.identity

    @property
    def is_leader(self) -> bool:
        """Return whether we may write now: false from the renew deadline on, whatever hangs."""
        return self._leading and self._is_mine() and _now() - self._renewed_at < self._spec.renew_deadline

    @property
    def holder(self) -> Holder | None:
        """Return the holder that we last saw in the Lease, None without one."""
        return holder_of(self._lease)

    async def watch(self) -> None:
        """Follow the Lease until cancelled. If RBAC forbids that, `run` still reads it every retry period."""
        await self._informer.run()

    async def run(self, term: Term, address: str = "") -> None:
        """Wait for the Lease, run `term` while it is ours, and repeat, until cancelled. `address` is where we serve."""
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
            # Whatever the server answers, terms do not follow each other faster than renewals do.
            await asyncio.sleep(self._spec.retry_period)

    async def _work(self, term: Term) -> None:
        """Run the term, once no replica is active any more by an earlier holder's number of shards."""
        await self._alone.wait()
        await term()

    async def release(self) -> None:
        """Give the Lease back so that another replica leads at once; call it after `run` was cancelled and the last
        write.
        """
        if not self.is_leader:
            return
        # Before the request: no write of ours may be sent while another replica can take the Lease already.
        self._leading = False
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                try:
                    await self._give_back(self._lease)
                except Conflict:  # another client changed it, or a renewal arrived though its answer did not
                    await self._give_back(await self._read())
        except (KubeError, TimeoutError) as error:
            fields = {"error": str(error) or f"no answer within {RELEASE_SECONDS:g} s"}
            log.warning("lease not released, it expires by itself", extra=fields)

    async def _campaign(self) -> None:
        """Wait until the Lease is ours."""
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
                # The deadline spans pause and request, so that no request that hangs prolongs the term: it ends before
                # a standby, which counts a whole duration, may take the Lease.
                async with asyncio.timeout_at(self._renewed_at + self._spec.renew_deadline):
                    await self._wait(self._spec.retry_period)
                    await self._try()
            except TimeoutError:
                return

    async def _wait(self, seconds: float) -> None:
        """Wait, or return early if the holder changes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._other_holder.wait()

    def _until_next_try(self) -> float:
        """Return the retry period, stretched at random; less if the Lease expires sooner."""
        # As in client-go, whose JitterFactor is 1.2: candidates must not all ask at once.
        pause = self._spec.retry_period * random.uniform(1.0, 2.2)
        if self._lease is None:
            return pause
        left = self._seen_at + seconds_of(self._lease, self._spec) - _now()
        return min(pause, left + 0.001) if left > 0 else pause

    async def _try(self) -> bool:
        """Try once to take or renew the Lease; return whether it is ours now."""
        try:
            is_ours = (self._is_mine() and await self._renew()) or await self._take()
        except KubeError as error:
            level = logging.DEBUG if self._failing else logging.WARNING
            log.log(level, "lease cannot be read or written", extra={"lease": self._spec.name, "error": str(error)})
            self._failing = True
            return False
        self._failing = False
        return is_ours

    async def _renew(self) -> bool:
        """Write without reading first; False if another client changed the Lease in between."""
        try:
            # The version of our last write tells whether another client was there since: one request a renewal, not
            # two.
            return await self._write(self._lease)
        except (Conflict, NotFound):
            return False

    async def _take(self) -> bool:
        lease = await self._read()
        if lease is not None:
            self._observe(lease)
        # A candidate measures the duration itself, from when it first saw this version: times in a Lease are of another
        # machine's clock.
        known = lease or self._lease  # a deleted Lease still has its holder, which creates it again
        if known is not None and not (self._is_mine() or self._expired(known)):
            return False
        try:
            return await self._write(lease)
        except Conflict:  # another replica was faster
            return False

    async def _write(self, lease: Obj | None) -> bool:
        """Take or renew the Lease; return whether the answer says that it is ours."""
        started = _now()
        waited = self._pending_since is not None and started - self._pending_since >= SLOT_SECONDS
        mark = mark_for(lease, self._spec, waited)
        body = held(lease, self._spec, self._address, self._wall.now(), {SHARDS_ANNOTATION: mark})
        self._observe(await (self._post(body) if lease is None else self._put(body)))
        if not self._is_mine():
            return False
        # The time before the request: another replica counts from when it saw the write, which is later.
        self._renewed_at = started
        self._note_mark(mark)
        return True

    def _note_mark(self, mark: str | None) -> None:
        if (mark or "").startswith(PENDING):
            if self._pending_since is None:
                self._pending_since = _now()
                log.info("waiting for replicas with another number of shards", extra={"seconds": SLOT_SECONDS})
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
        """Return whether it is unheld, or unchanged for its duration as measured here: other clocks are not trusted."""
        return holder_of(lease) is None or _now() - self._seen_at >= seconds_of(lease, self._spec)

    def _hear(self, old: Obj | None, new: Obj | None) -> None:
        """Apply a watch event, which may be older than the answer to a request of ours."""
        if new is not None:
            if is_newer(new, self._lease):
                self._observe(new)
        elif self._is_mine():
            self._other_holder.set()  # deleted: create it again before a standby does

    def _observe(self, lease: Obj) -> None:
        """Remember the Lease, and since when it has this version."""
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
        else:  # a holder without an address is most likely KEDA's own operator
            log.warning(
                "the lease is held by an operator that is not keda-py; waiting until it is released", extra=fields
            )

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
