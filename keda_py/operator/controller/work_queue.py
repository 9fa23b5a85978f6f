"""Keys that are due: polls, watch events, pushes, schedule changes and the HPA's questions only ever make a key due.

A key is never worked on twice at once: what makes it due meanwhile runs it once more afterwards. Each due key gets a
task of its own, so a source that hangs delays only its own key; one that waits for its readings (`read_ahead`) has none
yet, and one whose work needs no wait (`pass_over`) never has. If a whole namespace is due at one instant, only as many
keys begin as its requests to the API server leave room for: work that waits takes some 30 KB, a key next to nothing.
Next in the flow: the controller reconciles and looks at the object of a due key.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf

from keda_py.clock import Clock, Timer
from keda_py.core.values.object_key import ObjectKey

MOST_STALE = 1000
"""Times in the queue at which nothing is due any more, beside as many as there are keys."""
# Keys of one namespace that begin before the loop turns to other work; what they ask for shows some turns later. Where
# only so many are due, they begin even in a crowded one.
A_TURN = 32
CROWDED_SECONDS = 0.01
"""Until a crowded namespace is looked at again."""
log = logging.getLogger(__name__)


class DueQueue:
    """The earliest due time of each key; `work` is awaited once that time has come.

    One timer serves all keys, since a timer of its own would cost each a third of a kilobyte. Keys of a namespace that
    `is_crowded` wait while many of them are due. `read_ahead` starts what the work on a key waits for, and returns a
    future or None. `pass_over` does the whole work at once if it can, and returns when the key is due again, and what
    the time is (both monotonic); None if it cannot.
    """

    def __init__(
        self,
        clock: Clock,
        work: Callable[[ObjectKey], Awaitable[None]],
        *,
        is_crowded: Callable[[str], bool] = lambda namespace: False,
        read_ahead: Callable[[ObjectKey], asyncio.Future[None] | None] = lambda key: None,
        pass_over: Callable[[ObjectKey], tuple[float, float] | None] = lambda key: None,
    ) -> None:
        self._clock = clock
        self._work, self._is_crowded = work, is_crowded
        self._read_ahead, self._pass_over = read_ahead, pass_over
        self._due: dict[ObjectKey, float] = {}
        self._times: list[tuple[float, int, ObjectKey]] = []
        """A heap; an entry counts while `_due` has the same time. The number keeps the order of equal times."""
        self._number = count()
        self._timer: tuple[float, Timer] | None = None
        self._running: set[ObjectKey] = set()
        """Keys that are due and not finished; the virtual clock stands still while there are any."""
        self._holds = ExitStack()
        self._again: set[ObjectKey] = set()
        self._ready: dict[str, deque[ObjectKey]] = {}
        """Keys that are due and have not begun, by namespace."""
        self._ripe: set[ObjectKey] = set()
        """Keys whose `read_ahead` is over."""
        self._any_ready = asyncio.Event()
        self._stopped = False

    def add(self, key: ObjectKey, delay: float = 0.0) -> None:
        """Make `key` due in `delay` seconds, or leave it due earlier if it already is."""
        now = self._clock.monotonic()
        self.add_at(key, now + max(delay, 0.0), now)

    def add_at(self, key: ObjectKey, when: float, now: float | None = None) -> None:
        """The same for a monotonic time, at once where that has passed; `now` saves asking the clock."""
        now = self._clock.monotonic() if now is None else now
        when = max(when, now)
        if self._stopped or key in self._again or self._due.get(key, inf) <= when:
            return
        # The later entry stays in the heap, where `_counts` tells it from the valid one: to remove it would take a
        # search through all entries.
        self._due.pop(key, None)
        if when <= now:
            self._start(key)
        else:
            self._due[key] = when
            heappush(self._times, (when, next(self._number), key))
            self._set_timer(now)

    def discard(self, key: ObjectKey) -> None:
        """Forget when `key` is due; work under way is not interrupted."""
        self._due.pop(key, None)
        self._again.discard(key)

    @property
    def depth(self) -> int:
        """Keys that are due now and not yet finished."""
        return len(self._running) + len(self._again)

    async def run(self) -> None:
        """Work until cancelled. What is under way is cancelled with it."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while await self._any_ready.wait():
                    turn = tuple(self._turn())
                    for key in turn:
                        self._begin(key, tasks)
                    if self._ready:
                        # The work that has begun sends its first requests during this pause, and `is_crowded` counts
                        # them. Without it a namespace of thousands of objects would begin all of them at once.
                        await asyncio.sleep(0 if turn else CROWDED_SECONDS)
                    else:
                        self._any_ready.clear()
        finally:
            self._stop()

    def _begin(self, key: ObjectKey, tasks: asyncio.TaskGroup) -> None:
        # A ripe key comes a second time: its sources have answered, and are not asked again, whether or not what they
        # said takes a whole look.
        if key not in self._ripe and (known := self._read_ahead(key)) is not None:
            known.add_done_callback(partial(self._ripen, key))
            return
        self._ripe.discard(key)
        if (again := self._pass_over(key)) is not None:
            self._end(key, again)
        else:
            tasks.create_task(self._run_one(key), name=f"work {key}")

    def _ripen(self, key: ObjectKey, _: object) -> None:
        if not self._stopped:
            self._ripe.add(key)
            self._make_ready(key)

    def _turn(self) -> Iterator[ObjectKey]:
        """The keys that begin now: a few per namespace, none of a saturated one."""
        for namespace, keys in list(self._ready.items()):
            if len(keys) > A_TURN and self._is_crowded(namespace):
                continue
            for _ in range(min(A_TURN, len(keys))):
                yield keys.popleft()
            if not keys:
                del self._ready[namespace]

    def _set_timer(self, now: float) -> None:
        """Set the one timer to the first time at which a key is due."""
        if len(self._times) > 2 * len(self._due) + MOST_STALE:  # changes may come faster than times pass
            self._times = [entry for entry in self._times if self._counts(entry)]
            heapify(self._times)
        while self._times and not self._counts(self._times[0]):
            heappop(self._times)
        first = self._times[0][0] if self._times else None
        if self._timer is not None and self._timer[0] != first:
            self._timer[1].cancel()
            self._timer = None
        if first is not None and self._timer is None:
            self._timer = first, self._clock.call_later(max(first - now, 0.0), self._fire)

    def _counts(self, entry: tuple[float, int, ObjectKey]) -> bool:
        return self._due.get(entry[2]) == entry[0]

    def _fire(self) -> None:
        # A timer may fire a little before its time by the clock. What it was set for counts as due, or it would be set
        # again for the microseconds that are left.
        now, self._timer = max(self._clock.monotonic(), self._timer[0] if self._timer else 0.0), None
        while self._times and self._times[0][0] <= now:
            entry = heappop(self._times)
            if self._counts(entry):
                del self._due[entry[2]]
                self._start(entry[2])
        self._set_timer(self._clock.monotonic())

    def _start(self, key: ObjectKey) -> None:
        if key in self._running:
            # Once more when this work has ended: two works on one object would overwrite each other's status.
            self._again.add(key)
            return
        if not self._running:
            self._holds.enter_context(self._clock.busy())
        self._running.add(key)
        self._make_ready(key)

    def _make_ready(self, key: ObjectKey) -> None:
        self._ready.setdefault(key.namespace, deque()).append(key)
        self._any_ready.set()

    async def _run_one(self, key: ObjectKey) -> None:
        try:
            await self._work(key)
        finally:
            self._end(key)

    def _end(self, key: ObjectKey, again: tuple[float, float] | None = None) -> None:
        self._running.discard(key)
        if key in self._again:
            self._again.discard(key)
            # The run that begins now plans the next one itself: a time that was planned before would only add one.
            self._due.pop(key, None)
            self._start(key)
            return
        if again is not None:
            self.add_at(key, *again)
        # Last: virtual time must not pass before a key that is due again at once has begun.
        if not self._running:
            self._holds.close()

    def _stop(self) -> None:
        """Drop all due keys and release the virtual clock."""
        self._stopped = True
        if self._timer is not None:
            self._timer[1].cancel()
        self._holds.close()
