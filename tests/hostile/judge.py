"""What must be true of the operator after each trial, whatever was let loose; the bounds are here, and why.

A bound on time is for a machine that is starved by others, too: it is stretched as everything is that the operator
does, by the time for which it wanted to run while other processes ran instead, and how late the witness itself came is
added. Twice what a control period without any attack showed, just before, is always enough.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.hostile.vitals import Vitals, tail

MIB = 2**20

HEALTH_SECONDS = 1.0
"""/healthz, asked all the time; the kubelet gives up after one second."""
POLL_SECONDS, DELAY_SECONDS = 1.0, 1.0
"""Between two questions to a source that is polled each second, and how much more: no poll is left out."""
PEAK_BYTES = 160 * MIB
"""What the operator's process may take, for a moment, over what it had at the start."""
RESIDENT_BYTES = 96 * MIB
"""What may be left of it after all trials of a module: allocators give little back."""
CHILDREN_BYTES = 256 * MIB
"""What its worker processes may hold."""
PAGE_BYTES, PAGE_LEFT_BYTES = MIB, 32 * 1024
"""The metrics page, while hundreds of objects are there; and what of them may be left when they are gone."""
DESCRIPTORS_LEFT = 40
"""Connections are kept for a while, to the API server above all."""
LOG_BYTES, LINE_BYTES = 512 * 1024, 16 * 1024
LATE_FACTOR, CONTROL_FACTOR, LARGEST_STRETCH = 2.0, 2.0, 10.0

BAD_WORDS = ("Traceback", '"stacktrace"', "leadership lost", "Task exception was never retrieved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What was seen while nobody attacked; `vitals` at its end are the start that memory is compared with."""

    gap: float
    health: float
    vitals: Vitals


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that was seen of one trial. `report` is the witness's, of the time since `since` (monotonic)."""

    before: Vitals
    after: Vitals
    report: Mapping[str, Any]
    since: float
    log: list[str]
    secrets: Mapping[str, str]
    told: str
    """Everything that the cluster shows of the hostile tenant's objects, as text."""
    page: bytes
    """The metrics page while the attack was on."""


def longest_gap(seen: Seen) -> float:
    """Seconds in which the honest source was not asked, from the beginning of the trial to its end."""
    times = [seen.since, *seen.report["asked"], seen.report["now"]]
    return max(later - earlier for earlier, later in pairwise(times))


def slowest_probe(seen: Seen) -> float:
    return max(seen.report["probes"], default=float("inf"))


def stretch(seen: Seen) -> float:
    """How much longer than alone on the machine everything took that the operator's loop did; 1 on a quiet one."""
    worked = seen.after.cpu_seconds - seen.before.cpu_seconds
    waited = seen.after.waited - seen.before.waited
    return min((worked + waited) / worked, LARGEST_STRETCH) if worked > 0 else 1.0


def control_of(seen: Seen) -> Control:
    return Control(gap=longest_gap(seen), health=slowest_probe(seen), vitals=seen.after)


def summary(seen: Seen) -> str:
    """Its figures in a line."""
    before, after = seen.before, seen.after
    figures = {
        "seconds": seen.report["now"] - seen.since,
        "slowest probe": slowest_probe(seen),
        "longest gap": longest_gap(seen),
        "witness late": max(seen.report["late"], default=0.0),
        "stretch": stretch(seen),
        "CPU seconds": after.cpu_seconds - before.cpu_seconds,
        "resident MiB": after.resident / MIB,
        "peak MiB": after.peak / MIB,
        "children MiB": after.children / MIB,
        "descriptors": after.descriptors,
        "page KiB": len(seen.page) / 1024,
        "log KiB": sum(map(len, seen.log)) / 1024,
    }
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


def problems(seen: Seen, control: Control) -> list[str]:
    """Sentences; none when all is well."""
    return [*_time(seen, control), *_size(seen, control), *_leadership(seen), *_log(seen), *_secrecy(seen)]


def _time(seen: Seen, control: Control) -> Iterator[str]:
    late, stretched = LATE_FACTOR * max(seen.report["late"], default=0.0), stretch(seen)
    health, gap = slowest_probe(seen), longest_gap(seen)
    if health > (bound := max(HEALTH_SECONDS * stretched, CONTROL_FACTOR * control.health) + late):
        yield f"/healthz took {health:.2f} s, {bound:.2f} s are allowed"
    if gap > (bound := max(POLL_SECONDS + DELAY_SECONDS * stretched, CONTROL_FACTOR * control.gap) + late):
        yield f"the innocent tenant's source was not asked for {gap:.2f} s, {bound:.2f} s are allowed"


def _size(seen: Seen, control: Control) -> Iterator[str]:
    start, before, after = control.vitals, seen.before, seen.after
    for what, size, bound in (
        ("memory at its peak over the start's", after.peak - start.resident, PEAK_BYTES),
        ("memory over the start's", after.resident - start.resident, RESIDENT_BYTES),
        ("memory of worker processes", after.children, CHILDREN_BYTES),
        ("the metrics page", len(seen.page), PAGE_BYTES),
        ("the log", sum(map(len, seen.log)), LOG_BYTES),
        ("a line of the log", max(map(len, seen.log), default=0), LINE_BYTES),
    ):
        if size > bound:
            yield f"{what}: {size / 1024:.0f} KiB, {bound / 1024:.0f} KiB are allowed"
    yield from rest(before, after)


def rest(before: Vitals, after: Vitals) -> Iterator[str]:
    """What is left of objects that are gone."""
    if (more := after.page - before.page) > PAGE_LEFT_BYTES:
        yield f"the metrics page, over before: {more / 1024:.0f} KiB, {PAGE_LEFT_BYTES / 1024:.0f} KiB are allowed"
    if after.descriptors > before.descriptors + DESCRIPTORS_LEFT:
        yield f"{after.descriptors} descriptors are open, before it were {before.descriptors}"


def _leadership(seen: Seen) -> Iterator[str]:
    before, after = seen.before, seen.after
    if (before.pid, before.holder, before.transitions) != (after.pid, after.holder, after.transitions):
        yield f"leadership changed: {before.holder} ({before.transitions}) to {after.holder} ({after.transitions})"


def _log(seen: Seen) -> Iterator[str]:
    for words in BAD_WORDS:
        found = [line for line in seen.log if words in line]
        if found:
            yield f"the log has {words!r}: {tail(found, 1)}"


def _secrecy(seen: Seen) -> Iterator[str]:
    places = {"the log": "".join(seen.log), "the cluster": seen.told, "the metrics page": seen.page.decode()}
    for name, secret in seen.secrets.items():
        for place, text in places.items():
            if secret in text:
                yield f"{name} is in {place}"
