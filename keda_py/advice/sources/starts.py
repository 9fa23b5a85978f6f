"""What a Prometheus has of starts: kube-state-metrics' ready replicas and restarts, closely around each start.

The grid of the weeks is too coarse for an order, so it shows only when a start was; the newest are asked for in steps
of 15 s. Two series of one workload are left out, as which of them counts is not known.
"""

import json
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from keda_py.advice.proposals.wake_order import Start, StartRecord
from keda_py.advice.proposals.workload import WorkloadKey
from keda_py.advice.sources.prometheus import STEP, RecordedWeeks, Series, Weeks
from keda_py.advice.sources.queries import OF_DEPLOYMENT, OF_SET
from keda_py.advice.sources.reading import Say, weeks_until, workload_of
from keda_py.core.advice.start_order import FINE_STEP, MemberStart, coarse_starts

_READY = ("kube_deployment_status_replicas_ready", "kube_statefulset_status_replicas_ready")
_RESTARTS = "kube_pod_container_status_restarts_total"
_BY = "namespace, exported_namespace, deployment, statefulset"
_MOST_STARTS = 20
# Each takes up to 40 questions.
_MOST_SETS = 50
_AROUND = 1200
"""Seconds of the record of a start, which begins a minute before."""
_BEFORE = 60


async def read_starts(
    recorded: RecordedWeeks, sets: Sequence[Collection[WorkloadKey]], now: datetime, count: int, say: Say
) -> list[StartRecord]:
    """One for each set of workloads of one namespace, over `count` weeks. Raises FetchError."""
    weeks = weeks_until(now, count)
    ready = [metric for metric in _READY if await recorded.has(metric, weeks)]
    if not ready:
        return [StartRecord(problem=f"the server has nothing of {' and '.join(_READY)}") for _ in sets]
    asked = sets[:_MOST_SETS]
    rows = await _coarse(recorded, {each for members in asked for each in members}, weeks, say)
    with_restarts = await recorded.has(_RESTARTS, weeks)
    found = []
    for number, members in enumerate(asked):
        say(number / len(asked), "starts")
        known = {each: rows[each] for each in members if each in rows}
        steps = coarse_starts(known.values(), most=_MOST_STARTS, apart=_AROUND // STEP)
        moments = [weeks.first + (at + 1) * STEP for at in steps]
        starts = [await _start(recorded, known, moment, with_restarts=with_restarts) for moment in moments]
        found.append(StartRecord(starts, "" if starts else "no start of all of its members together was recorded"))
    too_many = f"starts of more than {_MOST_SETS} Environments are not asked for at once; give -n"
    return found + [StartRecord(problem=too_many) for _ in sets[_MOST_SETS:]]


async def _coarse(
    recorded: RecordedWeeks, wanted: Collection[WorkloadKey], weeks: Weeks, say: Say
) -> Mapping[WorkloadKey, "array[float]"]:
    namespaces = {each.namespace for each in wanted}
    series: Series = {}
    asked = replace(recorded, keeps=_keeping(wanted))
    query = _ready(next(iter(namespaces)) if len(namespaces) == 1 else "")
    async for part in asked.read_into(series, query, weeks):
        say(part, "when it started")
    return _by_workload(series)


async def _start(
    recorded: RecordedWeeks, wanted: Collection[WorkloadKey], moment: int, *, with_restarts: bool
) -> Start:
    """The record around the last moment at which none of them was ready."""
    namespace = next(each.namespace for each in wanted)
    around = Weeks(first=moment - _BEFORE - FINE_STEP, count=_AROUND // FINE_STEP, step=FINE_STEP)
    asked = replace(recorded, keeps=_keeping(wanted))
    ready: Series = {}
    restarts: Series = {}
    async for _ in asked.read_into(ready, _ready(namespace), around):
        pass
    if with_restarts:
        async for _ in asked.read_into(restarts, _restarts(namespace), around):
            pass
    counts = _by_workload(restarts)
    return {each: MemberStart(ready=row, restarts=counts.get(each)) for each, row in _by_workload(ready).items()}


def _keeping(wanted: Collection[WorkloadKey]) -> Callable[[Mapping[str, str]], bool]:
    return lambda labels: workload_of(labels, "") in wanted


def _by_workload(series: Series) -> Mapping[WorkloadKey, "array[float]"]:
    named = [(workload, row) for labels, row in series.items() if (workload := workload_of(dict(labels), ""))]
    counts = Counter(workload for workload, _ in named)
    return {workload: row for workload, row in named if counts[workload] == 1}


def _ready(namespace: str) -> str:
    names = json.dumps("|".join(_READY))
    return f"max by ({_BY}) ({_in_namespace('', namespace, [f'__name__=~{names}'])})"


def _restarts(namespace: str) -> str:
    counted = _in_namespace(_RESTARTS, namespace, [])
    return f"sum by ({_BY}) (label_replace(label_replace({counted}, {OF_DEPLOYMENT}), {OF_SET}))"


def _in_namespace(metric: str, namespace: str, matchers: Iterable[str]) -> str:
    """The series of a namespace, "" for all. A scrape may rename what kube-state-metrics says to `exported_...`."""
    if not namespace:
        return f"{metric}{{{', '.join(matchers)}}}"
    name = json.dumps(namespace)
    places = ([f"exported_namespace={name}"], ['exported_namespace=""', f"namespace={name}"])
    return " or ".join(f"{metric}{{{', '.join([*matchers, *place])}}}" for place in places)
