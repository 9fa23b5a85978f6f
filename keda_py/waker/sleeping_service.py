"""A Service that sleeps: its rules, its ports, and the calls for its wake.

One call is sent at once for the first request, the next one a second later if there were others, and one every few
seconds while connections wait: however many requests come, the operator hears of one a second.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from keda_py.core.values.object_key import ObjectKey
from keda_py.core.waking.rules import WakeRules, WakeState
from keda_py.waker.service_port import ServicePort
from keda_py.waker.surroundings import Surroundings
from keda_py.waker.wake_calls import WakeCall, WakeCalls

TRUSTED_SECONDS = 15.0
"""After a call it counts as waking for so long, also before the operator has written so: the page must not ask the
person again who has just pressed its button."""


class SleepingService:
    """One Service while a slice of ours leads to wakers, and for a moment after."""

    def __init__(self, namespace: str, rules: WakeRules, around: Surroundings, calls: WakeCalls) -> None:
        self.key = ObjectKey("Service", namespace, rules.service_name)
        self.uid = rules.service_uid
        self.slice_name = ""
        """Name of one of its slices, which a call is written into where the operator cannot be reached."""
        self.is_gone = False
        self.ports: dict[str, ServicePort] = {}
        self._rules, self._around, self._calls = rules, around, calls
        self._called = float("-inf")
        self._last: tuple[str, str, str, datetime] | None = None
        """Client, user agent, port and time of the last request that no call has told yet."""
        self._bell = asyncio.Event()
        self._calling: asyncio.Task[None] | None = None

    @property
    def rules(self) -> WakeRules:
        """Return the rules as the operator wrote them; asleep counts as waking for a moment after a call."""
        if self._rules.state is WakeState.ASLEEP and self._is_called:
            return replace(self._rules, state=WakeState.WAKING)
        return self._rules

    def take_rules(self, rules: WakeRules) -> None:
        """Go by what the operator writes; once pods take the requests, those of the wake ask for nothing any more."""
        self._rules = rules
        if rules.state is WakeState.FORWARDING:
            # The next call would come up to a second later, which may be when it falls asleep again.
            self._last = None

    @property
    def waiting(self) -> int:
        """Return how many connections wait, at all of its ports."""
        return sum(port.waiting for port in self.ports.values())

    @property
    def _is_called(self) -> bool:
        return asyncio.get_running_loop().time() - self._called < TRUSTED_SECONDS

    def ring(self, client: str, agent: str, port: str) -> None:
        """Ask the operator for a wake because of a request; the calls are few, however many requests there are."""
        if self.is_gone or self._rules.state is WakeState.FORWARDING:
            return
        self._called = asyncio.get_running_loop().time()
        self._last = client, agent, port, self._around.clock.now()
        self._bell.set()
        if self._calling is None:
            self._calling = self._around.tasks.create_task(self._call())

    def note_waiting(self) -> None:
        """Show how many wait."""
        self._around.metrics.record_held(self.key, self.waiting)

    async def _call(self) -> None:
        """Call while there is a reason to, then end."""
        limits, told = self._around.limits, self._last
        try:
            while not self.is_gone and (self._last is not None or self.waiting):
                told, self._last = self._last or told, None
                self._bell.clear()
                assert told is not None
                result = await self._calls.send(self._make_call(*told))
                self._around.metrics.record_wake(self.key, result)
                await asyncio.sleep(limits.coalesce)
                with suppress(TimeoutError):
                    async with asyncio.timeout(limits.repeat - limits.coalesce if self.waiting else 0):
                        await self._bell.wait()
        finally:
            self._calling = None

    def _make_call(self, client: str, agent: str, port: str, at: datetime) -> WakeCall:
        return WakeCall(
            namespace=self.key.namespace,
            service=self.key.name,
            slice_name=self.slice_name,
            port=port,
            client=client,
            user_agent=agent,
            at=at,
            waiting=self.waiting,
        )
