"""Counts of time without use, by the uid of their Environment, in a ConfigMap of the operator's own namespace.

They are there and not in statuses because a tenant may write the status of an Environment, and a forged count would
delete a namespace too early. One object serves all namespaces: it is written when a count ends, when a deletion is
announced, and once an hour.
"""

import asyncio
import json

from keda_py.apis.foreign import map_at, name_of, texts_at
from keda_py.clock import Clock
from keda_py.core.environment.decision.deletion import IdleCount, read_count, resume, write_count
from keda_py.errors import AlreadyExists, Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CONFIG_MAPS, Obj

NAME = "keda-py-idle-namespaces"
SAVE_SECONDS = 3600.0


class IdleCounts:
    """All counts, and what of them is stored. `load` comes first in each term as the leader."""

    def __init__(self, client: KubeClient, clock: Clock, namespace: str) -> None:
        self._client, self._clock, self._namespace = client, clock, namespace
        self._stored: dict[str, str] = {}
        """Counts that nothing has asked for in this term: those of Environments that were not looked at yet."""
        self._counts: dict[str, tuple[str, IdleCount]] = {}
        self._written: frozenset[str] = frozenset()
        self._live: Obj | None = None
        self._loaded, self._saved, self._began = False, float("-inf"), float("-inf")
        self._lock = asyncio.Lock()

    def begin(self) -> None:
        """Forget everything: another leader may have written meanwhile."""
        self._stored, self._counts, self._written, self._live = {}, {}, frozenset(), None
        self._loaded = False

    async def load(self) -> None:
        """Read what is stored, once a term. Raises KubeError: without it no count is known."""
        async with self._lock:
            if self._loaded:
                return
            try:
                self._live = await self._client.get(CONFIG_MAPS.named(self._namespace, NAME))
            except NotFound:
                self._live = None
            self._stored = dict(texts_at(self._live, "data"))
            self._written = frozenset(self._stored)
            self._loaded, self._saved = True, self._clock.monotonic()
            self._began = self._saved

    def get(self, uid: str) -> IdleCount | None:
        """Return the count of an Environment, also one that an earlier process stored."""
        if (known := self._counts.get(uid)) is not None:
            return known[1]
        try:
            stored = read_count(json.loads(self._stored.pop(uid, "null")) or {})
        except (ValueError, AttributeError):
            return None
        return None if stored is None else resume(stored, self._clock.now())

    async def put(self, uid: str, namespace: str, count: IdleCount, *, at_once: bool = False) -> None:
        """Note a count; store it at once, or with the next of each hour. Raises KubeError."""
        self._counts[uid] = namespace, count
        if at_once or self._clock.monotonic() - self._saved >= SAVE_SECONDS:
            await self._save()

    def forget(self, uid: str) -> None:
        """Leave out the count of an Environment that is gone from the next write on.

        Without this a tenant who takes the finalizer away and creates an Environment again and again would fill the one
        object that has the counts of all.
        """
        self._counts.pop(uid, None)
        self._stored.pop(uid, None)

    async def drop(self, uid: str) -> None:
        """End a count; returns once it is not stored any more. Raises KubeError: then the next write drops it."""
        self.forget(uid)
        if uid in self._written:
            await self._save()

    async def _save(self) -> None:
        """Write all counts over the version that was read. An hour after it was read, counts that nothing has asked for
        are left out: each Environment is looked at once an hour.
        """
        async with self._lock:
            if self._clock.monotonic() - self._began >= SAVE_SECONDS:
                self._stored.clear()
            data = self._stored | {
                uid: json.dumps(write_count(namespace, count), separators=(",", ":"))
                for uid, (namespace, count) in sorted(self._counts.items())
            }
            try:
                self._live = await self._write(data)
            except (Conflict, AlreadyExists):
                self.begin()
                raise
            self._saved, self._written = self._clock.monotonic(), frozenset(data)

    async def _write(self, data: dict[str, str]) -> Obj:
        body: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
        if self._live is None:
            meta = {"name": NAME, "namespace": self._namespace}
            return await self._client.create(CONFIG_MAPS, {**body, "metadata": meta})
        meta = map_at(self._live, "metadata")
        path = CONFIG_MAPS.named(self._namespace, name_of(self._live))
        try:
            return await self._client.update(path, {**body, "metadata": meta})
        except NotFound:
            self._live = None
            raise


def problem_of(error: KubeError) -> str:
    """Say that counts are not known, which is an obstacle."""
    return f"the time without use is not known: ConfigMap {NAME}: {error}"
