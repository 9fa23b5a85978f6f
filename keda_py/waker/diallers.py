"""Connections to pods that are ready, for the clients that wait at one port.

One dialler finds out whether a pod accepts; once it does, more of them work, so that 10 000 that wait do not knock
together at a pod that is still starting. The connection that has waited longest is served first.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeAlias

from keda_py.waker.connection import Connection, PodSide
from keda_py.waker.surroundings import Surroundings

Door: TypeAlias = tuple[str, int]
"""Address and port of a pod that is ready."""

RETRY_SECONDS = (0.02, 0.05, 0.1, 0.2)
"""Pauses after no pod accepted: mostly it is Ready a moment before its network is."""
AVOIDED_SECONDS = 5.0
"""A pod that did not accept is tried last for so long."""
TRIES = 8
"""Pods tried before the pause."""


class Line(Protocol):
    """Connections that wait: `ServicePort`."""

    @property
    def waiting(self) -> int: ...

    def next_waiting(self) -> Connection | None: ...

    def opened(self, connection: Connection) -> None: ...

    def ring_again(self) -> None: ...


class Diallers:
    """Tasks that open connections to the pods of one port while any client waits and any pod is ready."""

    def __init__(self, around: Surroundings, line: Line) -> None:
        self._around, self._line = around, line
        self.doors: tuple[Door, ...] = ()
        self._working = 0
        self._accepts = False
        self._turn = 0
        self._avoided: dict[Door, float] = {}

    def update(self, doors: Sequence[Door]) -> None:
        """Take the pods that are ready now."""
        self.doors = tuple(doors)
        self._avoided = {door: until for door, until in self._avoided.items() if door in self.doors}
        self._accepts = self._accepts and bool(doors)
        self.dial()

    def dial(self) -> None:
        """See to it that enough diallers work."""
        most = self._around.limits.dials_at_once if self._accepts else 1
        wanted = min(most, self._line.waiting) if self.doors else 0
        while self._working < wanted:
            self._working += 1
            self._around.tasks.create_task(self._work())

    async def _work(self) -> None:
        failures = 0
        try:
            while self._line.waiting and self.doors:
                pod = await self._open()
                if pod is not None:
                    failures = 0
                    self._hand_over(pod)
                elif self._working > 1:
                    return  # the last one goes on trying
                else:
                    self._line.ring_again()
                    await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
                    failures += 1
        finally:
            self._working -= 1

    def _hand_over(self, pod: PodSide) -> None:
        connection = self._line.next_waiting()
        assert pod.transport is not None
        if connection is None:
            pod.transport.abort()
            return
        self._accepts = True
        self._line.opened(connection)
        connection.take(pod)
        self.dial()

    async def _open(self) -> PodSide | None:
        """Try pods in turn, those that lately did not accept last. Return None if none accepts."""
        loop = asyncio.get_running_loop()
        self._turn += 1
        turned = [self.doors[(self._turn + offset) % len(self.doors)] for offset in range(len(self.doors))]
        for door in sorted(turned, key=lambda door: self._avoided.get(door, 0.0) > loop.time())[:TRIES]:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._around.limits.dial):
                    _, pod = await loop.create_connection(partial(PodSide, self._around.buffer), *door)
                if not pod.is_lost:
                    return pod
            self._avoided[door] = loop.time() + AVOIDED_SECONDS
            self._accepts = False
        return None
