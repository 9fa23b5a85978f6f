"""What the operator remembers of one object between two looks; everything else is in the API."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from keda_py.apis.foreign import text_at
from keda_py.core.metric_names import MetricSet
from keda_py.core.quarantine import Work
from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import Obj, Resource
from keda_py.operator.decisions.history import HISTORY, DecisionHistory, as_stored
from keda_py.operator.decisions.pruned_fields import Evidence
from keda_py.operator.process.quarantine import shows_hold, work_on
from keda_py.operator.sharding.tenures import LOST, Tenure

if TYPE_CHECKING:
    from keda_py.operator.controller.fast_path import Snapshot

# One for all objects: an empty set of its own would take 216 bytes for each.
NOTHING: frozenset[Any] = frozenset()


class LookedAt(Protocol):
    """A spec of any kind, as far as looks are concerned: what failed is tried again after that time at most."""

    @property
    def polling_interval(self) -> timedelta: ...


EARLY_SECONDS = 0.0005
"""A timer may fire that early; a look is then due all the same."""
LATE_SECONDS = 0.001
"""A look comes so long after a boundary, never before it."""
PAST_SECONDS = 0.1
"""A look comes so long after one that found a change in the past: the clock was set, and a reading is still shared."""


@dataclass(slots=True)
class Due:
    """When the next look at an object is due (monotonic; 0: now), and how far the one that has begun is."""

    at: float = 0.0
    planned: float = 0.0
    """The time that was planned last, also while a look is asked for earlier; 0 without one."""
    looking: bool = False
    """A look is under way: what its sources say meanwhile is seen at its end (`after_look.py`)."""
    asked: bool = False
    """The sources were asked before this piece of work began, and its look has not taken the answers yet."""

    def look_now(self) -> None:
        """Make the next look due at once."""
        self.at = 0.0

    def look_at(self, at: float) -> None:
        """Make the next look due at that time, whatever was planned."""
        self.at = self.planned = at

    def look_by(self, at: float) -> None:
        """Make the next look due at that time at the latest."""
        self.at, self.planned = min(self.at, at), min(self.planned, at)

    def is_due(self, now: float) -> bool:
        """Whether the time of the next look has come."""
        return now >= self.at - EARLY_SECONDS

    def begin_look(self, now: float) -> float | None:
        """Take the next look as begun: its lateness in seconds, 0 before its time; None where none was planned.

        Most polls are answered together with another object's, and so before their time. Until this look plans the next
        one it stays due, so that one which fails is tried again.
        """
        late = max(now - self.planned, 0.0) if self.planned else None
        self.at = self.planned = 0.0
        return late

    def look_after(self, change: timedelta, now: float) -> None:
        """Make the next look due right after a change that is known in advance, at the latest."""
        seconds = change.total_seconds()
        self.look_by(now + (seconds + LATE_SECONDS if seconds >= 0.0 else PAST_SECONDS))

    def take_answers(self) -> bool:
        """True if the sources were asked ahead; the second call of a piece of work returns False."""
        asked, self.asked = self.asked, False
        return asked


@dataclass(slots=True)
class Reconciled:
    """What the last finished reconcile was made of, as a hash: while the object has it, there is nothing to do."""

    fingerprint: int | None = None
    running: int | None = None
    """That of the reconcile under way."""
    outdated: bool = False
    """What the reconcile under way is made of has changed since it began, beside the object itself."""
    version: str = ""
    """The last one that a watch showed: most questions are about that."""
    of_version: int = 0
    """Its fingerprint."""

    def follow(self, live: Mapping[str, Any]) -> None:
        """Note the version that a watch shows."""
        self.version, self.of_version = live["metadata"].get("resourceVersion", ""), fingerprint_of(live)

    def matches(self, live: Mapping[str, Any]) -> bool:
        """Whether the last finished reconcile was made of what `live` says."""
        return self.fingerprint is not None and self.fingerprint == self._fingerprint_of(live)

    def covers(self, live: Mapping[str, Any]) -> bool:
        """Whether the last finished reconcile, or the one under way, was made of what `live` says."""
        return self._fingerprint_of(live) in (self.fingerprint, self.running)

    def begin(self, live: Mapping[str, Any]) -> None:
        """A reconcile of `live` begins."""
        self.running, self.outdated = self._fingerprint_of(live), False

    def finish(self, live: Mapping[str, Any]) -> None:
        """The reconcile of `live` is done."""
        self.fingerprint = self._fingerprint_of(live)

    def give_up(self, live: Mapping[str, Any]) -> None:
        """The reconcile of `live` failed for good: another one waits until the object changes."""
        # Inputs that changed while the reconcile ran, such as an overlay, may have been what it failed of: then it is
        # repeated.
        self.fingerprint = None if self.outdated else self._fingerprint_of(live)

    def invalidate(self) -> None:
        """Reconcile again, even if the object stays the same."""
        self.fingerprint = None

    def outdate(self) -> None:
        """Reconcile again, once more than the reconcile that is under way."""
        self.fingerprint, self.outdated = None, True

    def _fingerprint_of(self, live: Mapping[str, Any]) -> int:
        is_known = self.version and live["metadata"].get("resourceVersion") == self.version
        return self.of_version if is_known else fingerprint_of(live)


@dataclass(slots=True)
class Remembered:
    """The memory of one object, made by its first watch event and dropped with its last.

    The object itself is in the cache: a version of it that is held here would be there twice until the next look.

    `spec` and `metrics` are set while a scale loop runs. `attempts` counts the failures since work succeeded last,
    `failures` are the trigger errors already told, `troubles` the errors already logged, `stale` the triggers whose
    parameters may have changed. `stored` is the status as the API server has it, `staged` are fields that the next
    write brings there, None to remove one (`status.py`); `version` is the resourceVersion of `stored`. `history` is
    None until a decision changed. `tenure` is LOST for an object of another replica. `changed` is done as soon as the
    work under way is outdated. `work` is the journal's name of `begun`, the version on which work began last.
    `shows_hold`: the stored status says that the object is held back. `dropped` are parts of the status that the API
    server did not keep (`decisions/pruned_fields.py`). `without_worker` is for waits of a reconcile: others have its
    worker meanwhile.
    """

    resource: Resource
    key: ObjectKey
    uid: str
    spec: LookedAt | None = None
    metrics: MetricSet | None = None
    due: Due = field(default_factory=Due)
    reconciled: Reconciled = field(default_factory=Reconciled)
    snapshot: "Snapshot | None" = None
    """Of the last look, None if it did something or may have to."""
    stored: Mapping[str, Any] = field(default_factory=dict)
    staged: Mapping[str, Any] = field(default_factory=dict)
    version: int = -1
    attempts: int = 0
    failures: tuple[str, ...] = ()
    stale: frozenset[int] = NOTHING
    troubles: frozenset[str] = NOTHING
    history: DecisionHistory | None = None
    tenure: Tenure = LOST
    changed: asyncio.Future[None] | None = None
    begun: str = ""
    work: Work | None = None
    shows_hold: bool = False
    dropped: Evidence | None = None
    resumes_at: datetime | None = None
    """End of its own pause, None without one: it is reconciled again then."""
    without_worker: Callable[[], AbstractAsyncContextManager[None]] = nullcontext

    @property
    def is_lost(self) -> bool:
        """Whether the object is not ours any more."""
        return self.tenure.ended

    @property
    def status(self) -> Mapping[str, Any]:
        """The status as it is, or will be with the next write."""
        if not self.staged:
            return self.stored
        return {name: value for name, value in {**self.stored, **self.staged}.items() if value is not None}

    def only_looks(self, live: Mapping[str, Any]) -> bool:
        """Whether work on the object is nothing but a look: no reconcile, no write, no retry, no end."""
        if self.spec is None or live["metadata"].get("deletionTimestamp") or self.is_lost:
            return False
        if self.stale or self.staged or self.attempts or self.troubles or self.shows_hold or self.resumes_at:
            return False
        return self.reconciled.matches(live)

    def has_resumed(self, now: datetime) -> bool:
        """Whether its own pause had an end, which has come."""
        return self.resumes_at is not None and now >= self.resumes_at

    def comes_back(self, now: datetime, monotonic: float) -> float | None:
        """Return when to look, or to reconcile because a pause ends, whichever is first; None if neither is planned."""
        planned = [] if self.spec is None else [self.due.at]
        if self.resumes_at is not None:
            planned.append(monotonic + max((self.resumes_at - now).total_seconds(), 0.0) + LATE_SECONDS)
        return min(planned, default=None)

    def remember(self, live: Mapping[str, Any]) -> None:
        """Take the status of a written object over, unless the cache has that version, or a later one, already.

        An answer that is not about this object says nothing of it.
        """
        if not is_about(self, live):
            return
        # The answer to a write may arrive after the watch has shown a later version: taking it would bring the status
        # back in time.
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
        before, self.version, self.stored = self.stored, version_of(live), live.get("status") or {}
        if self.stored is not before:
            self.snapshot = None  # it would keep the status from before in memory
        self.shows_hold = shows_hold(self.stored)
        if self.history is not None:
            self.history = as_stored(self.history, self.stored.get(HISTORY))

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

    def interrupt(self) -> None:
        """The object was changed or deleted: what waits for its sources need not wait any longer."""
        if self.changed is not None and not self.changed.done():
            self.changed.set_result(None)

    def stop(self) -> None:
        """No scale loop any more: paused, broken, or about to be deleted."""
        self.spec = self.metrics = None
        self.reconciled.invalidate()


def fingerprint_of(live: Mapping[str, Any]) -> int:
    """What a reconcile is made of, as a hash: while it stays the same, there is nothing to do."""
    meta = live["metadata"]
    # Without our own label: the write that adds it must not cause a second reconcile. `generation` stands for the spec,
    # because writes of the status do not raise it.
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
