"""Leader election on a Lease: who may write.

The PUT with resourceVersion is the fence between candidates; the deadlines run on the loop's time, so that a stepped
wall clock elects nobody. Three numbers make it safe (KEDA's defaults 15, 10 and 2 s):

    renewed ──────────── renew deadline ────────── lease duration
            we may write               nobody writes              another replica may take over

Every request here, and every write of a leader, takes less than duration minus deadline, so that nothing begun before
the deadline lands after the take-over. Every replica runs this: the ones that wait learn the holder's address from it.
"""

import asyncio
import logging
import random
from dataclasses import dataclass

from keda_py.clock import SystemClock
from keda_py.errors import Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import LEASES, Obj
from keda_py.kube.transport import Request

log = logging.getLogger(__name__)

ADDRESS_ANNOTATION = "keda-py.dev/serving-address"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSpec:
    """`identity` is the pod's name: a container restarted in its pod leads again at once. Times in seconds."""

    namespace: str
    name: str
    identity: str
    address: str = ""
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    @property
    def request_seconds(self) -> float:
        """How long one request may take; also the bound for everything a leader writes."""
        return (self.duration - self.renew_deadline) * 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds the Lease and where it serves; `address` "" when it did not say."""

    identity: str
    address: str


class Election:
    """Run in a task for the life of the process. `is_leader` is asked before each write."""

    def __init__(self, client: KubeClient, spec: LeaseSpec) -> None:
        if not spec.retry_period < spec.renew_deadline < spec.duration:
            raise ValueError(f"retry period < renew deadline < lease duration does not hold: {spec}")
        self._client, self._spec = client, spec
        self._path = LEASES.named(spec.namespace, spec.name)
        self._wall = SystemClock()
        self._lease: Obj | None = None
        self._seen_at = float("-inf")
        self._renewed_at = float("-inf")
        self._failing = False
        self.acquired = asyncio.Event()
        self.lost = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        """Whether we may write now: false from the renew deadline on, whatever hangs."""
        renewed_within = asyncio.get_running_loop().time() - self._renewed_at
        return self.acquired.is_set() and not self.lost.is_set() and renewed_within < self._spec.renew_deadline

    @property
    def holder(self) -> Holder | None:
        """Who holds the Lease as far as we know; None while nobody does."""
        if self._lease is None:
            return None
        identity = _holder_of(self._lease)
        address = (self._lease["metadata"].get("annotations") or {}).get(ADDRESS_ANNOTATION, "")
        return Holder(identity=identity, address=address) if identity else None

    async def run(self) -> None:
        """Try to lead; once leading, renew. Returns when leadership is lost: it is for the process to end then."""
        names = {"lease": self._spec.name, "identity": self._spec.identity}
        while True:
            if await self._try():
                break
            await asyncio.sleep(self._spec.retry_period * random.uniform(1.0, 2.2))
        self.acquired.set()
        log.info("leading", extra=names)
        await self._hold()
        self.lost.set()
        log.error("leadership lost", extra=names)

    async def release(self) -> None:
        """Let the next replica lead at once; to be called when `run` has ended, after the last write."""
        if not self.is_leader:
            return
        self.lost.set()
        try:
            lease = await self._read()
            if lease is not None and _holder_of(lease) == self._spec.identity:
                await self._put(self._body(lease, identity=""))
        except KubeError as error:
            log.warning("lease not released, it expires by itself", extra={"error": str(error)})

    async def _hold(self) -> None:
        """Renew until the deadline passes without success, or somebody else holds the Lease."""
        while self._mine():
            try:
                async with asyncio.timeout_at(self._renewed_at + self._spec.renew_deadline):
                    await asyncio.sleep(self._spec.retry_period)
                    await self._try()
            except TimeoutError:
                return

    async def _try(self) -> bool:
        """One attempt to take or renew; True when the Lease is ours now."""
        try:
            ours = (self._mine() and await self._renew()) or await self._take()
        except KubeError as error:
            level = logging.DEBUG if self._failing else logging.WARNING
            log.log(level, "lease cannot be read or written", extra={"lease": self._spec.name, "error": str(error)})
            self._failing = True
            return False
        self._failing = False
        return ours

    async def _renew(self) -> bool:
        """Write without reading first; False when somebody touched the Lease in between."""
        try:
            await self._write(self._lease)
        except (Conflict, NotFound):
            return False
        return True

    async def _take(self) -> bool:
        lease = await self._read()
        if lease is not None:
            self._observe(lease)
            if not (self._mine() or self._expired(lease)):
                return False
        try:
            await self._write(lease)
        except Conflict:  # somebody else was faster
            return False
        return True

    async def _write(self, lease: Obj | None) -> None:
        started = asyncio.get_running_loop().time()
        body = self._body(lease, identity=self._spec.identity)
        self._observe(await (self._post(body) if lease is None else self._put(body)))
        self._renewed_at = started

    def _mine(self) -> bool:
        return self._lease is not None and _holder_of(self._lease) == self._spec.identity

    def _expired(self, lease: Obj) -> bool:
        """Unheld, or unchanged for its whole duration as measured here: clocks of other machines are not trusted."""
        waited = asyncio.get_running_loop().time() - self._seen_at
        return not _holder_of(lease) or waited >= float(
            lease["spec"].get("leaseDurationSeconds") or self._spec.duration
        )

    def _observe(self, lease: Obj) -> None:
        if self._lease is None or self._lease["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]:
            self._seen_at = asyncio.get_running_loop().time()
        self._lease = lease

    def _body(self, lease: Obj | None, *, identity: str) -> Obj:
        old = (lease or {}).get("spec") or {}
        metadata = dict((lease or {}).get("metadata") or {"namespace": self._spec.namespace, "name": self._spec.name})
        metadata.pop("managedFields", None)
        metadata["annotations"] = {
            **(metadata.get("annotations") or {}),
            ADDRESS_ANNOTATION: self._spec.address if identity else "",
        }
        now = self._wall.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        again = old.get("holderIdentity") == identity
        kept = old.get("acquireTime") if again or not identity else None
        spec = {
            "holderIdentity": identity,
            "leaseDurationSeconds": round(self._spec.duration) if identity else 1,
            "acquireTime": kept or now,
            "renewTime": now,
            "leaseTransitions": int(old.get("leaseTransitions") or 0) + (0 if again or not identity or not old else 1),
        }
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

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
        return await self._client.send(request)


def _holder_of(lease: Obj) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
