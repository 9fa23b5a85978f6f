"""One decision about one object: what each trigger said, what came of it, and what comes next."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.core.decision import Reason
from keda_py.core.jobs.decision import JobReason


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerNote:
    """What one trigger said: a value, or why it has none. `failures` in a row, of triggers with a fallback."""

    metric: str
    name: str = ""
    value: float | None = None
    error: str = ""
    active: bool = False
    in_fallback: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Unfinished Jobs before a look, those of them that no pod works for yet, and what the look added."""

    running: int
    pending: int
    created: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One decision. `formula` is scalingModifiers' result; `after` differs from `before` where we scaled.

    A ScaledObject has `before` and `after`, None where they could not be read; a ScaledJob has `jobs`.

    `cooldown_left` None: nothing is cooling down. `next_change` is known in advance: a schedule's boundary, or the end
    of the cooldown. `notes` say why a value is not what its source said.
    """

    at: datetime
    reason: Reason | JobReason
    triggers: tuple[TriggerNote, ...] = ()
    formula: float | None = None
    before: int | None = None
    after: int | None = None
    error: str = ""
    cooldown_left: timedelta | None = None
    next_change: datetime | None = None
    notes: tuple[str, ...] = ()
    jobs: JobCounts | None = None

    @property
    def scaled(self) -> bool:
        """Whether something was changed."""
        return self.before != self.after or (self.jobs is not None and self.jobs.created > 0)
