"""The proof of a proposal: the operator's own decisions, replayed over the weeks in which the use was seen.

The Environment that is proposed is read as the operator reads it, and time passes over it and one workload. What was
used while the workload slept would have waited until the hours began.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from keda_py.advice.proposals.environment import environment_body
from keda_py.advice.proposals.places import Place
from keda_py.advice.proposals.workload import Observed
from keda_py.core.advice.candidates import Candidate, Use
from keda_py.core.advice.marks import UNKNOWN, USED, runs_of
from keda_py.core.environment.calendar.zones import instant_of
from keda_py.errors import ConfigError
from keda_py.replay.previews import preview
from keda_py.replay.reading.manifests import ManifestSource, read_plans
from keda_py.replay.timeline import Span, Timeline

# Two uses closer together than this would have met one wake.
_TOGETHER = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Use that met a sleeping workload: from `at` on, for `used` seconds, `requests` where they are counted."""

    at: datetime
    used: float
    requests: float
    waited: float
    """Seconds until the hours began, or the end of the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Replay of a proposal over the weeks [begins, ends). Hours are replica hours."""

    begins: datetime
    ends: datetime
    instead: float
    used: float
    waits: tuple[Wait, ...]
    unknown: float
    """Hours asleep of which it is not known whether there was use."""

    @property
    def weeks(self) -> float:
        """How many they are."""
        return (self.ends - self.begins) / timedelta(days=7)

    @property
    def waits_a_week(self) -> float:
        """How often use would have met a sleeping workload."""
        return len(self.waits) / self.weeks

    @property
    def saved_a_week(self) -> float:
        """Replica hours."""
        return (self.instead - self.used) / self.weeks


def prove(observed: Observed, use: Use, place: Place, candidate: Candidate) -> Proof:
    """Replay a candidate; one without hours is asleep always. Raises ConfigError for what the operator would refuse."""
    if not candidate.hours:
        begins, ends = _weeks(use)
        return _proof(observed, use, Timeline(begins=begins, ends=ends, replicas=0))
    workload = observed.workload
    environment = environment_body(workload.namespace, workload.name, place, candidate)
    return prove_manifests(observed, use, [environment])


def prove_manifests(observed: Observed, use: Use, bodies: Iterable[Mapping[str, Any]]) -> Proof:
    """Replay Environments, with the calendars that they name. Raises ConfigError for what the operator would refuse."""
    return _proof(observed, use, _replay(observed, bodies, *_weeks(use)))


def _weeks(use: Use) -> tuple[datetime, datetime]:
    """The time that counts."""
    return max(instant_of(min(use.days), 0, use.zone), use.history.origin), use.history.ends


def _proof(observed: Observed, use: Use, timeline: Timeline) -> Proof:
    asleep = [span for span in timeline.spans() if not span.replicas]
    seconds = (timeline.ends - timeline.begins).total_seconds()
    return Proof(
        begins=timeline.begins,
        ends=timeline.ends,
        instead=seconds * observed.replicas / 3600,
        used=timeline.replica_seconds / 3600,
        waits=tuple(wait for span in asleep for wait in _waits(observed, use, span)),
        unknown=sum(_steps(use, span).count(UNKNOWN) for span in asleep) * use.history.step / 3600,
    )


def _replay(observed: Observed, bodies: Iterable[Mapping[str, Any]], begins: datetime, ends: datetime) -> Timeline:
    """A Deployment stands for a workload of any kind: its Environment decides alike about all of them."""
    name, namespace = observed.workload.name, observed.workload.namespace
    member = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(observed.labels)},
        "spec": {"replicas": observed.replicas},
    }
    sources = [ManifestSource(body=dict(body)) for body in (*bodies, member)]
    found = preview(read_plans(sources, begins, ends), begins, ends)
    if found.problems:
        raise ConfigError("; ".join(found.problems))
    timeline = next((subject.timeline for subject in found.subjects if subject.kind == "Deployment"), None)
    return timeline or Timeline(begins=begins, ends=ends, replicas=observed.replicas)


def _steps(use: Use, span: Span) -> bytearray:
    first, last = (_index(use, at) for at in (span.start, span.end))
    return use.marks.steps[first:last]


def _index(use: Use, at: datetime) -> int:
    return max(int((at - use.history.origin).total_seconds()) // use.history.step, 0)


def _waits(observed: Observed, use: Use, span: Span) -> Iterator[Wait]:
    first, step = _index(use, span.start), use.history.step
    together: list[tuple[int, int]] = []
    for start, end in runs_of(_steps(use, span), USED):
        if together and (start - together[-1][1]) * step < _TOGETHER.total_seconds():
            together[-1] = (together[-1][0], end)
        else:
            together.append((start, end))
    for start, end in together:
        marks, values = use.marks.steps[first + start : first + end], use.history.values[first + start : first + end]
        used = [value for mark, value in zip(marks, values, strict=True) if mark == USED and value == value]
        at = use.history.origin + timedelta(seconds=(first + start) * step)
        yield Wait(
            at=at.astimezone(UTC),
            used=len(used) * step,
            requests=sum(used) * step if observed.counts_requests else 0.0,
            waited=(span.end - at).total_seconds(),
        )
