"""Quarantine after a process has died: which objects are held back, for how long, and the texts about it. Pure.

`readings/journal.py` records what was under way when a process died, `operator/process/quarantine.py` applies the
verdict. Three kinds of evidence, the best first:

- **on the CPU**: the process died, or hung, inside a step of work on this one object;
- **alone**: an object that is tried again was the only one of its kind under way;
- **under way**: waiting for a source, most likely an innocent bystander of a death by another cause.

A blamed object waits 30 s, then 5 minutes and up to an hour with each further death (`HOLD_SECONDS`); bystanders of a
death that an object is blamed for wait 5 s. A cleared object is remembered for an hour, so that a source which behaves
during the trial does not begin again at 30 s. A namespace whose objects have caused five deaths loses trust: each new
object in it waits as its worst object would, so that many bad objects, or one that is edited again and again, end no
more processes than one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any
from zlib import crc32

from keda_py.core.values.object_key import ObjectKey

HOLD_SECONDS = (30, 300, 600, 1200, 2400, 3600)
"""Seconds of a hold, by the number of deaths that an object is blamed for, from one on."""
BYSTANDER_SECONDS = 5
UNKNOWN_SECONDS = 30
"""Hold of objects under way at a death for which no object can be blamed."""
REMEMBERED_SECONDS = 3600
NAMESPACE_DEATHS = 5
MOST_DEATHS = 1000

HELD_BACK = "HeldBack"
"""Value of `status.kedaPy.reason`."""


@dataclass(frozen=True, slots=True)
class Work:
    """A unit of work: an object, in the edition of its spec that `edition_of` numbers."""

    key: ObjectKey
    edition: int


class Mark(IntEnum):
    """State of an object in the journal; 0 is a free slot."""

    UNDER_WAY = 1
    TRIAL = 2
    """Under way as a trial, the only one of the objects that were held back."""
    HUNG = 3
    """Under way when the watchdog ended the process."""
    HELD = 4
    CLEARED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One entry of a journal. Work of one `group` shares its steps; `died` is seconds since 1970."""

    work: Work
    mark: Mark
    group: int = 0
    deaths: int = 0
    died: int = 0
    seconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A hold of an object from `died` on for `seconds`; a past one, when `held` is False."""

    work: Work
    deaths: int
    died: int
    seconds: int
    held: bool = True

    @property
    def until(self) -> int:
        """The time of the next trial, in seconds since 1970."""
        return self.died + self.seconds

    @property
    def forgotten_at(self) -> int:
        """The time from which the hold has no effect on later ones, in seconds since 1970."""
        return self.until + REMEMBERED_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """The object to blame, if there is exactly one; otherwise `suspects`, any of which may be the cause."""

    blamed: ObjectKey | None = None
    certain: bool = False
    suspects: frozenset[ObjectKey] = frozenset()


def edition_of(uid: str, generation: int) -> int:
    """Hash to 32 bits that change when a spec does, or when another object takes the name."""
    return crc32(f"{uid}/{generation}".encode())


def hold_seconds(deaths: int) -> int:
    """Return the hold of an object that is blamed for so many deaths."""
    return HOLD_SECONDS[min(max(deaths, 1), len(HOLD_SECONDS)) - 1]


def judge(traces: Sequence[Trace], on_cpu: int, now: int) -> dict[ObjectKey, Hold]:
    """Return all holds after a death, past ones too; `on_cpu` is the group whose step had not ended, 0 for none."""
    holds = {trace.work.key: _recall(trace, now) for trace in traces if trace.mark in (Mark.HELD, Mark.CLEARED)}
    holds = {key: hold for key, hold in holds.items() if not _is_forgotten(hold, now)}
    under_way = [trace for trace in traces if trace.mark in (Mark.UNDER_WAY, Mark.TRIAL, Mark.HUNG)]
    verdict = _blame(under_way, on_cpu)
    works = {trace.work.key: trace.work for trace in under_way}  # several entries may be about one object
    before = {key: hold.deaths for key, hold in holds.items()}
    return holds | {key: _sentence(work, verdict, before.get(key, 0), now) for key, work in works.items()}


def _recall(trace: Trace, now: int) -> Hold:
    """Rebuild an earlier hold; a wall clock that was set back must not make it longer."""
    held, seconds = trace.mark is Mark.HELD, min(trace.seconds, HOLD_SECONDS[-1])
    return Hold(work=trace.work, deaths=trace.deaths, died=min(trace.died, now), seconds=seconds, held=held)


def _is_forgotten(hold: Hold, now: int) -> bool:
    return now > hold.forgotten_at


def _blame(under_way: Sequence[Trace], on_cpu: int) -> _Verdict:
    tried = frozenset(trace.work.key for trace in under_way if trace.mark is Mark.TRIAL)
    hung = frozenset(trace.work.key for trace in under_way if trace.mark is Mark.HUNG)
    running = frozenset(trace.work.key for trace in under_way if on_cpu and trace.group == on_cpu)
    # The best evidence first. Several suspects of one kind are a tie: none of them is blamed, and weaker evidence is
    # not used against a single one of them.
    for suspects in (hung, running, tried):
        if len(suspects) == 1:
            (blamed,) = suspects
            return _Verdict(blamed=blamed, certain=blamed in hung | tried)
        if suspects:
            return _Verdict(suspects=suspects)
    return _Verdict(suspects=frozenset(trace.work.key for trace in under_way))


def _sentence(work: Work, verdict: _Verdict, deaths: int, now: int) -> Hold:
    if work.key == verdict.blamed:
        # A certain cause is not tried again soon: a trial that fails costs every object a restart.
        deaths = min(max(deaths + 1, 2 if verdict.certain else 1), MOST_DEATHS)
        return Hold(work=work, deaths=deaths, died=now, seconds=hold_seconds(deaths))
    seconds = UNKNOWN_SECONDS if work.key in verdict.suspects else BYSTANDER_SECONDS
    return Hold(work=work, deaths=deaths, died=now, seconds=seconds)


def clear(hold: Hold, now: int) -> Hold:
    """Turn a hold into a past one after a trial that the process survived."""
    # The hold ends now, and is forgotten REMEMBERED_SECONDS later.
    return replace(hold, held=False, seconds=min(max(now - hold.died, 0), HOLD_SECONDS[-1]))


def deaths_in(namespace: str, holds: Iterable[Hold], now: int) -> int:
    """Count the deaths of the last hour or so that objects of this namespace are blamed for."""
    return sum(hold.deaths for hold in holds if hold.work.key.namespace == namespace and not _is_forgotten(hold, now))


def hold_for_namespace_budget(work: Work, holds: Sequence[Hold], now: int) -> Hold | None:
    """Return the hold of a new object in a namespace that has lost trust; None in any other namespace."""
    deaths = deaths_in(work.key.namespace, holds, now)
    if deaths < NAMESPACE_DEATHS:
        return None
    last = max(hold.died for hold in holds if hold.work.key.namespace == work.key.namespace and hold.deaths)
    return Hold(work=work, deaths=0, died=last, seconds=hold_seconds(deaths - NAMESPACE_DEATHS + 2))


def describe(hold: Hold, until: int, in_namespace: int = 0) -> str:
    """Write the message of the Ready condition and of the Event, with the time of the next trial.

    `in_namespace` are the deaths that all objects of its namespace are blamed for, if these are the reason.
    """
    remedy = "a change of its spec is tried at once"
    if in_namespace:
        why = f"work on objects of this namespace has ended the operator's process {in_namespace} times"
        remedy = "mend or delete those first"
    elif hold.deaths:
        why = f"work on it has ended the operator's process {_times(hold.deaths)}"
        remedy = f"look at its triggers and at what their sources answer; {remedy}"
    else:
        why = "work on it was under way when the operator's process ended, perhaps for another reason"
    return _sentence_of(why, until, remedy)


def describe_told(until: int) -> str:
    """Write the message for a hold that only the object's own status reports; another replica, or its user, wrote that.

    It does not mention deaths, as they are not known here.
    """
    why = "its status says that another replica found work on it under way when a process ended"
    return _sentence_of(why, until, "a change of its spec is tried at once")


def _sentence_of(why: str, until: int, remedy: str) -> str:
    return (
        f"held back: {why}. It is tried again, alone, after {_wire(until)}; until then nothing is read and its "
        f"replicas stay as they are. What you can do: {remedy}"
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def write_held_back(hold: Hold, until: int, generation: int, since: str) -> dict[str, Any]:
    """Write `status.kedaPy` of a held-back object; `heldBack` is for other replicas; `since` as on the wire."""
    again = _wire(until)
    held_back = {"deaths": hold.deaths, "generation": generation, "until": again}
    return {"reason": HELD_BACK, "since": since, "nextChange": again, "heldBack": held_back}


def read_held_back(status: Mapping[str, Any], work: Work, generation: int, now: int) -> Hold | None:
    """Read the hold that another replica has written; None if it is about an earlier spec, or cannot be read.

    The object's user may have written it: so it lasts no longer than a hold of ours, and its deaths are not counted.
    """
    own = status.get("kedaPy")
    stored = own.get("heldBack") if isinstance(own, dict) else None
    if not isinstance(stored, dict) or stored.get("generation") != generation:
        return None
    deaths, until = stored.get("deaths"), stored.get("until")
    if not isinstance(deaths, int) or not isinstance(until, str):
        return None
    deaths = min(max(deaths, 0), MOST_DEATHS)
    try:
        at = datetime.fromisoformat(until)
    except ValueError:
        return None
    left = int(at.timestamp()) - now if at.tzinfo else 0
    longest = hold_seconds(deaths) if deaths else HOLD_SECONDS[-1]
    return Hold(work=work, deaths=deaths, died=now, seconds=min(max(left, 0), longest))


def _wire(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
