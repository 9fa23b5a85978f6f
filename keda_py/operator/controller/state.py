"""What the operator remembers of one object between two looks; everything else is in the API."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from keda_py.apis.foreign import text_at
from keda_py.core.metric_names import MetricSet
from keda_py.core.quarantine import Work
from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import Obj, Resource
from keda_py.operator.decisions.dropped import Evidence
from keda_py.operator.decisions.history import History
from keda_py.operator.process.quarantine import shows_hold, work_on
from keda_py.operator.sharding.tenures import Tenure

NOTHING: frozenset[Any] = frozenset()
"""One for all objects: an empty set of its own takes 216 bytes."""


class LookedAt(Protocol):
    """A spec of any kind, as far as looks are concerned: what failed is tried again after that time at most."""

    @property
    def polling_interval(self) -> timedelta: ...


@dataclass(slots=True)
class Remembered:
    """One object's memory, made by its first watch event and dropped with its last. The object itself is the cache's:
    what is held here of an older one would be there twice until the next look.

    `spec` and `metrics` are set while a scale loop runs. `fingerprint` is what the last finished reconcile was made
    of, `reconciled` a version that was found to be of it, `reconciling` what the reconcile under way is made of,
    `attempts` counts those that failed since. `next_look` is monotonic seconds, 0: now. `overlaid`: what
    lies over the spec has changed since the last reconcile began. `ahead`: its sources were asked before this piece of
    work, whose look has not taken the answers yet. `failures` are the trigger errors already told,
    `stale` the triggers whose parameters may have changed, `troubles` what was logged as wrong since all was well.
    `without_worker` is for what a reconcile waits for: others have its worker meanwhile. `stored` is the status as
    the API server has it; `staged` are fields that go there with the next write, None for one that it shall not have
    (`status.py`). `history` is None until a decision changed. `tenure` is None for an object that is another replica's.
    `work` is how the journal calls `begun`, the version on which work began last. `shows_hold`: its stored
    status says that it is held back. `dropped` are parts of its status that the API server did not keep, and until when
    that is believed (`decisions/dropped.py`).
    """

    resource: Resource
    key: ObjectKey
    uid: str
    spec: LookedAt | None = None
    metrics: MetricSet | None = None
    stored: Mapping[str, Any] = field(default_factory=dict)
    staged: Mapping[str, Any] = field(default_factory=dict)
    version: int = -1
    fingerprint: int | None = None
    reconciled: str | None = None
    reconciling: int | None = None
    attempts: int = 0
    next_look: float = 0.0
    looking: bool = False
    ahead: bool = False
    overlaid: bool = False
    failures: tuple[str, ...] = ()
    stale: frozenset[int] = NOTHING
    troubles: frozenset[str] = NOTHING
    history: History | None = None
    tenure: Tenure | None = None
    changed: asyncio.Future[None] | None = None
    begun: str = ""
    work: Work | None = None
    shows_hold: bool = False
    dropped: Evidence | None = None
    without_worker: Callable[[], AbstractAsyncContextManager[None]] = nullcontext

    @property
    def status(self) -> Mapping[str, Any]:
        """The status as it is, or will be with the next write."""
        if not self.staged:
            return self.stored
        return {name: value for name, value in {**self.stored, **self.staged}.items() if value is not None}

    def remember(self, live: Mapping[str, Any]) -> None:
        """Take the status of a written object over, unless the cache has that version, or a later one, already.

        An answer that is not about this object says nothing of it.
        """
        if not is_about(self, live):
            return
        if (version := version_of(live)) > self.version or not version:
            self._take(live)

    def follow(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> None:
        """Take over what a cache says, where `old` was before: even back in time, as after a restore from a backup."""
        if (old is not None and version_of(new) < version_of(old)) or version_of(new) >= self.version:
            self._take(new)

    def forget_version(self, live: Mapping[str, Any] | None) -> None:
        """The API server has gone back in time, `live` is what it had before: no own write counts as later."""
        self.version = -1
        if live is not None:
            self.follow(None, live)

    def _take(self, live: Mapping[str, Any]) -> None:
        self.version, self.stored = version_of(live), live.get("status") or {}
        self.shows_hold = shows_hold(self.stored)

    def is_reconciled(self, live: Mapping[str, Any]) -> bool:
        """Whether the last finished reconcile was made of `live`; most looks find the version of the one before."""
        if self.fingerprint is None:
            return False
        if (version := live["metadata"].get("resourceVersion", "")) != self.reconciled:
            self.reconciled = version if self.fingerprint == fingerprint_of(live) else None
        return self.reconciled is not None

    def begin(self, live: Obj | None) -> Work | None:
        """Work on it begins; `changed` is done as soon as that work is no longer up to date.

        How the journal calls it, None where `live`, the object as cached, is gone.
        """
        self.changed = asyncio.get_running_loop().create_future()
        if live is None:
            return None
        if (version := live["metadata"].get("resourceVersion", "")) != self.begun or self.work is None:
            self.begun, self.work = version, work_on(self.key, live)
        return self.work

    def take_ahead(self) -> bool:
        """Whether its sources were asked ahead; the second time they were not."""
        ahead, self.ahead = self.ahead, False
        return ahead

    def interrupt(self) -> None:
        """The object was changed or deleted: what waits for its sources need not wait any longer."""
        if self.changed is not None and not self.changed.done():
            self.changed.set_result(None)

    def stop(self) -> None:
        """No scale loop any more: paused, broken, or about to be deleted."""
        self.spec = self.metrics = None
        self.fingerprint = None


def fingerprint_of(live: Mapping[str, Any]) -> int:
    """What a reconcile is made of, as a hash: while it stays the same, there is nothing to do."""
    meta = live["metadata"]
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != NAME_LABEL}
    annotations = meta.get("annotations") or {}
    whole = (meta["uid"], meta.get("generation"), tuple(sorted(labels.items())), tuple(sorted(annotations.items())))
    return hash(whole)


def version_of(live: Mapping[str, Any]) -> int:
    """The object's resourceVersion as a number, comparable since Kubernetes promises that they grow."""
    text = (live.get("metadata") or {}).get("resourceVersion", "")
    return int(text) if text.isdigit() else 0


def is_about(state: Remembered, answer: Mapping[str, Any]) -> bool:
    """Whether an answer to a request shows this very object."""
    return text_at(answer, "metadata", "uid") == state.uid


def about(state: Remembered) -> dict[str, object]:
    """Which object it is, for `extra=` of a log line."""
    return state.key.log_fields
