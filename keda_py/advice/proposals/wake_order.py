"""Recorded starts of an Environment's members -> its `waves`, or why there are none.

A wave chooses members by their labels. Where no label tells the waves apart, the order is printed with labels to add.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from keda_py.advice.proposals.manifest_workloads import Body
from keda_py.advice.proposals.workload import Observed, WorkloadKey
from keda_py.apis.environments.environment import MOST_WAVES
from keda_py.apis.foreign import maps_at, name_of, namespace_of
from keda_py.core.advice.start_order import LEAST_STARTS, MemberStart, Precedence, layers_of, precedences_of

Start = Mapping[WorkloadKey, MemberStart]
Layers = Sequence[Sequence[str]]
LABEL = "keda-py.dev/wave"
_MOST_SHOWN = 3
_USUAL_KEYS = ("app.kubernetes.io/name", "app", "app.kubernetes.io/component", "component", "tier")
_VERSIONS = ("app.kubernetes.io/version", "helm.sh/chart")
"""Keys whose values change with each release."""


@dataclass(frozen=True, slots=True)
class StartRecord:
    """Recorded starts of the members of one Environment; `problem` says why there are none."""

    starts: Sequence[Start] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class WakeOrder:
    """`spec.waves` of an Environment, and what they rest on, or why there are none."""

    waves: tuple[Mapping[str, Any], ...] = ()
    sentences: tuple[str, ...] = ()


def wake_order(members: Sequence[Observed], running: Sequence[WorkloadKey], record: StartRecord) -> WakeOrder:
    """`running`: what has the pods of each member, which is what the starts are of."""
    named = _named([each.workload for each in members])
    starts = [
        {name: start[key] for name, key in zip(named, running, strict=True) if key in start} for start in record.starts
    ]
    if record.problem or len(starts) < LEAST_STARTS:
        return _none(record.problem or f"{len(starts)} starts were recorded, and an order needs {LEAST_STARTS}")
    precedences = precedences_of(starts)
    layers = layers_of(named, precedences)
    if layers is None:
        return _none("workloads were ready after each other in a circle")
    if len(layers) == 1:
        return _none(f"in {len(starts)} recorded starts no workload needed another one to be ready before")
    if len(layers) > MOST_WAVES:
        return _none(f"the order has {len(layers)} steps, and an Environment has {MOST_WAVES} waves at most")
    evidence = [*_evidence(layers, precedences), *_unknown(named, starts)]
    by_name = dict(zip(named, members, strict=True))
    key = _distinguishing(layers, by_name)
    if key:
        return WakeOrder(tuple(_waves(layers, by_name, key)), ("Waves follow recorded starts:", *evidence))
    return WakeOrder(sentences=("Its recorded starts have an order:", *evidence, *_to_label(layers, by_name)))


def name_with_waves(namespace: str, written: Iterable[Body]) -> str:
    """An Environment of that namespace with waves, "" for none."""
    here = (each for each in written if (each["kind"], namespace_of(each)) == ("Environment", namespace))
    return next((name_of(each) for each in here if maps_at(each, "spec", "waves")), "")


def keep_waves(name: str) -> WakeOrder:
    """Starts in waves follow the waves, so they neither prove nor disprove them."""
    return WakeOrder(
        sentences=(f"Environment {name} has waves already, and recorded starts follow those; keep its spec.waves.",)
    )


def _none(because: str) -> WakeOrder:
    return WakeOrder(sentences=(f"It has no waves: {because}.",))


def _named(workloads: Sequence[WorkloadKey]) -> list[str]:
    """A name for each, with its kind where two have the same."""
    names = [each.name for each in workloads]
    return [each.name if names.count(each.name) == 1 else f"{each.kind} {each.name}" for each in workloads]


def _evidence(layers: Layers, precedences: Sequence[Precedence]) -> Iterator[str]:
    """For each later workload those of the layer before it that were ready last."""
    for before, layer in pairwise(layers):
        for name in layer:
            needed = (each for each in precedences if each.then == name and each.first in before)
            yield from (f"  {each.words}" for each in sorted(needed, key=_steps)[:_MOST_SHOWN])


def _steps(precedence: Precedence) -> float:
    return precedence.steps


def _unknown(named: Sequence[str], starts: Sequence[Mapping[str, MemberStart]]) -> Iterator[str]:
    for name in named:
        known = sum(name in start and start[name].ready_at is not None for start in starts)
        if known < LEAST_STARTS:
            yield f"  {name}: {known} of its starts are recorded from beginning to end, so it is in the first wave"


def _distinguishing(layers: Layers, members: Mapping[str, Observed]) -> str:
    """A label key that all members have, with values that no two layers share; "" for none."""
    common = set.intersection(*(set(each.labels) for each in members.values())).difference(_VERSIONS)
    ordered = sorted(common, key=lambda key: (_USUAL_KEYS.index(key) if key in _USUAL_KEYS else len(_USUAL_KEYS), key))
    return next((key for key in ordered if _tells_apart(key, layers, members)), "")


def _tells_apart(key: str, layers: Layers, members: Mapping[str, Observed]) -> bool:
    values = [{members[name].labels[key] for name in layer} for layer in layers]
    return sum(map(len, values)) == len(set.union(*values))


def _waves(layers: Layers, members: Mapping[str, Observed], key: str) -> Iterator[Mapping[str, Any]]:
    for number, layer in enumerate(layers, start=1):
        values = sorted({members[name].labels[key] for name in layer})
        selector = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
        yield {"name": f"wave-{number}", "selector": selector}


def _to_label(layers: Layers, members: Mapping[str, Observed]) -> Iterator[str]:
    """The labels to add, and the waves that choose by them."""
    yield "No label of its members that is known tells them apart, so it has no waves. Put labels on them:"
    for number, layer in enumerate(layers, start=1):
        for name in layer:
            workload = members[name].workload
            target = f"{workload.kind.lower()}/{workload.name}"
            yield f"  kubectl label {target} --namespace {workload.namespace} {LABEL}=wave-{number}"
    yield "and choose by them in spec.waves:"
    for number in range(1, len(layers) + 1):
        yield f"  - {{name: wave-{number}, selector: {{matchLabels: {{{LABEL}: wave-{number}}}}}}}"
