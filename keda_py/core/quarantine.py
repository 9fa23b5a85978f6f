"""What a dead process leaves behind: which objects are held back, for how long, and what is said of them. Pure.

`readings/journal.py` knows what was under way when a process died, `operator/process/quarantine.py` keeps to the
verdict. Three kinds of evidence, the best first:

- **on the CPU**: the process died, or hung, inside a step of work on this one object;
- **alone**: an object that is tried again was the only one of its kind under way;
- **under way**: waiting for a source, most likely an innocent bystander of a death by another cause.

Who is blamed waits 30 s, then 5 minutes and up to an hour with each further death (`HOLD_SECONDS`); bystanders of a
death that an object is blamed for wait 5 s. Being cleared is remembered for an hour, so that a source which behaves
while it is looked at does not begin again at 30 s. A namespace whose objects have caused five deaths is not believed
any more: all that is new in it waits as its worst object would, so that many bad objects, or one that is edited again
and again, end no more processes than one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any
from zlib import crc32

from keda_py.core.values.object_key import ObjectKey

HOLD_SECONDS = (30, 300, 600, 1200, 2400, 3600)
"""How long, by the deaths that an object is blamed for, from one on."""
BYSTANDER_SECONDS = 5
UNKNOWN_SECONDS = 30
"""Under way, but no object can be blamed."""
REMEMBERED_SECONDS = 3600
NAMESPACE_DEATHS = 5
MOST_DEATHS = 1000

HELD_BACK = "HeldBack"
"""`status.kedaPy.reason`."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is worked on: an object, in the edition of its spec that `edition_of` numbers."""

    key: ObjectKey
    edition: int


class Mark(IntEnum):
    """What the journal says of an object; 0 is a free slot."""

    UNDER_WAY = 1
    TRIAL = 2
    """Under way, and the only one of those that were held back."""
    HUNG = 3
    """Under way when the watchdog gave the process up."""
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
    """An object that is held back from `died` on for `seconds`; or was, when `held` is False."""

    work: Work
    deaths: int
    died: int
    seconds: int
    held: bool = True

    @property
    def until(self) -> int:
        """When it may be tried again, in seconds since 1970."""
        return self.died + self.seconds

    @property
    def forgotten_at(self) -> int:
        """When nothing of it matters any more."""
        return self.until + REMEMBERED_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """Who is blamed, if it is one; `suspects` may as well have been it."""

    blamed: ObjectKey | None = None
    certain: bool = False
    suspects: frozenset[ObjectKey] = frozenset()


def edition_of(uid: str, generation: int) -> int:
    """32 bits that change when a spec does, or when another object takes the name."""
    return crc32(f"{uid}/{generation}".encode())


def hold_seconds(deaths: int) -> int:
    """How long an object waits that is blamed for so many deaths."""
    return HOLD_SECONDS[min(max(deaths, 1), len(HOLD_SECONDS)) - 1]


def judge(traces: Sequence[Trace], on_cpu: int, now: int) -> dict[ObjectKey, Hold]:
    """Who is held back after a death, or remembered; `on_cpu` is the group whose step had not ended, 0 for none."""
    holds = {trace.work.key: _recall(trace, now) for trace in traces if trace.mark in (Mark.HELD, Mark.CLEARED)}
    holds = {key: hold for key, hold in holds.items() if not _is_forgotten(hold, now)}
    under_way = [trace for trace in traces if trace.mark in (Mark.UNDER_WAY, Mark.TRIAL, Mark.HUNG)]
    verdict = _blame(under_way, on_cpu)
    works = {trace.work.key: trace.work for trace in under_way}  # of one object several may be
    before = {key: hold.deaths for key, hold in holds.items()}
    return holds | {key: _sentence(work, verdict, before.get(key, 0), now) for key, work in works.items()}


def _recall(trace: Trace, now: int) -> Hold:
    """A hold of before; a wall clock that was set back makes it no longer."""
    held, seconds = trace.mark is Mark.HELD, min(trace.seconds, HOLD_SECONDS[-1])
    return Hold(work=trace.work, deaths=trace.deaths, died=min(trace.died, now), seconds=seconds, held=held)


def _is_forgotten(hold: Hold, now: int) -> bool:
    return now > hold.forgotten_at


def _blame(under_way: Sequence[Trace], on_cpu: int) -> _Verdict:
    tried = frozenset(trace.work.key for trace in under_way if trace.mark is Mark.TRIAL)
    hung = frozenset(trace.work.key for trace in under_way if trace.mark is Mark.HUNG)
    running = frozenset(trace.work.key for trace in under_way if on_cpu and trace.group == on_cpu)
    for suspects in (hung, running, tried):
        if len(suspects) == 1:
            (blamed,) = suspects
            return _Verdict(blamed=blamed, certain=blamed in hung | tried)
        if suspects:
            return _Verdict(suspects=suspects)
    return _Verdict(suspects=frozenset(trace.work.key for trace in under_way))


def _sentence(work: Work, verdict: _Verdict, deaths: int, now: int) -> Hold:
    if work.key == verdict.blamed:
        # What is certain needs no second look soon: a trial that fails costs everybody a restart.
        deaths = min(max(deaths + 1, 2 if verdict.certain else 1), MOST_DEATHS)
        return Hold(work=work, deaths=deaths, died=now, seconds=hold_seconds(deaths))
    seconds = UNKNOWN_SECONDS if work.key in verdict.suspects else BYSTANDER_SECONDS
    return Hold(work=work, deaths=deaths, died=now, seconds=seconds)


def clear(hold: Hold, now: int) -> Hold:
    """It was tried and the process lives; that is remembered from now on."""
    return replace(hold, held=False, seconds=min(max(now - hold.died, 0), HOLD_SECONDS[-1]))


def deaths_in(namespace: str, holds: Iterable[Hold], now: int) -> int:
    """Deaths of the last hour or so that objects of this namespace are blamed for."""
    return sum(hold.deaths for hold in holds if hold.work.key.namespace == namespace and not _is_forgotten(hold, now))


def hold_in_bad_company(work: Work, holds: Sequence[Hold], now: int) -> Hold | None:
    """An object of which nothing is known yet, in a namespace that is not believed any more; None in any other."""
    deaths = deaths_in(work.key.namespace, holds, now)
    if deaths < NAMESPACE_DEATHS:
        return None
    last = max(hold.died for hold in holds if hold.work.key.namespace == work.key.namespace and hold.deaths)
    return Hold(work=work, deaths=0, died=last, seconds=hold_seconds(deaths - NAMESPACE_DEATHS + 2))


def describe(hold: Hold, until: int, in_namespace: int = 0) -> str:
    """The message of the Ready condition and of the Event, with the time when it is tried again.

    `in_namespace` are the deaths that all objects of its namespace are blamed for, where that is why.
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
    """The same where nothing but its own status says that it is held back, which another replica has written, or not.

    Of deaths it says nothing, as they are not known here.
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
    """`status.kedaPy` of an object that is held back, `heldBack` for other replicas; `since` as on the wire."""
    again = _wire(until)
    held_back = {"deaths": hold.deaths, "generation": generation, "until": again}
    return {"reason": HELD_BACK, "since": since, "nextChange": again, "heldBack": held_back}


def read_held_back(status: Mapping[str, Any], work: Work, generation: int, now: int) -> Hold | None:
    """What another replica has said; None where it was about an earlier spec, or cannot be read.

    The object's user may have written it as well: it holds the object back for no longer than we would, and its deaths
    are nothing to count.
    """
    own = status.get("kedaPy")
    said = own.get("heldBack") if isinstance(own, dict) else None
    if not isinstance(said, dict) or said.get("generation") != generation:
        return None
    deaths, until = said.get("deaths"), said.get("until")
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
