"""Objects that a process died of, or may have: held back, and tried again alone and late.

Between the queue (`operator/controller/work_queue.py`) and the controller. What is held back comes from the journal of
the process before this one, or from a status where another replica has said so; `core/quarantine.py` judges, here the
verdict is kept to. A user may have forged a status: it is worth one trial of its own object, counts as no death, and
goes into no journal. An object whose spec was changed since, or that has been worked on in this term without harm, is
free.

**Alone**: one trial at a time. The lane is handed on when a trial ends, or after a second in which it waits for its
source, since the journal tells who was on the CPU. So 500 innocents whose sources answer in 20 ms are back 15 s after a
start, and 500 whose sources hang take eight minutes at most. **Late**: no trial before everything else had its turn,
counted from when this replica leads. Namespaces take turns in the lane, so that the many objects of one hold up those
of another for a trial at most.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeVar

from keda_py.clock import Clock
from keda_py.core.pacing.activations import Claim, ClaimQueue
from keda_py.core.quarantine import (
    BYSTANDER_SECONDS,
    HOLD_SECONDS,
    Hold,
    Work,
    clear,
    deaths_in,
    describe,
    describe_told,
    edition_of,
    hold_for_namespace_budget,
    read_held_back,
)
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import Obj
from keda_py.readings.journal import Journal

PATIENCE_SECONDS = 1.0
"""A trial that takes longer waits for its source, and others begin."""

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class HeldObject:
    """An object that is held back until `due`, monotonic, which is `until` on the wall clock, in seconds since 1970.

    `in_namespace` are the deaths of its namespace where that is why; `from_status` is true if only its own status says
    so.
    """

    hold: Hold
    due: float
    until: int
    in_namespace: int = 0
    from_status: bool = False
    trying: bool = False

    @property
    def text(self) -> str:
        """The text of its Ready condition and of errors."""
        if self.from_status:
            return describe_told(self.until)
        return describe(self.hold, self.until, self.in_namespace)


class Quarantine:
    """Lets work on objects pass, or holds it back. `journal` is that of this process."""

    def __init__(self, clock: Clock, journal: Journal) -> None:
        self._clock, self.journal = clock, journal
        self._held: dict[ObjectKey, HeldObject] = {}
        self._cleared: dict[ObjectKey, Hold] = {}
        self._proven: dict[ObjectKey, int] = {}
        """The edition of each object that was worked on in this term, and the process lives."""
        self._lane = Lane()
        for hold in journal.inherited:
            journal.apart.add(hold.work.key)
            if hold.held:
                self._held[hold.work.key] = self._hold(hold)
            else:
                self._cleared[hold.work.key] = hold
        self._blamed: tuple[Hold, ...] = ()
        self._note_blamed()

    def begin(self, kind: str, exists: Callable[[ObjectKey], bool]) -> None:
        """This replica leads from now on, and `exists` says whether there is an object of a kind.

        What it lived through before says nothing of what others died of since.
        """
        for key in [key for key in self._proven if key.kind == kind]:
            del self._proven[key]
        for key in tuple(self._cleared):
            self._outlive(key)
        for key, held in tuple(self._held.items()):
            if key.kind == kind and (held.from_status or not exists(key)):
                self._release(held)
            elif key.kind == kind:
                self._held[key] = self._hold(held.hold, held.in_namespace)

    def count(self, kind: str) -> int:
        """How many objects of a kind are held back."""
        return sum(key.kind == kind for key in self._held)

    def review(self, work: Work, live: Obj) -> HeldObject | None:
        """Find out whether an object is held back, and by what; None if it is free, or is being deleted.

        What a status or the deaths of its namespace say for the first time is noted, an outdated hold is ended.
        """
        if live["metadata"].get("deletionTimestamp"):
            self.forget(work.key)  # without trials it would stay due, at once and again
            return None
        # First of all, because nearly every object ends here: it was worked on in this term, and the process lives.
        if self._proven.get(work.key) == work.edition:
            return None
        held = self._held.get(work.key)
        if held is not None and held.hold.work.edition != work.edition:
            self._release(held)  # its user may have mended it
            held = None
        return held or self._told_elsewhere(work, live) or self._hold_for_namespace(work)

    def refusal(self, work: Work, live: Obj) -> str:
        """Why a question about an object is not answered, "" where it may be.

        A replica that does not lead has no trials but these: a question that comes when one is due, and none runs.
        """
        held = self.review(work, live)
        if held is None or (held.due <= self._clock.monotonic() and not held.trying and not self._lane.locked()):
            return ""
        return held.text

    def due(self, key: ObjectKey) -> float | None:
        """When an object that is held back is to be tried, monotonic; None for one that is free or being tried."""
        held = self._held.get(key)
        return held.due if held is not None and not held.trying else None

    async def run(self, work: Work, live: Obj, attempt: Callable[[HeldObject | None], Coroutine[Any, Any, T]]) -> T:
        """`attempt`, told what holds the object back; in the lane, and `trying`, when it is due to be tried again."""
        held = self.review(work, live)
        if held is not None and held.due <= self._clock.monotonic():
            return await self._try(held, work, attempt)
        done = await self.journal.run((work,), attempt(held))
        if held is None:
            # The process has lived through work on this edition, so that later work on it passes `review` at its first
            # line: that is what each poll of each object pays for the quarantine.
            self._proven[work.key] = work.edition
            if work.key in self._cleared:
                self._outlive(work.key)
        return done

    def forget(self, key: ObjectKey) -> None:
        """The object is gone. How often it ended a process is remembered against its namespace all the same."""
        self._proven.pop(key, None)
        held = self._held.get(key)
        if held is not None:
            self._release(held)

    async def _try(
        self, held: HeldObject, work: Work, attempt: Callable[[HeldObject | None], Coroutine[Any, Any, T]]
    ) -> T:
        async with self._turn(work.key.namespace):
            held.trying = True
            self.journal.trials.add(work.key)
            try:
                done = await self.journal.run((work,), attempt(held))
            except Exception:  # the process lives, which is what was tried
                self._pass(held, work)
                raise
            finally:
                held.trying = False
                self.journal.trials.discard(work.key)
        self._pass(held, work)
        return done

    def _pass(self, held: HeldObject, work: Work) -> None:
        if self._held.get(work.key) is held:
            self._release(held)
        self._proven[work.key] = work.edition

    @asynccontextmanager
    async def _turn(self, namespace: str) -> AsyncIterator[None]:
        await self._lane.acquire(namespace)
        with ExitStack() as held:
            held.callback(self._lane.release)
            # Real time: how long a source takes has nothing to do with the clock of decisions.
            timer = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, held.close)
            try:
                yield
            finally:
                timer.cancel()

    def _told_elsewhere(self, work: Work, live: Obj) -> HeldObject | None:
        """What another replica has found out, and put into the status; or what its user has put there."""
        status, generation = live.get("status") or {}, live["metadata"].get("generation", 0)
        if not shows_hold(status):
            return None
        hold = read_held_back(status, work, generation, self._seconds())
        if hold is None:
            return None
        self.journal.apart.add(work.key)
        # Without its deaths: the status may be forged, and they would count against the whole namespace.
        self._held[work.key] = held = self._hold(replace(hold, deaths=0))
        held.from_status = True
        return held

    def _hold_for_namespace(self, work: Work) -> HeldObject | None:
        hold = hold_for_namespace_budget(work, self._blamed, self._seconds()) if self._blamed else None
        if hold is None:
            return None
        deaths = deaths_in(work.key.namespace, self._blamed, self._seconds())
        self._held[work.key] = held = self._hold(hold, deaths)
        return held

    def _hold(self, hold: Hold, in_namespace: int = 0) -> HeldObject:
        """Hold an object back from now on: however long it has waited already, all others have their turn first."""
        first = HOLD_SECONDS[0] if hold.deaths or in_namespace else BYSTANDER_SECONDS
        now = self._seconds()
        left = min(max(hold.until - now, first), HOLD_SECONDS[-1])
        due = self._clock.monotonic() + left
        return HeldObject(hold=hold, due=due, until=now + left, in_namespace=in_namespace)

    def _release(self, held: HeldObject) -> None:
        """It is free; what it did is remembered."""
        key = held.hold.work.key
        del self._held[key]
        if held.from_status:
            # What only a status said leaves no trace: a forged one must not keep the object out of batches.
            if key not in self._cleared:
                self.journal.apart.discard(key)
        elif not held.in_namespace:
            self._cleared[key] = hold = clear(held.hold, self._seconds())
            self.journal.keep(hold)
            self._note_blamed()

    def _outlive(self, key: ObjectKey) -> None:
        """Forget what was long enough ago."""
        hold = self._cleared.get(key)
        if hold is not None and self._seconds() > hold.forgotten_at:
            del self._cleared[key]
            self.journal.drop(key)
            self.journal.apart.discard(key)
            self._note_blamed()

    def _note_blamed(self) -> None:
        holds = (*(held.hold for held in self._held.values()), *self._cleared.values())
        self._blamed = tuple(hold for hold in holds if hold.deaths)

    def _seconds(self) -> int:
        return int(self._clock.now().timestamp())


class Lane:
    """One at a time, namespaces in turn."""

    def __init__(self) -> None:
        self._line, self._numbers, self._taken = ClaimQueue(), count(), False
        self._waiting: dict[Hashable, asyncio.Future[None]] = {}

    def locked(self) -> bool:
        """Whether one is under way."""
        return self._taken

    async def acquire(self, namespace: str) -> None:
        """Wait for its turn; `release` ends it."""
        if not self._taken:
            self._taken = True
            return
        number = next(self._numbers)
        turn = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._line.add(Claim(number, namespace))
        try:
            await turn
        except asyncio.CancelledError:
            self._line.discard(number)
            self._waiting.pop(number, None)
            if not turn.cancelled():  # its turn had come
                self.release()
            raise

    def release(self) -> None:
        """The next one may begin."""
        while (claim := self._line.pop()) is not None:
            turn = self._waiting.pop(claim.key)
            if not turn.done():  # else it was cancelled, and has not heard of that yet
                turn.set_result(None)
                return
        self._taken = False


def shows_hold(status: object) -> bool:
    """Whether a status, of which nothing is known, says that its object is held back; nearly none does."""
    own = status.get("kedaPy") if isinstance(status, Mapping) else None
    return isinstance(own, dict) and "heldBack" in own


def work_on(key: ObjectKey, live: Obj) -> Work:
    """How the journal calls an object as the API server has it now."""
    metadata = live["metadata"]
    edition = edition_of(str(metadata.get("uid", "")), int(metadata.get("generation", 0)))
    return Work(key, edition)
