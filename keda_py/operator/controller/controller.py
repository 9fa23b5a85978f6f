"""One controller for every kind: it remembers each object, notes what makes it due, and works on what is due.

Fourth of the seven files (before: `core/decision.py`, next: `operator/scaled_objects/look.py`). Watch events, readings,
timers and the HPA's questions only make a key due. A due key is forgotten, finalized, or reconciled and looked at, as
its kind says (`scaled_objects/kind.py`). Nearly every poll finds nothing new and ends in `fast_path.py` already. A look
or a reconcile that fails is caught here, so that one bad object does not affect the others.
"""

import asyncio
import logging
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Generic

from keda_py.answers.work_context import working
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, Forbidden, Invalid, KubeError, ScalerError
from keda_py.kube.resources import Obj
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.fast_path import FastPath
from keda_py.operator.controller.finalizer import end_loop
from keda_py.operator.controller.hold_status import hold_back, show_release
from keda_py.operator.controller.kind import Kind, StateT
from keda_py.operator.controller.retries import FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS, next_delay
from keda_py.operator.controller.scalers import renew_scalers
from keda_py.operator.controller.troubles import StepError, log_recovery, log_trouble
from keda_py.operator.controller.work_queue import DueQueue
from keda_py.operator.controller.workers import Workers
from keda_py.operator.process.quarantine import HeldObject, work_on
from keda_py.operator.sharding.tenures import Tenures

log = logging.getLogger(__name__)


class Controller(Generic[StateT]):
    """Works on the objects of one kind of which this replica has a tenure, while `run` runs."""

    def __init__(self, parts: Dependencies, kind: Kind[StateT], workers: int, tenures: Tenures) -> None:
        self._parts, self._kind, self._tenures = parts, kind, tenures
        self.kind, self.name = kind.resource.kind, kind.resource.kind.lower()
        self._workers = Workers(parts.instruments.process, self.name, workers)
        self.states: dict[ObjectKey, StateT] = {}
        self.queue = self._new_queue()

    def _new_queue(self) -> DueQueue:
        fast_path = FastPath(self._parts, self._kind, self.states)
        return DueQueue(
            self._parts.clock,
            self._work,
            is_crowded=lambda namespace: self._parts.client.is_crowded(namespace) or self._kind.is_crowded(namespace),
            read_ahead=fast_path.read_ahead,
            pass_over=fast_path.pass_over,
        )

    async def run(self) -> None:
        """Work until cancelled; the caches must have synced. An earlier run leaves nothing behind."""
        self._parts.quarantine.begin(self.kind, lambda key: self._kind.live.get(key.namespace, key.name) is not None)
        self.states.clear()
        self.queue = self._new_queue()
        self._parts.readings.recount(self.kind)
        with ExitStack() as subscriptions:
            subscriptions.callback(self._tenures.subscribe(self.on_shares))
            subscriptions.callback(self._end_series)
            subscriptions.callback(self._kind.live.on_restore(self.on_restore))
            subscriptions.callback(self._kind.live.follow(self.on_change))
            for end in self._kind.watches(self):
                subscriptions.callback(end)
            begin = partial(self.on_change, None)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._tenures.take_up(self.kind, self._kind.live, self.states, begin))
                await self.queue.run()

    async def flush(self) -> None:
        """Write the statuses that are due when writing stops; an error is logged."""
        running = (state for state in self.states.values() if state.spec is not None)
        await self._parts.status.write_last((state, self._kind.last_words(state)) for state in running)

    def on_change(self, old: Obj | None, new: Obj | None) -> None:
        """Note a watch event; the object is due unless nothing has changed that a reconcile is made of."""
        key = ObjectKey.of(self.kind, new or old or {})
        state = worked_on = self.states.get(key)
        if new is not None:
            if state is None or state.uid != new["metadata"]["uid"]:
                tenure = self._tenures.begin(key)
                if state is None and tenure.ended:
                    return
                state = self.states[key] = self._kind.new(
                    resource=self._kind.resource, key=key, uid=new["metadata"]["uid"], tenure=tenure
                )
            state.follow(old, new)
            state.reconciled.follow(new)
            if state.reconciled.covers(new) and not new["metadata"].get("deletionTimestamp"):
                return
        if worked_on is not None:
            worked_on.interrupt()
        self.queue.add(key)

    def on_restore(self) -> None:
        """The API server has gone back in time, as after a restore of etcd, and may have lost our last writes."""
        for state in self.states.values():
            state.forget_version(self._kind.live.get(state.key.namespace, state.key.name))
        self.look_at_all()

    def on_shares(self) -> None:
        """The share of this replica has changed: forget the objects it has lost; `take_up` begins with those it won."""
        for state in self.states.values():
            if state.is_lost:
                state.interrupt()
                self.queue.add(state.key)

    def _end_series(self) -> None:
        """End our series: the next owner of an object shows it, and sums count it once."""
        for key in self.states:
            self._parts.instruments.forget(key)

    def on_reading(self, key: ObjectKey) -> None:
        """The HPA's question or a push has produced a reading: decide on it.

        A look that is under way finds it out at its end (`after_look.py`). Where a source has told other metrics than
        the HPA was made of, the object is reconciled.
        """
        if (state := self.states.get(key)) is None:
            return
        built = self._parts.readings.built(key)
        if state.metrics is not None and built is not None and built.metrics is not state.metrics:
            state.reconciled.outdate()
            self.queue.add(key)
        elif state.spec is not None and not state.due.looking:
            self._look_at(state)

    def on_turn(self, key: ObjectKey) -> None:
        """The object may wake its workload now (`activations.py`)."""
        if (state := self.states.get(key)) is not None:
            self._look_at(state)

    def look_at_all(self) -> None:
        """The wall clock was set, or the cluster restored: what was planned by it is looked at now."""
        for state in self.states.values():
            self._look_at(state)

    def _look_at(self, state: StateT) -> None:
        state.due.look_now()
        self.queue.add(state.key)

    def on_overlay(self, key: ObjectKey) -> None:
        """An overlay of the spec has changed: reconcile again, as if the manifest had changed."""
        if (state := self.states.get(key)) is not None:
            state.reconciled.outdate()
            state.interrupt()
            self.queue.add(key)

    def on_parameters(self, key: ObjectKey, trigger_index: int) -> None:
        """A Secret or such that a trigger was resolved from has changed: renew the scaler, or build it again."""
        state = self.states.get(key)
        if state is None:
            return
        # Both are needed while a build is under way: it may have read the parameters from before.
        state.stale |= {trigger_index}
        if self._parts.readings.built(key) is None:
            state.reconciled.invalidate()
        self.queue.add(key)

    def _back_off(self, state: StateT, longest: float = LAST_RETRY_SECONDS) -> float:
        self._workers.note_retry()
        return self._parts.clock.monotonic() + next_delay(state, longest)

    async def _work(self, key: ObjectKey) -> None:
        state = self.states.get(key)
        if state is None:
            return
        live = self._kind.live.get(key.namespace, key.name)
        if state.is_lost:
            await self._release(state)
            return
        work = state.begin(live)
        with working(key.namespace, tenure=state.tenure):
            if live is None or work is None:
                due = await self._attempt(state, None, None)
            else:
                due = await self._parts.quarantine.run(work, live, partial(self._attempt, state, live))
        if due is not None:
            self.queue.add_at(key, due)

    async def _attempt(self, state: StateT, live: Obj | None, held: HeldObject | None) -> float | None:
        """Do what is due. Returns when to come back (monotonic), None for not before something changes."""
        if held is not None and held.trying:  # its turn may have been long in coming
            live = self._kind.live.get(state.key.namespace, state.key.name)
            held = self._parts.quarantine.review(work_on(state.key, live), live) if live is not None else None
        try:
            if state.reconciled.fingerprint is None:  # the first work under this tenure, or after a failure
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
        trial = self._parts.quarantine.due(state.key) if held is not None else None
        now = self._parts.clock.now(), self._parts.clock.monotonic()
        return state.comes_back(*now) if trial is None else trial

    async def _advance(self, state: StateT, live: Obj | None, held: HeldObject | None) -> None:
        """Forget, finalize, or reconcile and look as far as due; an object that is held back only says so."""
        if live is None:
            await self._forget(state)
        elif live["metadata"].get("deletionTimestamp"):
            await self._kind.finalize(state, live)
        elif held is not None and not held.trying:
            await hold_back(self._parts, state, live, held)
            self._kind.hold(state)
        else:
            if state.stale:
                await renew_scalers(self._parts, state)
            if (state.resumes_at and state.has_resumed(self._parts.clock.now())) or not state.reconciled.matches(live):
                await self._reconcile(state, live)
            now = self._parts.clock.monotonic()
            if state.spec is not None and state.due.is_due(now):
                await self._look(state, state.due.begin_look(now))
            else:
                await self._kind.refresh(state)
            if state.staged:
                await self._parts.status.settle(state)
            if state.shows_hold:
                await show_release(self._parts, state)

    async def _look(self, state: StateT, late: float | None) -> None:
        """Look; the object stays due if that fails, whatever the look has planned."""
        if late is not None:
            self._parts.instruments.record_lateness(state.key, late)
        try:
            await self._kind.look(state)
        except Exception:
            state.due.look_now()
            raise

    async def _reconcile(self, state: StateT, live: Obj) -> None:
        """Reconcile with a worker. Its own writes, such as the finalizer's, make nothing due meanwhile."""
        async with self._workers.one(state.key.namespace) as without_worker:
            state.without_worker = without_worker
            state.reconciled.begin(live)
            try:
                await self._kind.reconcile(state, live)
            finally:
                state.reconciled.running, state.without_worker = None, nullcontext
        if state.reconciled.outdated:
            state.reconciled.invalidate()

    def _after_failed_step(self, state: StateT, error: StepError, live: Obj) -> float | None:
        """A ConfigError waits until the object changes; any other error is retried."""
        self._kind.note_failure(state, error, live)
        if isinstance(error.cause, ConfigError):
            state.reconciled.give_up(live)
            return None
        return self._back_off(state)

    async def _release(self, state: StateT) -> None:
        """Ownership ended; forget the object, and begin anew if it is ours again by now."""
        await self._forget(state)
        live = self._kind.live.get(state.key.namespace, state.key.name)
        if live is not None:
            self.on_change(None, live)

    async def _forget(self, state: StateT) -> None:
        """Drop everything known of an object that is gone, or another replica's."""
        self._tenures.end(state.tenure)  # first: from here on no write about it is sent
        self._kind.forget(state)
        self._parts.quarantine.forget(state.key)
        self._parts.activations.withdraw(state.key)
        self.queue.discard(state.key)
        await end_loop(self._parts, state)
        self._parts.record.forget(state.key)
        self._parts.events.forget(state.uid)
        self.states.pop(state.key, None)
