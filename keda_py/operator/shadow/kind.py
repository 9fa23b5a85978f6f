"""The steps that shadows of both kinds share; `objects.py` and `jobs.py` add what they read, decide and compare."""

from abc import abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from keda_py.core.reading import Round
from keda_py.core.shadow.comparison import Claim, OtherSide, compare_broken
from keda_py.errors import ConfigError, KubeError, ScalerError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj
from keda_py.operator.controller.after_look import note_decision, schedule_next
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.finalizer import end_loop
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.troubles import StepError
from keda_py.operator.decisions.record import Entry
from keda_py.operator.shadow.comparisons import PAUSED, SLACK, Comparisons

StateT = TypeVar("StateT", bound=Remembered)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowLook:
    """The result of one look: its entry for the record, and what both sides do; only we poll an `idle` object."""

    entry: Entry
    claims: tuple[Claim, ...]
    patience: timedelta
    idle: bool
    look_again_at: datetime | None


class ShadowedKind(Kind[StateT]):
    """A kind for `Controller` that reads, decides and compares, and writes nothing."""

    def __init__(self, parts: Dependencies, comparisons: Comparisons, live: Informer) -> None:
        self._around, self._comparisons, self.live = parts, comparisons, live

    async def reconcile(self, state: StateT, live: Obj) -> None:
        """From a spec to a loop; what stops it is what we would say in Ready. Raises StepError, KubeError."""
        try:
            is_followed = await self._prepare(state, live)
        except (ConfigError, ScalerError, KubeError) as error:
            await self._stop(state)
            self._comparisons.note(state, compare_broken(str(error), self._other_side(state)), SLACK)
            raise StepError(f"a shadow cannot follow it: {error}", error) from error
        if not is_followed:
            await self._stop(state)
            self._comparisons.skip(state, PAUSED)
        state.reconciled.finish(live)

    async def _stop(self, state: StateT) -> None:
        state.stop()
        await self._around.readings.forget(state.key)

    async def look(self, state: StateT) -> None:
        """Observe, decide, and compare in place of applying. Raises KubeError."""
        spec, parts = state.spec, self._around
        if spec is None:
            return
        state.due.looking = True
        try:
            readings = await parts.readings.poll(state.key, state.changed, ahead=state.due.take_answers())
            if readings is None or state.spec is not spec or (look := await self._compare(state, readings)) is None:
                return
            note_decision(parts, state, look.entry)
            parts.instruments.process.record_decision(look.entry.reason.value)
            parts.readings.note_idle(state.key, idle=look.idle)
            self._comparisons.note(state, look.claims, look.patience, readings)
            schedule_next(parts, state, readings, look.look_again_at)
        finally:
            state.due.looking = False

    @abstractmethod
    async def _prepare(self, state: StateT, live: Obj) -> bool:
        """Read the spec and build its scalers; False if it is paused. Raises ConfigError, ScalerError, KubeError."""

    @abstractmethod
    async def _compare(self, state: StateT, readings: Round) -> ShadowLook | None:
        """Decide on what was read, and compare with the other side; None without a spec. Raises KubeError."""

    @abstractmethod
    def _other_side(self, state: StateT) -> OtherSide:
        """Return what the other side says of an object that we cannot follow."""

    async def finalize(self, state: StateT, live: Obj) -> None:
        """Stop; the finalizer is the other side's."""
        await end_loop(self._around, state)

    def forget(self, state: StateT) -> None:
        self._comparisons.forget(state)
