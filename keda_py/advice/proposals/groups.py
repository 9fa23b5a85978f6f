"""Workloads of a namespace that sleep together: those whose hours are nearly the same share an Environment.

It has all of their hours, and each workload is proven again with them. It takes its members by a label, which patches
put on them, unless manifests show that they are all that the namespace has: of any other workload nothing is known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from keda_py.advice.proposals.advise import Advice, Proposal
from keda_py.advice.proposals.environment import environment_body
from keda_py.advice.proposals.manifest_workloads import Body, are_all
from keda_py.advice.proposals.places import Place
from keda_py.advice.proposals.proof import prove
from keda_py.advice.proposals.wake_order import WakeOrder
from keda_py.core.advice.candidates import Candidate
from keda_py.core.advice.hours import AwakeHours, asleep_hours, union_of

LABEL = "keda-py.dev/hours"
AWAKE_FOR = "1h"
"""How long a request at an odd hour wakes it."""
# Hours a week that a workload may be awake for the sake of the others.
_MOST_MORE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Workloads with one Environment, called `name`; `whole`: it has the whole namespace, and needs no label."""

    namespace: str
    name: str
    place: Place
    candidate: Candidate
    advices: tuple[Proposal, ...]
    whole: bool
    order: WakeOrder = field(default_factory=WakeOrder)

    @property
    def body(self) -> dict[str, Any]:
        """The Environment's manifest."""
        body = environment_body(self.namespace, self.name, self.place, self.candidate)
        if not self.whole:
            body["spec"]["selector"] = {"matchLabels": {LABEL: self.name}}
        if self.order.waves:
            body["spec"]["waves"] = [dict(wave) for wave in self.order.waves]
        if self.requests_at_odd_hours:
            body["spec"]["wakeOnRequest"] = {"for": AWAKE_FOR}
        return body

    @property
    def requests_at_odd_hours(self) -> int:
        """How often requests would have met it asleep."""
        return sum(len(each.proof.waits) for each in self.advices if each.observed.counts_requests)


def group_advices(advices: Iterable[Advice], written: Sequence[Body]) -> tuple[list[Group], list[Advice]]:
    """The groups, and all advices in their order, those in a group proven with its hours. `written`: what there is."""
    groups: list[Group] = []
    all_advices: list[Advice] = []
    ordered = sorted(advices, key=lambda each: each.observed.workload)
    for namespace, members in groupby(ordered, key=lambda each: each.observed.workload.namespace):
        of_namespace = list(members)
        parts = _parts([each for each in of_namespace if isinstance(each, Proposal) and each.candidate.hours])
        grouped = {id(each) for part in parts for each in part}
        all_advices += [each for each in of_namespace if id(each) not in grouped]
        asleep = [each.observed.workload for part in parts for each in part]
        used = sum(not each.observed.by_triggers_alone for each in of_namespace)
        whole = len(parts) == 1 and len(asleep) == used and are_all(asleep, namespace, written)
        for number, part in enumerate(parts, start=1):
            name = "hours" if len(parts) == 1 else f"hours-{number}"
            groups.append(_group(namespace, name, part, whole=whole))
            all_advices += groups[-1].advices
    return groups, sorted(all_advices, key=lambda each: each.observed.workload)


def _parts(advices: Sequence[Proposal]) -> list[list[Proposal]]:
    """Greedy, those that sleep longest first: each joins the first part that costs no member more than a little."""
    parts: list[list[Proposal]] = []
    for advice in sorted(advices, key=lambda each: -_asleep([each])):
        fitting = (part for part in parts if _fits(part, advice))
        part = next(fitting, None)
        if part is None:
            parts.append([advice])
        else:
            part.append(advice)
    return parts


def _fits(part: Sequence[Proposal], advice: Proposal) -> bool:
    if {_kind(each) for each in part} != {_kind(advice)}:
        return False
    together = _asleep([*part, advice])
    return all(_asleep([each]) - together <= _MOST_MORE for each in (*part, advice))


def _kind(advice: Proposal) -> tuple[object, ...]:
    """What has to be the same: the zone, and whether holidays are closed."""
    return advice.place.zone.key, advice.place.country, advice.place.subdivision, advice.candidate.closed


def _asleep(advices: Iterable[Proposal]) -> float:
    return asleep_hours(_joint_hours(advices))


def _joint_hours(advices: Iterable[Proposal]) -> tuple[AwakeHours, ...]:
    return union_of(*(each.candidate.hours for each in advices))


def _group(namespace: str, name: str, part: Sequence[Proposal], *, whole: bool) -> Group:
    first = part[0]
    candidate = Candidate(hours=_joint_hours(part), closed=first.candidate.closed)
    advices = tuple(_proven(each, candidate) for each in sorted(part, key=lambda each: each.observed.workload))
    return Group(namespace=namespace, name=name, place=first.place, candidate=candidate, advices=advices, whole=whole)


def _proven(advice: Proposal, candidate: Candidate) -> Proposal:
    if advice.candidate == candidate:
        return advice
    return replace(advice, candidate=candidate, proof=prove(advice.observed, advice.use, advice.place, candidate))
