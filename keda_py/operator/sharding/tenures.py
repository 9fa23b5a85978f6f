"""Tenures: an object is ours from its tenure's beginning to its end, and each write about it carries its tenure.

The controller takes a tenure with the memory of an object and works under it; `KubeClient.guarded` asks `may_write` as
each write is sent. A tenure that has ended never begins again: where an object is lost and won again in between, what
was decided before is not written any more. `is_quiet` tells the membership when no write of an ended tenure is under
way. Where one replica works on everything, it has a tenure of every object all the same, so that there is one way only.
"""

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from keda_py.answers.work_context import current_work
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.informers.cache import Cache
from keda_py.kube.resources import Obj


@dataclass(slots=True, eq=False)
class Tenure:
    """`epoch` is the review since which its object may be ours; `sending` counts the writes that are under way."""

    key: ObjectKey
    home: "Tenures"
    epoch: int = 0
    ended: bool = False
    sending: int = 0


def may_write(otherwise: Callable[[], bool]) -> bool:
    """Whether the write at hand may be sent; `otherwise` decides on one that is about no object of a controller."""
    tenure = _current()
    return otherwise() if tenure is None else tenure.home.is_live() and not tenure.ended


@contextmanager
def sending() -> Iterator[None]:
    """Count the write at hand as under way."""
    tenure = _current()
    if tenure is None:
        yield
        return
    tenure.sending += 1
    try:
        yield
    finally:
        tenure.sending -= 1
        tenure.home.note_sent(tenure)


def _current() -> Tenure | None:
    tenure = current_work().tenure
    return tenure if isinstance(tenure, Tenure) else None


def _always(_: str = "") -> bool:
    return True


class Tenures:
    """The tenures of one replica. `owns` says whether an object is ours now, `is_live` whether we may write at all."""

    def __init__(self, owns: Callable[[str], bool] = _always, is_live: Callable[[], bool] = _always) -> None:
        self._owns, self.is_live = owns, is_live
        self._running: dict[ObjectKey, Tenure] = {}
        self._leaving: set[Tenure] = set()
        self._listeners: list[Callable[[], None]] = []
        self._epoch = 0

    def follow(self, owns: Callable[[str], bool], is_live: Callable[[], bool]) -> None:
        """Ask these from now on: a membership and its tenures refer to each other."""
        self._owns, self.is_live = owns, is_live

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` whenever another share is ours; what is returned ends that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    def owns(self, key: ObjectKey) -> bool:
        """Whether we may work on it now."""
        return self._owns(str(key))

    def begin(self, key: ObjectKey) -> Tenure:
        """The tenure of an object that is ours; LOST for another's."""
        if not self.owns(key):
            return LOST
        if key not in self._running:
            self._running[key] = Tenure(key, self, self._epoch)
        return self._running[key]

    def count(self, keys: Iterable[ObjectKey]) -> int:
        """How many of these we work on now, by their tenures."""
        return sum(key in self._running for key in keys)

    def end(self, tenure: Tenure) -> None:
        """Its object is gone, or not ours any more."""
        # The tenure itself is marked, not only its entry removed: work that was begun under it asks `may_write` with
        # this very tenure, also where a new one of the same object has begun meanwhile.
        tenure.ended = True
        if self._running.get(tenure.key) is tenure:
            del self._running[tenure.key]
        # A write that is under way cannot be taken back. Until it has ended, the membership does not publish the view
        # that gives the object to another replica.
        if tenure.sending:
            self._leaving.add(tenure)

    def review(self) -> None:
        """The share is another one: end what is not ours any more, then tell those that work."""
        self._epoch += 1
        # All are ended before any listener is called: listeners begin tenures of what has been won, by the new share
        # alone.
        for tenure in [tenure for tenure in self._running.values() if not self.owns(tenure.key)]:
            self.end(tenure)
        for listener in tuple(self._listeners):
            listener()

    async def take_up(self, kind: str, live: Cache, states: Container[ObjectKey], begin: Callable[[Obj], None]) -> None:
        """Begin with the objects of our share that have no state yet, now and after each review, until cancelled.

        In turns: a replica that took up ten thousand at once would not renew its slot meanwhile, and would lose it.
        """
        has_news = asyncio.Event()
        has_news.set()

        def is_to_begin(obj: Obj) -> bool:
            key = ObjectKey.of(kind, obj)
            return key not in states and self.owns(key)

        with ExitStack() as subscription:
            subscription.callback(self.subscribe(has_news.set))
            while await has_news.wait():
                has_news.clear()
                async for obj in live.in_turns(is_to_begin):
                    begin(obj)

    def note_sent(self, tenure: Tenure) -> None:
        """A write under a tenure has ended."""
        if not tenure.sending:
            self._leaving.discard(tenure)

    def is_quiet(self) -> bool:
        """Whether no write of an ended tenure is under way."""
        return not self._leaving


LOST: Final = Tenure(ObjectKey("", "", ""), Tenures(), epoch=-1, ended=True)
"""The tenure of every object that is not ours: it has ended before it began."""
