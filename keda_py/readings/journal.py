"""The journal: what is under way, in memory that outlives the process.

`run` drives a coroutine and has the journal name it twice: as under way until it ends, and as on the CPU during each
of its steps. Whatever ends the process in between, a fault in native code or the kernel's last resort when memory runs
out, the pages stay, and the next process knows which object was being worked on. A step costs two stores into memory,
a reading about three microseconds (`tests/bench`); nothing is ever waited for.

`journal_file.py` opens the file; a journal `in_memory` is the same without anybody to read it. One thread runs the
work; the watchdog's may call `accuse` while that one hangs.
"""

import logging
from collections import Counter
from collections.abc import Coroutine, Generator, Iterable, Sequence
from functools import lru_cache
from types import coroutine
from typing import Any, TypeVar

from keda_py.core.quarantine import Hold, Mark, Work, judge
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.journal_bytes import (
    HEADER,
    MAGIC,
    ON_CPU,
    SIZE,
    SLOT,
    SLOTS,
    SLOTS_OF_NAMESPACE,
    SPARE_SLOTS,
    pack,
    pack_hold,
    read,
)

T = TypeVar("T")

_GROUPS = 2**32

log = logging.getLogger(__name__)

_packed = lru_cache(maxsize=64)(pack)
"""Half a microsecond saved, of one. Kept, each is 700 bytes and a hole in the allocator once its object is gone."""


class Journal:
    """The entries of one process in `memory`, of SIZE bytes. What a dead one left there is judged, as of `now` in
    seconds since 1970, and stands in `inherited`."""

    def __init__(self, memory: memoryview, now: int = 0) -> None:
        on_cpu, traces = read(bytes(memory))
        self.inherited = tuple(judge(traces, on_cpu, now).values())
        self.trials: set[ObjectKey] = set()
        """Objects whose work is marked as a trial."""
        self.apart: set[ObjectKey] = set()
        """Objects that are not read together with others, so that it shows which of them it was."""
        self.steps = 0
        """How many steps have begun; one that goes on for long does not change it."""
        self._memory, self._cells = memory, memory[:HEADER].cast("I")
        self._group = 0
        self._running: dict[int, list[tuple[int, Work]]] = {}
        self._holds: dict[ObjectKey, int] = {}
        self._free: list[int] = []
        self._spare: list[int] = []
        self._used: Counter[str] = Counter()
        """Slots by namespace."""
        self._unwritten: set[int] = set()
        """Groups that have work without a slot of its own."""
        self._lent: dict[int, list[int]] = {}
        """Spare slots that such a group has while a step of it is on the CPU."""
        self._told_full = False
        self._begin_anew()

    @classmethod
    def in_memory(cls) -> "Journal":
        """One that ends with the process."""
        return cls(memoryview(bytearray(SIZE)))

    def _begin_anew(self) -> None:
        self._memory[HEADER:] = bytes(SIZE - HEADER)
        self._cells[ON_CPU] = 0
        self._memory[: len(MAGIC)] = MAGIC
        self._free = list(range(SIZE - SLOT, HEADER - 1, -SLOT))
        self._spare = [self._free.pop() for _ in range(SPARE_SLOTS)]
        for hold in sorted(self.inherited, key=lambda hold: -hold.deaths):
            self.keep(hold)

    @coroutine
    def run(self, works: Sequence[Work], work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """What `work` returns or raises; it is under way for each of `works`, and on the CPU for all of them."""
        self._group = group = self._group % (_GROUPS - 1) + 1
        self._running[group] = written = [(self._write(one, group), one) for one in works]
        if not all(slot for slot, _ in written):
            self._unwritten.add(group)
        try:
            return (yield from self._drive(group, work))
        finally:
            self._unwritten.discard(group)
            for slot, one in self._running.pop(group):
                self._release(slot, one.key.namespace)

    def _drive(self, group: int, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Each step between two stores; steps nest where one coroutine drives another in the same task."""
        cells, error = self._cells, None
        answer: Any = None
        while True:
            if group in self._unwritten:
                self._lend(group)
            outer, cells[ON_CPU] = cells[ON_CPU], group
            self.steps += 1
            try:
                waits_for = work.send(answer) if error is None else work.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                cells[ON_CPU] = outer
                if group in self._lent:
                    self._take_back(group)
            try:
                answer, error = (yield waits_for), None
            except GeneratorExit:
                work.close()
                raise
            except BaseException as thrown:  # noqa: BLE001 - it is the work's to handle: a cancellation most of all
                error = thrown

    def _lend(self, group: int) -> None:
        """Write work without a slot down as long as one step of it lasts: it is found if the process dies of that."""
        self._lent[group] = lent = []
        for slot, one in self._running[group]:
            if not slot and self._spare and (entry := _packed(one)):
                lent.append(self._spare.pop())
                self._put(lent[-1], entry, self._mark_of(one), group)

    def _take_back(self, group: int) -> None:
        for slot in self._lent.pop(group):
            self._memory[slot] = 0
            self._spare.append(slot)

    @property
    def on_cpu(self) -> tuple[Work, ...]:
        """Whose step has begun and not ended; one, or all members of a common question."""
        return tuple(work for _, work in self._running.get(self._cells[ON_CPU], ()))

    def accuse(self) -> None:
        """The step that is on the CPU does not end: say so to the next process."""
        group = self._cells[ON_CPU]
        for slot in (*(slot for slot, _ in self._running.get(group, ())), *self._lent.get(group, ())):
            if slot:
                self._memory[slot] = Mark.HUNG

    def keep(self, hold: Hold) -> None:
        """Write a hold down, or what is remembered of one, instead of what was said of this object before.

        Half of the slots, of all and of a namespace, are for others, whatever there is to remember of the innocent.
        """
        self.drop(hold.work.key)
        is_crowded = len(self._holds) >= SLOTS // 2 or self._used[hold.work.key.namespace] >= SLOTS_OF_NAMESPACE // 2
        if not hold.deaths and is_crowded:
            return
        mark = Mark.HELD if hold.held else Mark.CLEARED
        self._holds[hold.work.key] = self._fill(pack_hold(hold), mark, 0, hold.work.key.namespace)

    def drop(self, key: ObjectKey) -> None:
        """Nothing is to be remembered of that object."""
        self._release(self._holds.pop(key, 0), key.namespace)

    def close(self) -> bool:
        """Let the memory go. True when it holds something that the next process has to know."""
        kept = bool(self._holds or self._running)
        self._cells.release()
        self._memory.release()
        return kept

    def _write(self, work: Work, group: int) -> int:
        return self._fill(_packed(work), self._mark_of(work), group, work.key.namespace)

    def _mark_of(self, work: Work) -> Mark:
        return Mark.TRIAL if work.key in self.trials else Mark.UNDER_WAY

    def _fill(self, entry: bytes, mark: Mark, group: int, namespace: str) -> int:
        """The slot, 0 if none is left for the namespace."""
        if not entry or self._used[namespace] >= SLOTS_OF_NAMESPACE:
            return 0
        if not self._free:
            self._tell_full()
            return 0
        slot = self._free.pop()
        self._used[namespace] += 1
        self._put(slot, entry, mark, group)
        return slot

    def _put(self, slot: int, entry: bytes, mark: Mark, group: int) -> None:
        """The mark comes last: a death in between leaves a free slot."""
        self._memory[slot + 4 : slot + SLOT] = group.to_bytes(4, "little") + entry
        self._memory[slot] = mark

    def _release(self, slot: int, namespace: str) -> None:
        if slot:
            self._memory[slot] = 0
            self._free.append(slot)
            self._used[namespace] -= 1
            if not self._used[namespace]:
                del self._used[namespace]

    def _tell_full(self) -> None:
        if not self._told_full:
            self._told_full = True
            log.warning("the journal is full, not all that is under way is written down", extra={"slots": SLOTS})


def owners_of(works: Iterable[Work]) -> list[str]:
    """For a log line: kind/namespace/name of each."""
    return [str(work.key) for work in works]
