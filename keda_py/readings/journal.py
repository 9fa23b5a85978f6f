"""Journal of the work under way, in memory that outlives the process.

`run` drives a coroutine and records it twice: as under way until it ends, and as on the CPU during each of its steps.
Whatever ends the process in between, a fault in native code or the kernel's OOM killer, the pages stay, and the next
process knows which object was being worked on. A step costs two stores into memory, a reading about three microseconds
(`tests/bench`); nothing is ever awaited for it.

`journal_file.py` opens the file; a journal `in_memory` works the same but is never read. One thread runs the work; the
watchdog's thread may call `accuse` while that one hangs.
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

# Saves half of a microsecond. It is small: an entry takes 700 bytes, and fragments memory once it is dropped.
_packed = lru_cache(maxsize=64)(pack)


class Journal:
    """Entries of one process in `memory`, of SIZE bytes.

    What a dead process left there is judged as of `now`, in seconds since 1970; the result is `inherited`.
    """

    def __init__(self, memory: memoryview, now: int = 0) -> None:
        on_cpu, traces = read(bytes(memory))
        self.inherited = tuple(judge(traces, on_cpu, now).values())
        self.trials: set[ObjectKey] = set()
        """Objects whose work is marked as a trial."""
        self.apart: set[ObjectKey] = set()
        """Objects that are read alone, so that another death shows which of them caused it."""
        self.steps = 0
        """Steps begun; the watchdog detects a hanging step by an unchanged number."""
        self._memory, self._cells = memory, memory[:HEADER].cast("I")
        self._group = 0
        self._running: dict[int, list[tuple[int, Work]]] = {}
        self._holds: dict[ObjectKey, int] = {}
        self._free: list[int] = []
        self._spare: list[int] = []
        self._used: Counter[str] = Counter()
        """Slots in use by namespace."""
        self._unwritten: set[int] = set()
        """Groups with work that has no slot."""
        self._lent_slots: dict[int, list[int]] = {}
        """Spare slots of such a group, while a step of it is on the CPU."""
        self._warned_full = False
        self._begin_anew()

    @classmethod
    def in_memory(cls) -> "Journal":
        """Make a journal that ends with the process."""
        return cls(memoryview(bytearray(SIZE)))

    def _begin_anew(self) -> None:
        # What the process before left is in `inherited` by now. A death between here and the last `keep` forgets the
        # holds: then it takes one more death until such an object is known again.
        self._memory[HEADER:] = bytes(SIZE - HEADER)
        self._cells[ON_CPU] = 0
        self._memory[: len(MAGIC)] = MAGIC
        self._free = list(range(SIZE - SLOT, HEADER - 1, -SLOT))
        self._spare = [self._free.pop() for _ in range(SPARE_SLOTS)]
        for hold in sorted(self.inherited, key=lambda hold: -hold.deaths):
            self.keep(hold)

    @coroutine
    def run(self, works: Sequence[Work], work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Drive `work` and return its result; it is under way for each of `works`, and on the CPU for all of them."""
        # Never 0, which says that no step is on the CPU. The number wraps within the 32 bits of its cell.
        self._group = group = self._group % (_GROUPS - 1) + 1
        self._running[group] = written = [(self._write(item, group), item) for item in works]
        if not all(slot for slot, _ in written):
            self._unwritten.add(group)
        try:
            return (yield from self._drive(group, work))
        finally:
            self._unwritten.discard(group)
            for slot, item in self._running.pop(group):
                self._release(slot, item.key.namespace)

    def _drive(self, group: int, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Drive the coroutine, each step between two stores; steps nest if one drives another in the same task."""
        cells, error = self._cells, None
        answer: Any = None
        while True:
            if group in self._unwritten:
                self._lend_spare_slot(group)
            # The store before a step and the one after it are all that a death during the step needs: no lock, no
            # system call. The previous value is restored and not 0, because an outer step goes on after an inner one.
            outer, cells[ON_CPU] = cells[ON_CPU], group
            self.steps += 1
            try:
                waits_for = work.send(answer) if error is None else work.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                cells[ON_CPU] = outer
                if group in self._lent_slots:
                    self._take_back(group)
            try:
                answer, error = (yield waits_for), None
            except GeneratorExit:
                work.close()
                raise
            except BaseException as thrown:  # noqa: BLE001 - the work handles it, above all a cancellation
                error = thrown

    def _lend_spare_slot(self, group: int) -> None:
        """Give work without a slot a spare one for a single step, to be found if the process dies in that step."""
        self._lent_slots[group] = lent = []
        for slot, item in self._running[group]:
            if not slot and self._spare and (entry := _packed(item)):
                lent.append(self._spare.pop())
                self._put(lent[-1], entry, self._mark_of(item), group)

    def _take_back(self, group: int) -> None:
        for slot in self._lent_slots.pop(group):
            self._memory[slot] = 0
            self._spare.append(slot)

    @property
    def on_cpu(self) -> tuple[Work, ...]:
        """Return the work whose step is running: one object's, or that of all members of a batch."""
        return tuple(work for _, work in self._running.get(self._cells[ON_CPU], ()))

    def accuse(self) -> None:
        """Mark the running step as hanging, for the next process; called by the watchdog's thread."""
        # Without a lock, since the thread that hangs might hold it. If the step ends at this very moment, its object is
        # held back although it was only slow: it did block the loop for as long as a Lease is valid, and the process
        # ends next in any case.
        group = self._cells[ON_CPU]
        for slot in (*(slot for slot, _ in self._running.get(group, ())), *self._lent_slots.get(group, ())):
            if slot:
                self._memory[slot] = Mark.HUNG

    def keep(self, hold: Hold) -> None:
        """Record a hold, or the memory of one, in place of the previous record of this object.

        Half of the slots, of all and of each namespace, stay free for work under way, however many cleared holds there
        are.
        """
        self.drop(hold.work.key)
        is_crowded = len(self._holds) >= SLOTS // 2 or self._used[hold.work.key.namespace] >= SLOTS_OF_NAMESPACE // 2
        if not hold.deaths and is_crowded:
            return
        mark = Mark.HELD if hold.held else Mark.CLEARED
        self._holds[hold.work.key] = self._fill(pack_hold(hold), mark, 0, hold.work.key.namespace)

    def drop(self, key: ObjectKey) -> None:
        """Delete the record of an object."""
        self._release(self._holds.pop(key, 0), key.namespace)

    def close(self) -> bool:
        """Release the memory; return whether it holds records that the next process needs."""
        kept = bool(self._holds or self._running)
        self._cells.release()
        self._memory.release()
        return kept

    def _write(self, work: Work, group: int) -> int:
        return self._fill(_packed(work), self._mark_of(work), group, work.key.namespace)

    def _mark_of(self, work: Work) -> Mark:
        return Mark.TRIAL if work.key in self.trials else Mark.UNDER_WAY

    def _fill(self, entry: bytes, mark: Mark, group: int, namespace: str) -> int:
        """Write an entry and return its slot, 0 if the namespace has none left."""
        if not entry or self._used[namespace] >= SLOTS_OF_NAMESPACE:
            return 0
        if not self._free:
            self._report_full()
            return 0
        slot = self._free.pop()
        self._used[namespace] += 1
        self._put(slot, entry, mark, group)
        return slot

    def _put(self, slot: int, entry: bytes, mark: Mark, group: int) -> None:
        """Write an entry, its mark last: if the process dies in between, the slot counts as free."""
        self._memory[slot + 4 : slot + SLOT] = group.to_bytes(4, "little") + entry
        self._memory[slot] = mark

    def _release(self, slot: int, namespace: str) -> None:
        if slot:
            # The mark alone: an entry without one counts as free, and is written whole before it is marked again.
            self._memory[slot] = 0
            self._free.append(slot)
            self._used[namespace] -= 1
            if not self._used[namespace]:
                del self._used[namespace]

    def _report_full(self) -> None:
        if not self._warned_full:
            self._warned_full = True
            log.warning("the journal is full, some work under way is not recorded", extra={"slots": SLOTS})


def owners_of(works: Iterable[Work]) -> list[str]:
    """Return kind/namespace/name of each, for a log line."""
    return [str(work.key) for work in works]
