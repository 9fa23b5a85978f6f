"""The status of an object: what we know of it, and the smallest patch that makes it what it should be.

A status is written only when something observable changed. Our own view runs ahead of the watch: after a write it is
what the API server answered, until the cache shows that version or a later one.

What a reconcile finds out is staged, and goes to the wire with what the look after it finds: one write for an object
that is new. Where either has to wait for a source, what is staged is written meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from keda_py.answers.work_context import working
from keda_py.apis.foreign import map_at
from keda_py.apis.squeezed import pack
from keda_py.clock import Clock
from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.status import merge_patch, packed, patch_status
from keda_py.operator.controller.state import NOTHING, Remembered, about, is_about
from keda_py.operator.decisions.history import (
    HISTORY,
    PAUSE_SECONDS,
    DecisionHistory,
    is_lively,
    is_same_history,
    read_history,
    with_entry,
)
from keda_py.operator.decisions.pruned_fields import OWN, DroppedParts, not_kept
from keda_py.operator.decisions.record import Entry

FLUSHED_AT_ONCE = 20
STAGED_SECONDS = 1.0
"""How long a staged field waits for others at most."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class StatusWriter:
    """Writes `/status` of objects of every kind, and with it the changes of the last `keep`; zero keeps none."""

    def __init__(self, client: KubeClient, clock: Clock, keep: timedelta) -> None:
        self._client, self._clock, self._keep = client, clock, keep
        self._leaving = False
        self._dropped = DroppedParts(clock)

    def note(self, state: Remembered, entry: Entry) -> None:
        """Add a decision that changed to the history, which the next writes carry."""
        if self._keep:
            before = state.history or DecisionHistory(packed=pack(read_history(state.status)))
            state.history = with_entry(before, entry, self._keep)

    async def write_last(self, last: Iterable[tuple[Remembered, Mapping[str, Any]]]) -> None:
        """The process ends: write these fields, and changes that are not told yet, without a pause; errors are logged.

        A few at once: the next replica waits for the Lease, and all of them would wait for each other.
        """
        self._leaving, at_once = True, asyncio.Semaphore(FLUSHED_AT_ONCE)

        async def write(state: Remembered, fields: Mapping[str, Any]) -> None:
            async with at_once:
                try:
                    with working(tenure=state.tenure):
                        await self.write(state, fields)
                except KubeError as error:
                    log.warning("last activity was not written", extra=about(state) | {"error": str(error)})

        async with asyncio.TaskGroup() as tasks:
            for state, fields in last:
                if fields or self.is_behind(state):
                    tasks.create_task(write(state, fields))

    def is_behind(self, state: Remembered) -> bool:
        """Whether the status lacks changes that it should tell."""
        history = state.history
        if history is None or HISTORY in self._dropped_of(state):
            return False
        stored = self._stored(state)
        return stored != history.packed and not is_same_history(history, stored)

    def stage(self, state: Remembered, wanted: Mapping[str, Any]) -> None:
        """Add fields to the next write; `state.status` has them from now on."""
        state.staged = {**state.staged, **wanted}

    async def settle(self, state: Remembered) -> None:
        """Write what is staged now. Raises KubeError."""
        if state.staged:
            await self.write(state, {})

    async def meanwhile(
        self, state: Remembered, work: Awaitable[T], then: Callable[[], Awaitable[None]] | None = None
    ) -> T:
        """Await `work`, which writes no status; if it takes long, write what is staged meanwhile, and await `then`.

        A KubeError of that write is dropped: the fields stay staged, and go with the next one.
        """
        if not state.staged:
            return await work
        error: Exception | None = None
        async with asyncio.TaskGroup() as tasks:
            done = asyncio.Event()
            tasks.create_task(self._settle_unless(done, state, then))
            try:
                result = await work
            except Exception as raised:  # noqa: BLE001 - raised below: a group would wrap it
                error = raised
            done.set()
        if error is not None:
            raise error
        return result

    async def _settle_unless(
        self, done: asyncio.Event, state: Remembered, then: Callable[[], Awaitable[None]] | None
    ) -> None:
        try:
            async with asyncio.timeout(STAGED_SECONDS):
                await done.wait()
        except TimeoutError:
            with suppress(KubeError):
                await self.settle(state)
                if then is not None:
                    await then()

    async def write(self, state: Remembered, wanted: Mapping[str, Any], *, exactly: bool = False) -> bool:
        """Bring the fields named in `wanted` to that value, None removes one. True when a request was needed.

        What is staged goes with them, and stays so where this fails. `exactly`: raises Conflict where the object is
        not any more as we know it.
        """
        staged, before, known = state.staged, state.stored, state.status
        status = self._merged(state, {**known, **wanted, HISTORY: self._stored(state)})
        if state.history is not None and self._carries(state.history, state, status):
            status = self._merged(state, {**known, **wanted, HISTORY: list(state.history.changes)})
            state.history = replace(state.history, due=self._clock.monotonic() + PAUSE_SECONDS)
        metadata = {"namespace": state.key.namespace, "name": state.key.name, "uid": state.uid}
        seen = {"metadata": metadata, "status": dict(before)}
        version = str(state.version) if exactly else ""
        live = await patch_status(self._client, state.resource, seen, status, version)
        if state.staged is staged:
            state.staged = {}
        if live is None:
            return False
        if is_about(state, live):  # a proxy in between may answer anything
            state.remember(packed(live, HISTORY))
            self._note_dropped(state, merge_patch(dict(before), status), map_at(live, "status"))
        return True

    def _merged(self, state: Remembered, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that the installed CRD keeps; any other would be missing at each look and be sent for ever."""
        dropped = self._dropped_of(state)
        own = {name: value for name, value in (fields.get(OWN) or {}).items() if name not in dropped}
        merged = {**fields, OWN: own or None}
        return {name: value for name, value in merged.items() if value is not None and name not in dropped}

    def _carries(self, history: DecisionHistory, state: Remembered, status: Mapping[str, Any]) -> bool:
        """Whether a write takes the history along: one that is needed anyhow, else one in a pause of five minutes."""
        if not self.is_behind(state):
            return False
        if self._leaving or self._clock.monotonic() >= history.due:
            return True
        return bool(merge_patch(dict(state.stored), dict(status))) and not is_lively(history, self._clock.now())

    def _stored(self, state: Remembered) -> Any:
        """The stored history; None if none is kept, so that the next write removes that of an earlier process."""
        return state.stored.get(HISTORY) if self._keep else None

    def _dropped_of(self, state: Remembered) -> frozenset[str]:
        """The parts not to send. Asked at each look, and nearly every installation drops none: `seen` is quick."""
        return self._dropped.of(state.key.kind, state.dropped) if self._dropped.seen else NOTHING

    def _note_dropped(self, state: Remembered, patch: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
        """Note the parts that the API server did not keep, so that they are not sent again."""
        parts = not_kept(patch, kept)
        if not parts:
            return
        state.dropped = {**(state.dropped or {}), **self._dropped.evidence(parts)}
        if fresh := self._dropped.note(state.key, parts):
            log.warning(
                "the installed crd drops our parts of the status; apply `keda-py crds`",
                extra=about(state) | {"parts": sorted(fresh)},
            )


class LeadersStatus(StatusWriter):
    """The status of objects that every active replica follows and the leader alone writes, such as Environments."""

    def __init__(self, client: KubeClient, clock: Clock, keep: timedelta, leads: Callable[[], bool]) -> None:
        super().__init__(client, clock, keep)
        self._leads = leads

    async def write(self, state: Remembered, wanted: Mapping[str, Any], *, exactly: bool = False) -> bool:
        """Write while this replica leads, else do nothing. Raises KubeError."""
        return self._leads() and await super().write(state, wanted, exactly=exactly)
