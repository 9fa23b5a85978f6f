"""Proposals as manifests with their evidence as comments: for standard output, or files of a merge request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import re2
import yaml

from keda_py.advice.proposals.advise import Advice, Proposal
from keda_py.advice.proposals.environment import API_VERSION
from keda_py.advice.proposals.groups import AWAKE_FOR, LABEL, Group
from keda_py.advice.proposals.shared_calendars import environment_of, shared_calendars
from keda_py.advice.proposals.workload import MinimumSchedule
from keda_py.advice.reports.evidence import evidence_of
from keda_py.advice.reports.schedules import schedule_evidence, schedule_lines
from keda_py.core.advice.candidates import NoCandidate
from keda_py.core.savings.statement import Prices
from keda_py.terminal.foreign import printable
from keda_py.terminal.wrapping import wrap

_TRIED = "720h"
"""How long what was never used sleeps on trial: 30 days, and then it comes back by itself."""
_API_VERSIONS = {"ScaledObject": "keda.sh/v1alpha1"}
_WIDTH = 110
_TIME = re2.compile(r"\d\d:\d\d")


def manifests_of(groups: Sequence[Group], advices: Sequence[Advice], prices: Prices) -> str:
    """Write all manifests into one document, with the evidence as comments."""
    files = (
        calendar_texts(groups),
        environment_texts(groups, prices),
        override_texts(advices, prices),
        schedule_texts(advices),
    )
    parts = [text for texts in files for text in texts.values()]
    nothing = [each for each in advices if not isinstance(each, Proposal)]
    if nothing:
        sentences = [
            "Nothing is proposed for:",
            *(f"{each.observed.workload.title}: {each.because}" for each in nothing),
        ]
        parts.append(_comments(sentences))
    kept = [each for each in advices if isinstance(each.schedule, NoCandidate)]
    if kept:
        lines = [f"{each.observed.workload.title}: {line}" for each in kept for line in schedule_lines(each)]
        parts.append(_comments(["ScaledObjects whose minimum stays as it is:", *lines]))
    lower = [line for each in advices for line in _lower_minimum(each)]
    if lower:
        parts.append(_comments(["ScaledObjects that need no replicas without work:", *lower]))
    return "".join(parts)


def environment_texts(groups: Sequence[Group], prices: Prices) -> Mapping[str, str]:
    """File name -> Environment."""
    found = {}
    calendars = shared_calendars(groups)
    for group in groups:
        count = "one workload" if len(group.advices) == 1 else f"{len(group.advices)} workloads"
        sentences = [f"Hours of {count} of namespace {group.namespace}, found by keda-py advise."]
        if not group.whole:
            sentences.append(f"It takes members by the label {LABEL}={group.name}; put it on each of them,")
            sentences.append("or leave out the selector, and the whole namespace sleeps:")
            sentences += [f"  {_label_command(each, group)}" for each in group.advices]
        for each in group.advices:
            sentences += [each.observed.workload.title, *(f"  {one}" for one in evidence_of(each, prices))]
        sentences += group.order.sentences
        found[f"{group.namespace}-{group.name}.yaml"] = _comments([*sentences, *_wake_on_request(group)]) + _dump(
            environment_of(group, calendars)
        )
    return found


def calendar_texts(groups: Sequence[Group]) -> Mapping[str, str]:
    """File name -> ClusterCalendar of Environments with the same hours."""
    found = {}
    for each in shared_calendars(groups):
        sentences = [
            f"Hours that {', '.join(each.environments)} share, found by keda-py advise; each has its evidence."
        ]
        found[f"calendar-{each.name}.yaml"] = _comments(sentences) + _dump(each.body)
    return found


def _wake_on_request(group: Group) -> Iterator[str]:
    """Give the number of requests at odd hours as the reason."""
    count = group.requests_at_odd_hours
    if count:
        often = "once" if count == 1 else f"{count} times"
        yield f"Requests came {often} at odd hours, so a request wakes it for {AWAKE_FOR}, where wakers run"
        yield "(waker.enabled of the chart); without wakers it sleeps on, and its status says so."


def _lower_minimum(advice: Advice) -> Iterator[str]:
    if advice.lower is not None:
        workload = advice.observed.workload
        merge = '{"spec": {"minReplicaCount": 0}}'
        yield f"  {advice.lower.words}:"
        yield f"  kubectl patch scaledobject {workload.name} -n {workload.namespace} --type merge -p '{merge}'"


def override_texts(advices: Sequence[Advice], prices: Prices) -> Mapping[str, str]:
    """File name -> Override, of each workload that was never used."""
    found = {}
    for each in advices:
        if isinstance(each, Proposal) and not each.candidate.hours:
            workload = each.observed.workload
            sentences = [
                f"{workload.title} was never used. It sleeps for 30 days on trial; delete it if it is not missed.",
                *evidence_of(each, prices),
            ]
            found[f"{workload.namespace}-{workload.name}-unused.yaml"] = _comments(sentences) + _dump(_override(each))
    return found


def schedule_texts(advices: Sequence[Advice]) -> Mapping[str, str]:
    """File name -> ScalingSchedule, of each ScaledObject whose minimum may be lower by hours."""
    found = {}
    for each in advices:
        if isinstance(each.schedule, MinimumSchedule):
            workload = each.observed.workload
            evidence = schedule_evidence(each.schedule)
            sentences = [f"Lower minimums of {workload.title}, found by keda-py advise.", *evidence]
            if isinstance(each, Proposal):
                sentences.append("While its Environment sleeps, that rules, and the schedule changes nothing.")
            name = f"{workload.namespace}-{workload.name}-minimum.yaml"
            found[name] = _comments(sentences) + _dump(each.schedule.body)
    return found


def patch_texts(groups: Sequence[Group], advices: Sequence[Advice]) -> Mapping[str, str]:
    """File name -> what puts the label of its Environment on a workload, or lowers its minimum, for kustomize."""
    labels = {each.observed.workload: group.name for group in groups if not group.whole for each in group.advices}
    found = {}
    for each in advices:
        workload = each.observed.workload
        name = f"patches/{workload.namespace}-{workload.kind.lower()}-{workload.name}.yaml"
        label = {"labels": {LABEL: labels[workload]}} if workload in labels else {}
        spec = {"spec": {"minReplicaCount": 0}} if each.lower else {}
        if label or spec:
            body = {
                "apiVersion": _API_VERSIONS.get(workload.kind, "apps/v1"),
                "kind": workload.kind,
                "metadata": {"name": workload.name, "namespace": workload.namespace, **label},
                **spec,
            }
            found[name] = (_comments([each.lower.words]) if each.lower else "---\n") + _dump(body)
    return found


def _label_command(advice: Advice, group: Group) -> str:
    workload = advice.observed.workload
    target = f"{workload.kind.lower()}/{workload.name}"
    return f"kubectl label {target} --namespace {workload.namespace} {LABEL}={group.name}"


def _override(advice: Advice) -> dict[str, Any]:
    workload = advice.observed.workload
    return {
        "apiVersion": API_VERSION,
        "kind": "Override",
        "metadata": {"name": f"{workload.name}-unused", "namespace": workload.namespace},
        "spec": {
            "target": {"kind": workload.kind, "name": workload.name},
            "state": "Asleep",
            "for": _TRIED,
            "reason": "no use was seen; asleep on trial",
        },
    }


def _comments(sentences: Sequence[str]) -> str:
    return "---\n" + "".join(f"# {line}\n" for line in _wrapped(sentences))


def _wrapped(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences:
        indent = " " * (len(sentence) - len(sentence.lstrip()))
        first, *others = wrap(printable(sentence).strip().replace("\n", " "), _WIDTH - len(indent))
        yield indent + first
        yield from (f"{indent}  {line}" for line in others)


class _Dumper(yaml.SafeDumper):
    """Quotes times of day, which some readers of YAML take for numbers to the base of 60."""


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if _TIME.fullmatch(text) else None)


_Dumper.add_representer(str, _write_text)


def _dump(body: Mapping[str, Any]) -> str:
    return str(yaml.dump(dict(body), Dumper=_Dumper, sort_keys=False, allow_unicode=True))
