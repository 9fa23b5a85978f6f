"""The interface between the controller and one kind: how its objects are reconciled, looked at and finalized.

A kind of objects is a model in `apis/`, a row of resources, and a package with a subclass of `Kind`;
`controller.py` does the rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj, Resource
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.troubles import StepError

if TYPE_CHECKING:
    from keda_py.operator.controller.controller import Controller

LONGEST_RETRY = timedelta(seconds=30)
StateT = TypeVar("StateT", bound=Remembered)


class Kind(ABC, Generic[StateT]):
    """`new` makes the memory of one object; `live` is the cache of the kind's objects, by which work becomes due."""

    new: type[StateT]
    live: Informer

    @property
    def resource(self) -> Resource:
        """Group, version and plural of the kind at the API server."""
        return self.live.spec.resource

    async def take_over(self, state: StateT) -> None:
        """Catch up with what another replica did before the object was ours; quick once done. Raises KubeError."""

    @abstractmethod
    async def reconcile(self, state: StateT, live: Obj) -> None:
        """The whole-state pass, which ends with `state.reconciled.finish`. Raises StepError, KubeError, ScalerError."""

    @abstractmethod
    async def look(self, state: StateT) -> None:
        """One look at an object whose reconcile has set `state.spec`; it plans the next one. Raises KubeError."""

    def inputs(self, state: StateT) -> tuple[object, ...] | None:
        """All that a look reads beside its sources, each object replaced when it changes (`fast_path.py`).

        None: this look has to be a whole one. A kind whose looks set `state.snapshot` has to say what it names.
        """
        return None

    def note_same(self, state: StateT, now: datetime) -> None:
        """A look was passed over: go on with what is counted by time."""

    def is_crowded(self, namespace: str) -> bool:
        """Whether so many looks of a namespace wait for each other that its next keys had better begin later."""
        return False

    @abstractmethod
    async def finalize(self, state: StateT, live: Obj) -> None:
        """Clean up after an object that is being deleted, and remove our finalizer. Raises KubeError."""

    async def refresh(self, state: StateT) -> None:
        """Pass on what a watch has shown between two looks and needs no look. Raises KubeError."""

    def forget(self, state: StateT) -> None:
        """Drop what is remembered of an object outside of its state."""

    def hold(self, state: StateT) -> None:
        """The object is held back: its status no longer shows the last look."""

    def note_failure(self, state: StateT, error: StepError, live: Obj) -> None:
        """Note that a reconcile stopped at a step; the controller retries it, or waits for a change."""

    def last_words(self, state: StateT) -> Mapping[str, Any]:
        """The status fields to write before the process ends, such as `lastActiveTime` of an active object."""
        return {}

    def watches(self, controller: "Controller[StateT]") -> Iterable[Callable[[], None]]:
        """Follow other objects whose changes make keys due; returns functions that end that.

        What is there already need not be told: each object is looked at first of all.
        """
        return ()


@dataclass(frozen=True, slots=True)
class UnparsedSpec:
    """Stands for the spec of an object that each look reads anew."""

    polling_interval: timedelta


@dataclass(slots=True)
class LookOnlyMemory(Remembered):
    """State of one object between two looks; nothing of it has to survive a restart."""

    spec: UnparsedSpec | None = None


LookOnlyT = TypeVar("LookOnlyT", bound=LookOnlyMemory)


class LookOnlyKind(Kind[LookOnlyT]):
    """Kind whose looks do all the work, and set when the next one is due; its objects have no finalizer of ours."""

    longest_retry = LONGEST_RETRY

    async def reconcile(self, state: LookOnlyT, live: Obj) -> None:
        state.spec = UnparsedSpec(self.longest_retry)
        state.due.look_now()
        state.reconciled.finish(live)

    async def finalize(self, state: LookOnlyT, live: Obj) -> None:
        state.stop()
