"""Short polls at zero: sources that cannot push are asked several times a second about their idle objects.

One request per source (`batch_key`) covers all its objects at zero; above zero, polls and the HPA's requests are
enough. The answer is a hint and not a reading: a trigger that seems active is read as if its source had pushed, and
failures are left to the polls, so that a fallback does not count them.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from keda_py.answers.work_context import working
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey
from keda_py.readings.batching import Engine
from keda_py.readings.guard import guard
from keda_py.readings.scaler_set import ScalerSet
from keda_py.readings.tracked_metrics import check_reading

# A source gets these requests for at most a tenth of the time: a pause is nine times as long as the answer took.
SHARE_OF_TIME = 10
# Requests to all sources together: above 40 sources each is asked less often. Namespaces have equal shares.
MOST_A_SECOND = 100
PUSH_PAUSE, FIRST_PAUSE, LONGEST_PAUSE = 1.0, 1.0, 60.0
"""Seconds until the next request: for a trigger that seemed active; for a source that fails, growing each time.

A single trigger that fails, for example because its queue is missing, waits for the longest.
"""

log = logging.getLogger(__name__)

Member = tuple[ScalerSet, int]


@dataclass(slots=True)
class _ZeroSource:
    """Triggers of one source, each with the monotonic time from which on it is asked about."""

    namespace: str
    members: dict[Member, float] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None
    asking: bool = False


class ZeroPolls:
    """Tasks that ask about idle objects, one for each source, inside of `asking`.

    `interval` is in seconds of the decision clock; 0: never.
    """

    def __init__(self, engine: Engine, interval: float, pushed: Callable[[ScalerSet, int], Awaitable[None]]) -> None:
        self._engine, self._interval, self._pushed = engine, interval, pushed
        self._sources: dict[SharingKey, _ZeroSource] = {}
        self._counts: Counter[str] = Counter()
        """Sources by namespace."""
        self._idle: dict[ScalerSet, tuple[tuple[SharingKey, int], ...]] = {}
        self._on = False

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask while inside; for the replica that polls."""
        self._on = self._interval > 0
        try:
            yield
        finally:
            self._on = False
            for scalers in tuple(self._idle):
                self.end(scalers)

    def note_idle(self, scalers: ScalerSet, *, idle: bool) -> None:
        """Ask about the triggers of an object while it is idle."""
        if not (idle and self._on):
            self.end(scalers)
            return
        wanted = self._due_triggers(scalers)
        if self._idle.get(scalers) == wanted:
            return
        self.end(scalers)
        self._idle[scalers] = wanted
        for key, index in wanted:
            source = self._sources.get(key) or self._begin(key, scalers.spec.namespace)
            source.members[scalers, index] = 0.0

    def renew(self, scalers: ScalerSet) -> None:
        """Follow a renewed scaler, which may belong to another source."""
        if scalers in self._idle:
            self.note_idle(scalers, idle=True)

    def _begin(self, key: SharingKey, namespace: str) -> _ZeroSource:
        source = self._sources[key] = _ZeroSource(namespace=namespace)
        self._counts[namespace] += 1
        source.task = self._engine.spawn(self._ask_often(source))
        return source

    def _due_triggers(self, scalers: ScalerSet) -> tuple[tuple[SharingKey, int], ...]:
        """Return the triggers to ask about, by their current scalers."""
        often = (index for index, scaler in enumerate(scalers.scalers) if scaler.asked_often_at_zero)
        keys = ((scalers.batch_key(index), index) for index in often)
        return tuple((key, index) for key, index in keys if key is not None)

    def end(self, scalers: ScalerSet) -> None:
        """Stop asking about an object; a request under way is not cancelled, which would close its connection."""
        for key, index in self._idle.pop(scalers, ()):
            source = self._sources[key]
            del source.members[scalers, index]
            if not source.members:
                del self._sources[key]
                self._counts[source.namespace] -= 1
                if not self._counts[source.namespace]:
                    del self._counts[source.namespace]
                if source.task is not None and not source.asking:
                    source.task.cancel()

    async def _ask_often(self, source: _ZeroSource) -> None:
        loop, clock, fails = asyncio.get_running_loop(), self._engine.clock, 0.0
        pause = self._interval
        while True:
            # The pause grows with the number of sources: MOST_A_SECOND bounds them all, and namespaces share it
            # equally.
            await clock.sleep(max(pause, self._counts[source.namespace] * len(self._counts) / MOST_A_SECOND))
            if not source.members:
                return
            began, now = loop.time(), clock.monotonic()
            members = [member for member, since in source.members.items() if since <= now]
            source.asking = True
            answered = not members or await self._ask(source, members)
            source.asking = False
            fails = 0.0 if answered else min(max(2 * fails, FIRST_PAUSE), LONGEST_PAUSE)
            pause = max(self._interval, fails, (SHARE_OF_TIME - 1) * (loop.time() - began))

    async def _ask(self, source: _ZeroSource, members: Sequence[Member]) -> bool:
        """Ask once; return whether the source answered."""
        first, index = members[0]
        timeout = max(scalers.timeout(index) for scalers, index in members)
        asking = guard(self._read(members), timeout, what=f"{len(members)} triggers at zero")
        try:
            with self._engine.clock.busy(), working(first.spec.namespace):
                answers = await self._engine.journal.run([scalers.work for scalers, _ in members], asking)
                self._note(source, members, answers)
        except (ScalerError, ConfigError) as error:
            names = first.spec.key.log_fields | {"trigger": index, "error": str(error)}
            log.debug("short poll at zero failed", extra=names)
            return False
        return True

    async def _read(self, members: Sequence[Member]) -> Sequence[object]:
        scalers = [opened.scaler(index) for opened, index in members]
        answers = tuple(await scalers[0].read_batch(scalers))
        if len(answers) != len(scalers):
            raise ScalerError(f"{len(scalers)} triggers at once: {len(answers)} answers")
        return answers

    def _note(self, source: _ZeroSource, members: Sequence[Member], answers: Sequence[object]) -> None:
        now = self._engine.clock.monotonic()
        for member, answer in zip(members, answers, strict=True):
            if member not in source.members:
                continue  # its object has left zero meanwhile
            scalers, index = member
            reading = check_reading(answer, scalers.spec.triggers[index].type)
            if isinstance(reading, ScalerError):
                source.members[member] = now + LONGEST_PAUSE
            elif reading.value > scalers.activation(index) if reading.active is None else reading.active:
                # Not asked again at once: until its workload is up, the trigger would seem active each time.
                source.members[member] = now + PUSH_PAUSE
                self._engine.spawn(self._push(scalers, index))

    async def _push(self, scalers: ScalerSet, index: int) -> None:
        with self._engine.clock.busy():
            await self._pushed(scalers, index)
