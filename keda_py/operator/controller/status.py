"""`status`: what we know of it, and the smallest patch that brings it to what it should be.

A status is written only when something observable changed. Our own view runs ahead of the watch: after a write it is
what the API server answered, until the cache shows that version or a later one.

What a reconcile finds out is staged, and goes to the wire with what the look after it finds: one write for an object
that is new. Where either has to wait for a source, what is staged is written meanwhile.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.status import patch_status
from keda_py.operator.controller.state import Remembered

OWN = "kedaPy"
STAGED_SECONDS = 1.0
"""How long a staged field waits for others at most."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class StatusWriter:
    """Writes `/status` of objects of every kind."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._dropped: defaultdict[str, set[str]] = defaultdict(set)
        """By kind, keys of `status.kedaPy` that the installed CRD does not know: KEDA's own knows none."""

    def stage(self, state: Remembered, wanted: Mapping[str, Any]) -> None:
        """Have the fields named in `wanted` go to the wire with the next write; `state.status` has them from now on."""
        state.staged = {**state.staged, **wanted}

    async def settle(self, state: Remembered) -> None:
        """Write what is staged now. Raises KubeError."""
        if state.staged:
            await self.write(state, {})

    async def meanwhile(self, state: Remembered, work: Awaitable[T]) -> T:
        """What `work` comes to, which writes no status; where it takes its time, what is staged is written meanwhile.

        A write that fails then is for the next one to make good.
        """
        if not state.staged:
            return await work
        error: Exception | None = None
        async with asyncio.TaskGroup() as tasks:
            done = asyncio.Event()
            tasks.create_task(self._settle_unless(done, state))
            try:
                result = await work
            except Exception as raised:  # noqa: BLE001 - raised below: a group would wrap it
                error = raised
            done.set()
        if error is not None:
            raise error
        return result

    async def _settle_unless(self, done: asyncio.Event, state: Remembered) -> None:
        try:
            async with asyncio.timeout(STAGED_SECONDS):
                await done.wait()
        except TimeoutError:
            with suppress(KubeError):
                await self.settle(state)

    async def write(self, state: Remembered, wanted: Mapping[str, Any]) -> bool:
        """Bring the fields named in `wanted` to that value, None removes one. True when a request was needed.

        What is staged goes with them, and stays so where this fails.
        """
        own = wanted.get(OWN, state.status.get(OWN))
        staged, merged = state.staged, {**state.status, **wanted, OWN: self._known(state.key.kind, own)}
        status = {name: value for name, value in merged.items() if value is not None}
        metadata = {"namespace": state.key.namespace, "name": state.key.name, "uid": state.uid}
        seen = {"metadata": metadata, "status": dict(state.stored)}
        live = await patch_status(self._client, state.resource, seen, status)
        if state.staged is staged:
            state.staged = {}
        if live is None:
            return False
        state.remember(live)
        kept = (live.get("status") or {}).get(OWN) or {}
        if dropped := (status.get(OWN) or {}).keys() - kept.keys():
            self._dropped[state.key.kind] |= dropped
            log.warning(
                "the installed crd drops parts of status.kedaPy; apply `keda-py crds`", extra={"parts": sorted(dropped)}
            )
        return True

    def _known(self, kind: str, own: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Without what would be dropped again: it would be sent for ever."""
        dropped = self._dropped[kind]
        return {name: value for name, value in (own or {}).items() if name not in dropped} or None
