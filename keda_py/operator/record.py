"""The decision record: why each ScaledObject was scaled or not, and what comes next; in memory, bounded.

`scale_loop.py` notes every decision here; `insight.py` serves what was noted. Kept are the last changes of reason of
each object, and what its last look saw. Nothing here is needed for scaling: after a restart it begins anew.
"""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.core.decision import Decision, Observation, Reason, ScaleTo
from keda_py.core.fallback import FallbackState
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.settlement import Outcome
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ScalerError
from keda_py.metrics.query import Evaluation
from keda_py.metrics.readings import MetricReading, Round
from keda_py.operator.queue import Key

OBJECT_ENTRIES = 50
ALL_ENTRIES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerNote:
    """What one trigger said: a value, or why there is none. `failures` in a row, of triggers with a fallback."""

    metric: str
    name: str = ""
    value: float | None = None
    error: str = ""
    active: bool = False
    in_fallback: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One decision. `formula` is scalingModifiers' result; `after` differs from `before` where we scaled.

    `cooldown_left` None: nothing is cooling down. `next_change` is known in advance: a schedule's boundary, or the end
    of the cooldown. `notes` say why a value is not what its source said.
    """

    at: datetime
    reason: Reason
    triggers: tuple[TriggerNote, ...] = ()
    formula: float | None = None
    before: int | None = None
    after: int | None = None
    error: str = ""
    cooldown_left: timedelta | None = None
    next_change: datetime | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A decision with everything that it was made of, and what came of it."""

    spec: ScalingSpec
    readings: Round
    seen: Observation
    evaluation: Evaluation
    at: datetime
    decision: Decision
    outcome: Outcome | None
    health: Mapping[str, FallbackState]


class DecisionRecord:
    """The entries of all objects, the oldest of all dropped first."""

    def __init__(self, object_entries: int = OBJECT_ENTRIES, all_entries: int = ALL_ENTRIES) -> None:
        self._object_entries, self._all_entries = object_entries, all_entries
        self._numbers: defaultdict[Key, deque[int]] = defaultdict(deque)
        self._entries: OrderedDict[int, tuple[Key, Entry]] = OrderedDict()
        self._last: dict[Key, Entry] = {}
        self._count = 0

    def note(self, key: Key, made: Made) -> None:
        """Remember a decision: as the last one, and for longer where its reason differs from the one before."""
        before = self._last.get(key)
        entry = self._last[key] = _entry_of(made)
        if before is None or before.reason != entry.reason or entry.before != entry.after:
            self._append(key, entry)

    def last(self, key: Key) -> Entry | None:
        """What the last look saw and decided."""
        return self._last.get(key)

    def changes(self, key: Key) -> tuple[Entry, ...]:
        """Changes of reason, and everything that scaled, oldest first."""
        return tuple(self._entries[number][1] for number in self._numbers.get(key, ()))

    def forget(self, key: Key) -> None:
        """An object is gone."""
        self._last.pop(key, None)
        for number in self._numbers.pop(key, ()):
            del self._entries[number]

    def __len__(self) -> int:
        return len(self._entries)

    def _append(self, key: Key, entry: Entry) -> None:
        self._count += 1
        numbers = self._numbers[key]
        numbers.append(self._count)
        self._entries[self._count] = (key, entry)
        if len(numbers) > self._object_entries:
            del self._entries[numbers.popleft()]
        if len(self._entries) > self._all_entries:
            _, (oldest, _) = self._entries.popitem(last=False)
            self._numbers[oldest].popleft()


def _entry_of(made: Made) -> Entry:
    decision = made.decision
    before = made.outcome.before if made.outcome else made.seen.replicas
    scaled = isinstance(decision.action, ScaleTo) and made.outcome is not None and not made.outcome.error
    after = decision.action.replicas if scaled and isinstance(decision.action, ScaleTo) else before
    return Entry(
        at=made.at,
        reason=decision.reason,
        triggers=tuple(_triggers(made)),
        formula=_formula(made.evaluation),
        before=before,
        after=after,
        error=made.outcome.error if made.outcome else made.seen.replicas_error,
        cooldown_left=_cooldown_left(made),
        next_change=decision.look_again_at,
        notes=made.evaluation.notes,
    )


def _triggers(made: Made) -> Iterator[TriggerNote]:
    for reading in made.readings.readings:
        yield _trigger(reading, made)


def _trigger(reading: MetricReading, made: Made) -> TriggerNote:
    outcome, name = reading.outcome, reading.metric.name
    failed = isinstance(outcome, ScalerError)
    return TriggerNote(
        metric=name,
        name=reading.metric.trigger_name,
        value=None if isinstance(outcome, ScalerError) else outcome.value,
        error=str(outcome) if failed else "",
        active=not isinstance(outcome, ScalerError) and bool(outcome.active),
        in_fallback=name in made.evaluation.in_fallback,
        failures=made.health[name].failures if name in made.health else 0,
    )


def _formula(evaluation: Evaluation) -> float | None:
    return next((one.milli / 1000 for one in evaluation.values if one.name == COMPOSITE_METRIC), None)


def _cooldown_left(made: Made) -> timedelta | None:
    if made.decision.reason is not Reason.COOLING_DOWN:
        return None
    spec, last = made.spec, made.seen.last_active
    over = spec.created + spec.initial_cooldown if last is None else last + spec.cooldown
    return over - made.at
