"""One controller for every kind: what is remembered of each object, what makes it due, and what is done when it is.

Fourth of the seven files (before: `core/decision.py`, next: `operator/scaled_objects/look.py`). Watch events, readings,
timers and the HPA's questions only make a key due. A due key is forgotten, finalized, or reconciled and looked at, as
the kind says (`scaled_objects/kind.py`); where a look is all there is to do, its sources are asked first, and a task is
made only if it comes to something. The one place where a look or a reconcile that fails is caught, so that one bad
object does not affect the others.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Generic

from keda_py.answers.tenants import acting_for
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, Forbidden, Invalid, KubeError, ScalerError
from keda_py.kube.resources import Obj
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.holding import hold_back, show_release
from keda_py.operator.controller.kind import Kind, StateT
from keda_py.operator.controller.retries import FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS, retry_delay
from keda_py.operator.controller.state import NOTHING, about, fingerprint_of
from keda_py.operator.controller.steps import StepError
from keda_py.operator.controller.troubles import log_recovery, log_trouble
from keda_py.operator.controller.work_queue import DueQueue
from keda_py.operator.controller.workers import Workers
from keda_py.operator.process.quarantine import Held, work_on
from keda_py.operator.sharding.tenures import Tenures, working_under

FLUSHED_AT_ONCE = 20
EARLY_SECONDS = 0.0005
"""A timer may fire that early; a look is then due all the same."""

log = logging.getLogger(__name__)


class Controller(Generic[StateT]):
    """Works on the objects of one kind that are due, while `run` runs; on all of which it has a tenure."""

    def __init__(self, parts: Dependencies, kind: Kind[StateT], workers: int, tenures: Tenures) -> None:
        self._parts, self._kind, self._tenures = parts, kind, tenures
        self.kind = kind.resource.kind
        self.name = self.kind.lower()
        self._workers = Workers(parts.instruments.process, self.name, workers)
        self.states: dict[ObjectKey, StateT] = {}
        self.queue = self._new_queue()

    def _new_queue(self) -> DueQueue:
        return DueQueue(
            self._parts.clock,
            self._work,
            is_crowded=lambda namespace: self._parts.client.is_crowded(namespace) or self._kind.is_crowded(namespace),
            read_ahead=self._read_ahead,
            pass_over=self._pass_over,
        )

    async def run(self) -> None:
        """Work until cancelled; the caches must have synced. Of an earlier run nothing is remembered."""
        self._parts.quarantine.begin(self.kind, {ObjectKey.of(self.kind, live) for live in self._kind.live.objects()})
        self.states.clear()
        self.queue = self._new_queue()
        self._parts.readings.recount(self.kind)
        with ExitStack() as subscriptions:
            subscriptions.callback(self._tenures.subscribe(self.on_shares))
            subscriptions.callback(self._end_series)
            subscriptions.callback(self._kind.live.on_restore(self.on_restore))
            subscriptions.callback(self._kind.live.subscribe(self.on_change))
            for end in self._kind.watches(self):
                subscriptions.callback(end)
            await self.queue.run()

    async def flush(self) -> None:
        """Before writing stops: what is due then, and changes not told; what fails is logged."""
        self._parts.status.leave()
        last = ((state, self._kind.last_words(state)) for state in self.states.values() if state.spec is not None)
        behind = self._parts.status.is_behind
        await self._write_last((state, fields) for state, fields in last if fields or behind(state))

    def on_change(self, old: Obj | None, new: Obj | None) -> None:
        """A watch event about an object; one that changes nothing we work on makes nothing due."""
        key = ObjectKey.of(self.kind, new or old or {})
        state = worked_on = self.states.get(key)
        if new is not None:
            if state is None or state.uid != new["metadata"]["uid"]:
                tenure = self._tenures.begin(key)
                if state is None and tenure is None:
                    return
                state = self.states[key] = self._kind.new(
                    resource=self._kind.resource, key=key, uid=new["metadata"]["uid"], tenure=tenure
                )
            state.follow(old, new)
            known = fingerprint_of(new) in (state.fingerprint, state.reconciling)
            if known and not new["metadata"].get("deletionTimestamp"):
                return
        if worked_on is not None:
            worked_on.interrupt()
        self.queue.add(key)

    def on_restore(self) -> None:
        """The API server has gone back in time, as after a restore of etcd: what we have written last may be lost."""
        for state in self.states.values():
            state.forget_version(self._kind.live.get(state.key.namespace, state.key.name))
            state.next_look = 0.0
            self.queue.add(state.key)

    def on_shares(self) -> None:
        """Other objects are ours: let go of what is not any more, and begin with what is now."""
        for state in self.states.values():
            if self._is_lost(state):
                state.interrupt()
                self.queue.add(state.key)
        for live in self._kind.live.objects():
            if ObjectKey.of(self.kind, live) not in self.states:
                self.on_change(None, live)

    def _is_lost(self, state: StateT) -> bool:
        return state.tenure is None or state.tenure.ended

    def _end_series(self) -> None:
        """What is not ours any more is shown by its next owner, and counted once in sums."""
        for key in self.states:
            self._parts.instruments.forget(key)

    def on_reading(self, key: ObjectKey) -> None:
        """Another caller's question or a push produced a reading: decide on it too.

        Of one that comes during a look, the look finds out at its end (`after_look.py`).
        """
        state = self.states.get(key)
        if state is not None and state.spec is not None and not state.looking:
            state.next_look = 0.0
            self.queue.add(key)

    def on_turn(self, key: ObjectKey) -> None:
        """Its turn to wake a workload has come: look at it now."""
        state = self.states.get(key)
        if state is not None:
            state.next_look = 0.0
            self.queue.add(key)

    def on_overlay(self, key: ObjectKey) -> None:
        """What lies over its spec has changed: reconcile it again, as if its manifest had changed."""
        state = self.states.get(key)
        if state is not None:
            state.fingerprint, state.overlaid = None, True
            state.interrupt()
            self.queue.add(key)

    def on_clock_step(self) -> None:
        """The wall clock was set: every schedule is looked at again now."""
        for state in self.states.values():
            state.next_look = 0.0
            self.queue.add(state.key)

    def on_parameters(self, key: ObjectKey, trigger_index: int) -> None:
        """Something that a trigger was resolved from has changed: renew its scaler, or try again to build it."""
        state = self.states.get(key)
        if state is None:
            return
        # While a build is under way both are needed: it may have read what was there before.
        state.stale |= {trigger_index}
        if self._parts.readings.built(key) is None:
            state.fingerprint = None
        self.queue.add(key)

    async def _renew_stale(self, state: StateT) -> None:
        """Scalers with changed parameters are renewed and looked at; changed metrics need another reconcile, too."""
        stale, state.stale = state.stale, NOTHING
        if await self._parts.readings.renew(state.key, stale):
            state.next_look = 0.0
            if self._parts.readings.built(state.key) is None:
                state.fingerprint = None

    def _begins_look(self, state: StateT) -> bool:
        """Whether a look is due; it is taken to begin now. One that was asked for in between cannot be late."""
        now = self._parts.clock.monotonic()
        if state.spec is None or now < state.next_look - EARLY_SECONDS:
            return False
        if state.next_look:
            self._parts.instruments.record_lateness(state.key, now - state.next_look)
            state.next_look = 0.0
        return True

    def _read_ahead(self, key: ObjectKey) -> asyncio.Future[None] | None:
        """Where a look is all there is to do, its sources are asked before it begins; when they have answered.

        It waits for them without a task, which would take 5 KB. None: there is nothing to wait for, or more to do.
        """
        state = self.states.get(key)
        if state is None:
            return None
        state.looking = state.ahead = False
        try:
            if self._only_looks(state) and self._begins_look(state):
                state.looking = state.ahead = True
                return self._parts.readings.read_ahead(key, state.changed)
        except Exception as error:  # noqa: BLE001 - as in `_attempt`, which comes next
            log_trouble(log, state, f"reading for {self.name} failed", error)
        return None

    def _only_looks(self, state: StateT) -> bool:
        """Whether work on an object, which begins, can be nothing but a look; `changed` is done if that ends."""
        live = self._kind.live.get(state.key.namespace, state.key.name)
        if live is None or live["metadata"].get("deletionTimestamp") or self._is_lost(state):
            return False
        if state.stale or state.staged or state.attempts or state.troubles or state.shows_hold:
            return False
        work = state.begin(live)
        return state.is_reconciled(live) and work is not None and self._parts.quarantine.find(work, live) is None

    def _pass_over(self, key: ObjectKey) -> bool:
        """After `_read_ahead`: a look that finds all as it was takes no task."""
        state = self.states.get(key)
        if state is None or not state.looking:
            return False
        state.looking = False
        if state.changed is None or state.changed.done() or state.stale:
            return False
        try:
            passed = self._kind.pass_over(state)
        except Exception as error:  # noqa: BLE001 - as in `_attempt`, which comes next
            log_trouble(log, state, f"look at {self.name} failed", error)
            return False
        if passed:
            self.queue.add_at(key, state.next_look)
        return passed

    def _next_due(self, state: StateT, held: Held | None) -> float | None:
        """When its next look or trial is, monotonic; None where no scale loop runs."""
        if held is not None and (due := self._parts.quarantine.due(state.key)) is not None:
            return due
        return state.next_look if state.spec is not None else None

    def _back_off(self, state: StateT, longest: float = LAST_RETRY_SECONDS) -> float:
        """When it is tried again, monotonic: later with each failure in a row.

        A running loop never waits longer than its polling interval.
        """
        if state.spec is not None:
            longest = min(longest, state.spec.polling_interval.total_seconds())
        delay = retry_delay(state.attempts, longest)
        state.attempts += 1
        self._workers.note_retry()
        return self._parts.clock.monotonic() + delay

    async def _work(self, key: ObjectKey) -> None:
        state = self.states.get(key)
        if state is None:
            return
        if self._is_lost(state):
            await self._let_go(state)
            return
        live = self._kind.live.get(key.namespace, key.name)
        work = state.begin(live)
        with acting_for(key.namespace), working_under(state.tenure):
            if live is None or work is None:
                due = await self._attempt(state, None, None)
            else:
                due = await self._parts.quarantine.run(work, live, partial(self._attempt, state, live))
        if due is not None:
            self.queue.add_at(key, due)

    async def _attempt(self, state: StateT, live: Obj | None, held: Held | None) -> float | None:
        """Do what is due; when the next time is, monotonic, None: when something changes."""
        if held is not None and held.trying:
            live, held = self._find_again(state)
        try:
            if state.fingerprint is None:  # its first work under this tenure, or another one after a failure
                await self._kind.take_over(state)
            await self._advance(state, live, held)
        except StepError as error:
            return self._after_failed_step(state, error, live or {})
        except (KubeError, ScalerError) as error:
            log_trouble(log, state, "api request failed", error)
            if live is None or live["metadata"].get("deletionTimestamp"):
                return self._back_off(state, FIRST_RETRY_SECONDS)
            if isinstance(error, Forbidden | Invalid) and not state.attempts:
                self._parts.tell(live, "Warning", f"{self.kind}UpdateFailed", str(error))
            return self._back_off(state)
        except Exception as error:  # noqa: BLE001 - one bad object must not end the others; it is logged as a bug
            log_trouble(log, state, f"work on {self.name} failed", error)
            return self._back_off(state)
        state.attempts = 0
        if state.troubles:
            log_recovery(log, state)
        return self._next_due(state, held)

    def _find_again(self, state: StateT) -> tuple[Obj | None, Held | None]:
        """Its turn to be tried may have been long in coming: how it is now, and whether that is held back."""
        live = self._kind.live.get(state.key.namespace, state.key.name)
        return live, self._parts.quarantine.find(work_on(state.key, live), live) if live is not None else None

    async def _advance(self, state: StateT, live: Obj | None, held: Held | None) -> None:
        """Forget, finalize, or reconcile and look as far as due; only tell, where a process died of it."""
        if live is None:
            await self._forget(state)
        elif live["metadata"].get("deletionTimestamp"):
            await self._kind.finalize(state, live)
        elif held is not None and not held.trying:
            await hold_back(self._parts, state, live, held)
            self._kind.hold(state)
        else:
            if state.stale:
                await self._renew_stale(state)
            if not state.is_reconciled(live):
                await self._reconcile(state, live)
            await (self._look(state) if self._begins_look(state) else self._kind.refresh(state))
            if state.staged:
                await self._parts.status.settle(state)
            if state.shows_hold:
                await show_release(self._parts, state)

    async def _look(self, state: StateT) -> None:
        """One that fails is still due, however far ahead it has put the next one."""
        due = state.next_look
        try:
            await self._kind.look(state)
        except Exception:
            state.next_look = min(due, state.next_look)
            raise

    async def _reconcile(self, state: StateT, live: Obj) -> None:
        """With a worker. What its own writes cause, the finalizer's first of all, makes nothing due."""
        state.overlaid, state.reconciled = False, None
        async with self._workers.one(state.key.namespace) as state.without_worker:
            state.reconciling = fingerprint_of(live)
            try:
                await self._kind.reconcile(state, live)
            finally:
                state.reconciling = None
        if state.overlaid:  # what lay over the spec that it was made of has changed meanwhile
            state.fingerprint = None

    def _after_failed_step(self, state: StateT, error: StepError, live: Obj) -> float | None:
        """A ConfigError waits for its object to change; the rest is retried."""
        self._kind.note_failure(state, error, live)
        if isinstance(error.cause, ConfigError):
            state.fingerprint = None if state.overlaid else fingerprint_of(live)
            return None
        return self._back_off(state)

    async def _let_go(self, state: StateT) -> None:
        """Another replica's, or ours anew: then nothing is known of it, as in a new process."""
        await self._forget(state)
        live = self._kind.live.get(state.key.namespace, state.key.name)
        if live is not None:
            self.on_change(None, live)

    async def _forget(self, state: StateT) -> None:
        """The object is gone, or not ours: nothing of it stays."""
        if state.tenure is not None:
            self._tenures.end(state.tenure)
        self._kind.forget(state)
        state.stop()
        self._parts.quarantine.forget(state.key)
        self._parts.activations.withdraw(state.key)
        self.queue.discard(state.key)
        await self._parts.readings.forget(state.key)
        self._parts.instruments.forget(state.key)
        self._parts.record.forget(state.key)
        self._parts.resolver.forget(state.key)
        self._parts.events.forget(state.uid)
        self.states.pop(state.key, None)

    async def _write_last(self, last: Iterable[tuple[StateT, Mapping[str, Any]]]) -> None:
        at_once = asyncio.Semaphore(FLUSHED_AT_ONCE)

        async def write(state: StateT, fields: Mapping[str, Any]) -> None:
            async with at_once:
                try:
                    with working_under(state.tenure):
                        await self._parts.status.write(state, fields)
                except KubeError as error:
                    log.warning("last activity was not written", extra=about(state) | {"error": str(error)})

        async with asyncio.TaskGroup() as tasks:
            for state, fields in last:
                tasks.create_task(write(state, fields))
