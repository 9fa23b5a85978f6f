"""Batches: meters with one batch_key are read by one request to their source, and one by one while that fails.

A batch that fails as a whole says nothing about any single trigger, so each is read alone once, within its own
time-out. While the source fails, one at a time; the first good answer allows LANE_WIDTH at once again. A meter that
failed alone stays out of the batch until it answers, so that a single hanging trigger delays no other.

HPAs ask one by one, each every 15 s. The first question takes along the meters of those that will ask within a second,
so that 500 objects at work make a request a second in place of thirty.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from keda_py.answers.work_context import working
from keda_py.clock import Clock
from keda_py.core.reading import Outcome
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey
from keda_py.readings.guard import guard
from keda_py.readings.journal import Journal
from keda_py.readings.tracked_metrics import AHEAD_SECONDS, TrackedMetric, check_reading, measure, measure_renewed

LANE_WIDTH = 8
"""Single reads of one source at a time, outside of its batch, while it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Parts of the engine that a source needs: time, tasks, and a receiver of outcomes."""

    clock: Clock
    journal: Journal
    spawn: Callable[[Coroutine[object, None, None]], asyncio.Task[None]]
    complete: Callable[[TrackedMetric, Outcome], None]
    count_batch: Callable[[int], None]

    async def measure(self, meter: TrackedMetric, timeout: float) -> Outcome:
        """Read one scaler within `timeout` seconds, recorded in the journal. Never raises."""
        return await self._run(meter, measure(meter, timeout))

    async def measure_renewed(self, meter: TrackedMetric, error: ScalerError) -> Outcome:
        """Read a meter that failed in a batch again, if its parameters have changed. Never raises."""
        return await self._run(meter, measure_renewed(meter, meter.scaler, error))

    async def _run(self, meter: TrackedMetric, measuring: Coroutine[Any, Any, Outcome]) -> Outcome:
        try:
            async with asyncio.timeout_at(meter.last_call) as meter.patience:
                return await self.journal.run((meter.scalers.work,), measuring)
        except TimeoutError:
            return ScalerError("not read: the object was changed or deleted")
        finally:
            meter.patience = None


class MeterBatch:
    """Meters of one batch_key."""

    def __init__(self, engine: Engine) -> None:
        self.members: dict[TrackedMetric, None] = {}
        self._engine = engine
        self._waiting: list[TrackedMetric] = []
        self._asking = False
        self._lane: deque[tuple[TrackedMetric, float]] = deque()
        self._workers = 0
        self._failing = False
        self._last_error = ""
        self._next_due = math.inf
        """Lower bound of the due times of members that have been read."""
        self._expected_from = -math.inf
        """When members whose HPAs are about to ask are to be looked for again."""

    def add(self, meter: TrackedMetric) -> None:
        """Add a meter, whose due time may be the earliest."""
        self.members[meter] = None
        self._note_due(meter)

    @property
    def unused(self) -> bool:
        """Return whether it has no members and no read under way."""
        return not (self.members or self._asking or self._workers)

    def request(self, meter: TrackedMetric) -> None:
        """Read this meter, whose flight has begun, together with the others that are requested at this instant."""
        self._waiting.append(meter)
        if not self._asking:
            self._asking = True
            self._engine.spawn(self._ask_while_waiting())

    async def _ask_while_waiting(self) -> None:
        with self._engine.clock.busy():
            while self._waiting:
                await asyncio.sleep(0)  # let the other keys that are due at this instant join the batch
                now = self._engine.clock.monotonic()
                self._join_due(now)
                self._join_expected(now)
                waiting, self._waiting = self._waiting, []
                # Suspects first, in the lane: they must not wait for the batch, nor delay it.
                self._read_alone([meter for meter in waiting if meter.suspect])
                await self._read_together([meter for meter in waiting if not meter.suspect])
            self._asking = False

    def _join_due(self, now: float) -> None:
        """Add every meter that is due now, so that 500 objects on one server make one request.

        The members are scanned only if one may be due, not for each new object that is read for the first time.
        """
        if now < self._next_due or not any(meter.due_at <= now for meter in self._waiting):
            return
        self._next_due = math.inf
        for meter in self.members:
            if meter.is_due(now):
                meter.begin()
                self._waiting.append(meter)
            elif meter.due_at > now:
                self._note_due(meter)

    def _join_expected(self, now: float) -> None:
        """Add every meter about which an HPA is about to ask, if one asks now. All members are scanned once a second.

        A source that fails is asked for nothing that is not needed.
        """
        if self._failing or now < self._expected_from or not any(meter.asked for meter in self._waiting):
            return
        self._expected_from = now + AHEAD_SECONDS
        for meter in self.members:
            if not meter.suspect and meter.is_expected(now):
                meter.begin(asked=True)
                self._waiting.append(meter)

    def _note_due(self, meter: TrackedMetric) -> None:
        if meter.due_at > -math.inf:
            self._next_due = min(self._next_due, meter.due_at)

    def _complete(self, meter: TrackedMetric, outcome: Outcome) -> None:
        self._engine.complete(meter, outcome)
        self._note_due(meter)

    async def _read_together(self, meters: Sequence[TrackedMetric]) -> None:
        if len(meters) < 2:
            self._read_alone(meters)
            return
        what = f"{len(meters)} triggers at once"
        self._engine.count_batch(len(meters))
        asking = guard(_ask_all(meters), max(meter.timeout for meter in meters), what=what)
        try:
            answers = await self._engine.journal.run([meter.scalers.work for meter in meters], asking)
        except (ScalerError, ConfigError) as error:
            # One wrong query fails the request for all of them: each is read alone once, within its own time-out.
            self._failing, self._last_error = True, str(error)
            self._read_alone(meters)
            return
        self._failing = False
        for meter, answer in zip(meters, answers, strict=True):
            outcome = check_reading(answer, meter.trigger_type)
            if isinstance(outcome, ScalerError):
                self._engine.spawn(self._retry_renewed(meter, outcome))
            else:
                self._complete(meter, outcome)

    async def _retry_renewed(self, meter: TrackedMetric, error: ScalerError) -> None:
        with self._engine.clock.busy():
            self._complete(meter, await self._engine.measure_renewed(meter, error))

    def _read_alone(self, meters: Sequence[TrackedMetric]) -> None:
        """Queue single reads; meters that failed before go last, so that a hanging trigger starves no other."""
        now = asyncio.get_running_loop().time()
        self._lane.extend((meter, now + meter.timeout) for meter in sorted(meters, key=lambda meter: meter.suspect))
        self._widen()

    def _widen(self) -> None:
        # A source that fails gets one request at a time, so that its time-outs do not occupy connections that other
        # sources need; it is polled as often as before, since failureThreshold counts polls.
        while self._lane and self._workers < (1 if self._failing else LANE_WIDTH):
            self._workers += 1
            self._engine.spawn(self._work(*self._lane.popleft()))

    async def _work(self, meter: TrackedMetric, deadline: float) -> None:
        with self._engine.clock.busy():
            await self._read_in_lane(meter, deadline)
            self._workers -= 1
            self._widen()

    async def _read_in_lane(self, meter: TrackedMetric, deadline: float) -> None:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            late = f"not read within {meter.timeout:g} s, one at a time: {self._last_error}"
            self._complete(meter, ScalerError(late))
            return
        outcome = await self._engine.measure(meter, left)
        # One good answer proves that the source works, and one failure that it may not.
        self._failing = meter.suspect = isinstance(outcome, ScalerError)
        if isinstance(outcome, ScalerError):
            self._last_error = str(outcome)
        self._complete(meter, outcome)


async def _ask_all(meters: Sequence[TrackedMetric]) -> Sequence[object]:
    with working(meters[0].key.namespace, metric=meters[0]):
        answers = tuple(await meters[0].scaler.read_batch([meter.scaler for meter in meters]))
    if len(answers) != len(meters):
        raise ScalerError(f"{len(meters)} triggers at once: {len(answers)} answers")
    return answers


class Sources:
    """All sources by batch_key; a meter without one is read alone."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sources: dict[SharingKey, MeterBatch] = {}

    def request(self, meter: TrackedMetric) -> None:
        """Start the read of a meter whose flight has begun."""
        if meter.joined != meter.scalers.joined_key(meter.metric.trigger_index):
            self.leave(meter)  # renewed with other credentials, so its batch is another one now
            self.join(meter)
        if meter.joined is None:
            self._engine.spawn(self._read(meter))
        else:
            self._sources[meter.joined].request(meter)

    def join(self, meter: TrackedMetric) -> None:
        """Make a meter a member of its source."""
        meter.joined = meter.batch_key
        if meter.joined is not None:
            self._sources.setdefault(meter.joined, MeterBatch(self._engine)).add(meter)

    def leave(self, meter: TrackedMetric) -> None:
        """Undo `join`; a source without members is dropped."""
        joined, meter.joined = meter.joined, None
        if joined is None or (source := self._sources.get(joined)) is None:
            return
        source.members.pop(meter, None)
        if source.unused:
            del self._sources[joined]

    async def _read(self, meter: TrackedMetric) -> None:
        with self._engine.clock.busy():
            self._engine.complete(meter, await self._engine.measure(meter, meter.timeout))
