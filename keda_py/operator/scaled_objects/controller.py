"""Turns what happens to ScaledObjects into work: a due one is forgotten, finalized, or reconciled and looked at.

`due_objects.py` remembers them and knows when each is due. The one place where a look or a reconcile that fails is
caught, so that one bad object hurts nobody. Next in the flow: `reconcile.py`, then `scale_loop.py`.
"""

import logging
from contextlib import ExitStack
from typing import Any

from keda_py.core.conditions import hpa_active
from keda_py.errors import ConfigError, Forbidden, Invalid, KubeError
from keda_py.kube.informers.cache import key_of
from keda_py.kube.resources import Obj
from keda_py.operator.controller.due_objects import DueObjects
from keda_py.operator.controller.retries import FIRST_RETRY_SECONDS
from keda_py.operator.controller.state import ObjectState, went_back
from keda_py.operator.controller.troubles import log_recovery, log_trouble
from keda_py.operator.scaled_objects.deletion import finalize
from keda_py.operator.scaled_objects.dependencies import Parts, tell
from keda_py.operator.scaled_objects.look import ScaleLoop
from keda_py.operator.scaled_objects.reconcile import Reconciler, StepError, fingerprint_of
from keda_py.operator.scaled_objects.targets import TargetError

log = logging.getLogger(__name__)


class Engine:
    """Works on the ScaledObjects that are due."""

    def __init__(self, parts: Parts, reconcilers: int) -> None:
        self._parts = parts
        self._reconciler = Reconciler(parts)
        self._loop = ScaleLoop(parts)
        self.objects = DueObjects(parts, parts.caches.scaled_objects, ObjectState, self._attempt, reconcilers)

    async def run(self) -> None:
        """Work until cancelled; the caches must have synced. Of an earlier run nothing is remembered."""
        self.objects.begin()
        self._parts.readings.recount()
        caches = self._parts.caches
        with ExitStack() as subscriptions:
            subscriptions.callback(caches.scaled_objects.subscribe(self.objects.on_change))
            subscriptions.callback(caches.hpas.subscribe(self._on_hpa))
            for informer in caches.workloads.values():
                subscriptions.callback(informer.subscribe(self._on_workload))
            await self.objects.queue.run()

    async def flush(self) -> None:
        """Before writing stops: put `lastActiveTime` of active objects on the wire."""
        now = self._parts.clock.now()
        await self.objects.write_activity((state, now) for state in self.objects.states.values() if _is_active(state))

    def _on_hpa(self, old: Obj | None, new: Obj | None) -> None:
        """A hand edit or a deletion is repaired, one too many goes away; a change of ScalingActive is passed on."""
        live = new or old or {}
        # Whoever strips it of its owner has edited it by hand, too.
        owner = _owner_of(live) or _owner_of(old or live)
        state = self.objects.states.get((live["metadata"].get("namespace", ""), owner)) if owner else None
        if state is None or (old is None and state.spec is not None):
            return
        if old is None or new is None or _written_part(old) != _written_part(new):
            state.fingerprint, state.hpa_lost = None, new is None
            self.objects.queue.add(state.key)
        elif hpa_active(old.get("status") or {}) != hpa_active(new.get("status") or {}):
            state.hpa_changed = True
            self.objects.queue.add(state.key)

    def _on_workload(self, old: Obj | None, new: Obj | None) -> None:
        """A target that appears may be the one that an object is waiting for."""
        if went_back(old, new):
            for state in self.objects.states.values():
                state.written = None
        if old is not None or new is None:
            return
        for state in self.objects.states.values():
            if state.missing == key_of(new):
                self.objects.queue.add(state.key)

    async def _attempt(self, state: ObjectState) -> float | None:
        """Do what is due; seconds until the next time, None: when something changes."""
        live = self._parts.caches.scaled_objects.get(*state.key)
        try:
            await self._advance(state, live)
        except StepError as error:
            return self._after_failed_step(state, error, live or {})
        except KubeError as error:
            log_trouble(log, state, "api request failed", error)
            if live is None or live["metadata"].get("deletionTimestamp"):
                return self.objects.back_off(state, FIRST_RETRY_SECONDS)
            if isinstance(error, Forbidden | Invalid) and not state.attempts:
                tell(self._parts, live, "Warning", "ScaledObjectUpdateFailed", str(error))
            return self.objects.back_off(state)
        except Exception as error:  # noqa: BLE001 - one bad object must not end the others; it is logged as a bug
            log_trouble(log, state, "work on scaledobject failed", error)
            return self.objects.back_off(state)
        state.attempts = 0
        log_recovery(log, state)
        return self.objects.next_delay(state)

    async def _advance(self, state: ObjectState, live: Obj | None) -> None:
        """Forget, finalize, or reconcile and look as far as due."""
        if live is None:
            await self._forget(state)
        elif live["metadata"].get("deletionTimestamp"):
            await finalize(self._parts, state, live)
        elif await self.objects.holds_back(state, live):
            state.told = {}
        elif state.hpa_lost and await self._parts.namespaces.is_terminating(state.key[0]):
            state.stop()
        else:
            await self.objects.renew_stale(state)
            if state.fingerprint != fingerprint_of(live):
                async with self.objects.workers.one(state.key[0]) as state.without_worker:
                    await self._reconciler.reconcile(state, live)
                state.hpa_lost = False
            await self._look_if_due(state)
            await self.objects.show_release(state)

    async def _look_if_due(self, state: ObjectState) -> None:
        if self.objects.begins_look(state):
            await self._loop.look(state)
        elif state.hpa_changed:
            await self._loop.refresh_hpa_condition(state)
        state.hpa_changed = False

    def _after_failed_step(self, state: ObjectState, error: StepError, live: Obj) -> float | None:
        """A ConfigError waits for its object to change; a missing target is looked for again; the rest is retried."""
        state.missing = None
        self._parts.instruments.record_error(state.key)
        if isinstance(error.cause, ConfigError):
            state.fingerprint = fingerprint_of(live)
            return None
        if isinstance(error.cause, TargetError):
            name = live["spec"]["scaleTargetRef"]["name"]
            state.missing = (state.key[0], name)
        return self.objects.back_off(state)

    async def _forget(self, state: ObjectState) -> None:
        self._parts.targets.forget(state)
        await self.objects.forget(state)


def _is_active(state: ObjectState) -> bool:
    activity = state.activity
    return state.spec is not None and activity is not None and activity.active and activity.last is not None


def _owner_of(hpa: Obj) -> str:
    for owner in hpa["metadata"].get("ownerReferences") or ():
        if owner.get("kind") == "ScaledObject":
            return str(owner["name"])
    return ""


def _written_part(hpa: Obj) -> tuple[Any, ...]:
    """What a hand edit would change."""
    meta = hpa["metadata"]
    return (hpa.get("spec"), meta.get("labels"), meta.get("annotations"), meta.get("ownerReferences"))
