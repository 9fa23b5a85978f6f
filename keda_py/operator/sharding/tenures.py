"""Tenures: an object is ours from its tenure's beginning to its end, and each write about it carries its tenure.

The controller takes a tenure with the memory of an object and works under it; `KubeClient.guarded` asks `may_write` as
each write is sent. A tenure that has ended never begins again: where an object is lost and won again in between, what
was decided before is not written any more. `is_quiet` tells the membership when nothing of an ended one is under way.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

from keda_py.core.values.object_key import ObjectKey


@dataclass(slots=True, eq=False)
class Tenure:
    """`epoch` is the review since which its object may be ours; `sending` counts the writes that are under way."""

    key: ObjectKey
    epoch: int = 0
    ended: bool = False
    sending: int = 0


_tenure: ContextVar[Tenure | None] = ContextVar("tenure", default=None)
_NOTHING = nullcontext()


def working_under(tenure: Tenure | None) -> AbstractContextManager[None]:
    """What is written inside is about its object; None, where nothing is shared out, leaves it as it is."""
    return _NOTHING if tenure is None else _working_under(tenure)


@contextmanager
def _working_under(tenure: Tenure) -> Iterator[None]:
    token = _tenure.set(tenure)
    try:
        yield
    finally:
        _tenure.reset(token)


class Tenures:
    """Those of one replica. `owns` says whether an object is ours now."""

    def __init__(self) -> None:
        self._owns: Callable[[str], bool] = lambda _: False
        self._is_live: Callable[[], bool] = lambda: False
        self._running: dict[ObjectKey, Tenure] = {}
        self._leaving: set[Tenure] = set()
        self._listeners: list[Callable[[], None]] = []
        self._epoch = 0

    def follow(self, owns: Callable[[str], bool], is_live: Callable[[], bool]) -> None:
        """What says whose an object is, and whether we may write at all."""
        self._owns, self._is_live = owns, is_live

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` whenever another share is ours; what is returned ends that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    def owns(self, key: ObjectKey) -> bool:
        """Whether we may work on it now."""
        return self._owns(str(key))

    def begin(self, key: ObjectKey) -> Tenure | None:
        """The tenure of an object that is ours, None for another's."""
        if not self.owns(key):
            return None
        if key not in self._running:
            self._running[key] = Tenure(key, self._epoch)
        return self._running[key]

    def count(self, keys: Iterable[ObjectKey]) -> int:
        """How many of these we work on now, by their tenures."""
        return sum(key in self._running for key in keys)

    def end(self, tenure: Tenure) -> None:
        """Its object is gone, or not ours any more."""
        tenure.ended = True
        if self._running.get(tenure.key) is tenure:
            del self._running[tenure.key]
        if tenure.sending:
            self._leaving.add(tenure)

    def review(self) -> None:
        """The share is another one: end what is not ours any more, then tell those that work."""
        self._epoch += 1
        for tenure in [tenure for tenure in self._running.values() if not self.owns(tenure.key)]:
            self.end(tenure)
        for listener in tuple(self._listeners):
            listener()

    def is_quiet(self) -> bool:
        """Whether no write of an ended tenure is under way."""
        return not self._leaving

    def may_write(self, otherwise: bool) -> bool:
        """Whether the write at hand may be sent; `otherwise`: one that is about no object that is shared out."""
        tenure = _tenure.get()
        return otherwise if tenure is None else self._is_live() and not tenure.ended

    @contextmanager
    def sending(self) -> Iterator[None]:
        """A write is under way."""
        tenure = _tenure.get()
        if tenure is None:
            yield
            return
        tenure.sending += 1
        try:
            yield
        finally:
            tenure.sending -= 1
            if not tenure.sending:
                self._leaving.discard(tenure)
