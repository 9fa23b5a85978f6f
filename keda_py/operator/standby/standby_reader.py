"""What a replica that does not lead needs to answer by itself: scalers, made when asked, and not kept for long.

`forwarding.py` comes here when the holder of the Lease cannot be asked. Nothing is polled, counted or written. What a
scaler was made of may change between questions: then it is dropped, and made anew by the next question. On the
replica that leads, `controller/controller.py` does all this.
"""

import asyncio
import contextlib
from collections.abc import Callable

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies

IDLE_SECONDS = 600.0
CHECK_SECONDS = 60.0


class StandbyReader:
    """`run` in a task for the life of the process; `owns`: an object's scalers are the controller's."""

    def __init__(self, parts: ScaledObjectDependencies, owns: Callable[[ObjectKey], bool]) -> None:
        self._parts, self._owns = parts, owns
        self._stale: set[ObjectKey] = set()
        self._changed = asyncio.Event()
        self._asked_at = float("-inf")

    def note_question(self) -> None:
        """A question is answered here."""
        self._asked_at = asyncio.get_running_loop().time()

    def on_parameters(self, key: ObjectKey, _trigger_index: int) -> None:
        """Something that a trigger was resolved from has changed."""
        self._drop(key)

    async def run(self) -> None:
        """Until cancelled."""
        self._parts.caches.scaled_objects.subscribe(self._on_scaled_object)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._changed.wait()
            self._changed.clear()
            if asyncio.get_running_loop().time() - self._asked_at > IDLE_SECONDS:
                self._stale.update(self._parts.shared.readings.keys())
            await self._forget_stale()

    async def _forget_stale(self) -> None:
        while self._stale:
            key = self._stale.pop()
            # Asked at the moment of forgetting: an object that became ours meanwhile belongs to the controller, with
            # its scalers.
            if not self._owns(key):
                await self._parts.shared.readings.forget(key)
                self._parts.shared.resolver.forget(key)

    def _on_scaled_object(self, old: Obj | None, new: Obj | None) -> None:
        key = ObjectKey.of(SCALED_OBJECTS.kind, new or old or {})
        built = self._parts.shared.readings.built(key)
        if built is None:
            return
        meta = (new or {}).get("metadata") or {}
        if (meta.get("uid"), meta.get("generation")) != (built.spec.uid, built.spec.generation):
            self._drop(key)

    def _drop(self, key: ObjectKey) -> None:
        if not self._owns(key):
            self._stale.add(key)
            self._changed.set()
