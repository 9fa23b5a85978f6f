"""ScaledJobs of both sides: the Jobs that we would create, and those that the other side has created since.

Work arrives all the time, so at any look some Jobs may be missing that the other side creates at its own next poll. The
sides disagree if Jobs were missing at one look, none was created until the next, and some are still missing. An other
side that creates more than we would cannot be detected: running Jobs do not show when they were wanted. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keda_py.core.conditions import read_condition
from keda_py.core.jobs.decision import JobDecision
from keda_py.core.shadow.comparison import MOST_CHARACTERS, Claim, Matter, Side, claim_of, words_of, yes


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingJobs:
    """The Jobs that we would have created at a look, and the uids of those that existed."""

    wanted: int
    there: frozenset[str]


def compare_jobs(
    decision: JobDecision, why: str, before: MissingJobs | None, there: frozenset[str], status: Mapping[str, Any]
) -> Iterator[Claim]:
    """Compare every matter about which both sides say something; `before` is the previous look's, None at the first."""
    came = len(there - before.there) if before is not None else 0
    short = decision.create > 0 and before is not None and before.wanted > 0 and not came
    ours = Side(value=f"{decision.create} more Jobs", why=why[:MOST_CHARACTERS])
    listed = status.get("conditions") or ()
    active, ready = read_condition(listed, "Active"), read_condition(listed, "Ready")
    theirs = Side(value=f"none; {len(there)} there are", why=words_of(active))
    yield Claim(matter=Matter.JOBS, ours=ours, theirs=theirs, agree=not short)
    for matter, own, other, word in (
        (Matter.ACTIVE, decision.active, active, "active"),
        (Matter.READY, decision.ready, ready, "ready"),
    ):
        if other.status in ("True", "False") and own.status in ("True", "False"):
            side = Side(value=yes(own.status, word), why=own.message[:MOST_CHARACTERS] or why[:MOST_CHARACTERS])
            yield claim_of(matter, side, Side(value=yes(other.status, word), why=words_of(other)))
