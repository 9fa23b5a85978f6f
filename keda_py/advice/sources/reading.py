"""What a Prometheus has of workloads -> a history for each: requests and triggers together, else CPU.

A workload whose answer is ambiguous has a sentence instead of a history. The beginning of a history is its first value.
"""

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from keda_py.advice.proposals.workload import Observed, WorkloadKey
from keda_py.advice.sources.prometheus import STEP, RecordedWeeks, Series, Weeks
from keda_py.advice.sources.queries import KNOWN, KnownQuery
from keda_py.core.advice.history import History
from keda_py.errors import ConfigError

Say = Callable[[float, str], None]
"""Shows how far it is: a share, and what it is at."""
_RECENT = 86_400 // STEP


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """`namespace` "": all. `queries` () : all that are known and that the server has."""

    namespace: str
    weeks: int
    queries: tuple[KnownQuery, ...] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    """A workload's values of one query, or why there are none that can be used."""

    known: KnownQuery
    values: "array[float] | None"
    problem: str = ""


async def read_prometheus(recorded: RecordedWeeks, asked: HistoryQuery, now: datetime, say: Say) -> list[Observed]:
    """All workloads. Raises FetchError, and ConfigError where nothing is found."""
    await recorded.check_clock(now)
    weeks = weeks_until(now, asked.weeks)
    queries = asked.queries or [known for known in KNOWN if await recorded.has(known.metric, weeks)]
    if not queries:
        names = ", ".join(known.name for known in KNOWN)
        text = f"{recorded.server.shown}: has nothing of {names} in the last {asked.weeks} weeks"
        raise ConfigError(f"{text}; give a query of your own: --query 'sum by (namespace, deployment) (rate(...[5m]))'")
    found: defaultdict[WorkloadKey, list[_Read]] = defaultdict(list)
    recorded = replace(recorded, keeps=lambda labels: workload_of(labels, asked.namespace) is not None)
    for number, known in enumerate(queries):
        series: Series = {}
        async for part in recorded.read_into(series, known.query, weeks):
            say((number + part) / len(queries), known.name)
        for workload, read in _by_workload(known, series, asked.namespace).items():
            found[workload].append(read)
    if not found:
        text = f"{recorded.server.shown}: no series names a workload of {asked.namespace or 'any namespace'}"
        raise ConfigError(f"{text}; a query has to give namespace and one of {', '.join(KNOWN_LABELS)}")
    return [_observed(workload, reads, weeks) for workload, reads in sorted(found.items())]


def weeks_until(now: datetime, count: int) -> Weeks:
    """The last whole weeks, in whole steps."""
    last = int(now.timestamp()) // STEP * STEP
    return Weeks(first=last - count * 7 * 86_400, count=count * 7 * 86_400 // STEP)


def _by_workload(known: KnownQuery, series: Series, namespace: str) -> Mapping[WorkloadKey, _Read]:
    named: defaultdict[WorkloadKey, list[tuple[tuple[tuple[str, str], ...], array[float]]]] = defaultdict(list)
    for labels, values in series.items():
        workload = workload_of(dict(labels), namespace)
        if workload is not None:
            named[workload].append((labels, values))
    return {workload: _only(known, parts) for workload, parts in named.items()}


def _only(known: KnownQuery, parts: Sequence[tuple[tuple[tuple[str, str], ...], "array[float]"]]) -> _Read:
    """Two series of one workload are told: which of them counts is not known."""
    if len(parts) == 1:
        return _Read(known, parts[0][1])
    sets = " and ".join(str(dict(labels)) for labels, _ in parts[:2])
    text = f"query {known.name} gives {len(parts)} series of it, {sets}"
    return _Read(known, None, f"{text}; aggregate them: sum by (namespace, deployment) (...)")


def _observed(workload: WorkloadKey, reads: Sequence[_Read], weeks: Weeks) -> Observed:
    telling = [read for read in reads if not read.known.spare] or list(reads)
    problem = next((read.problem for read in telling if read.problem), "")
    values = [read.values for read in telling if read.values is not None]
    starts = [_first_value(each) for each in values]
    if not problem and any(start is None for start in starts):
        problem = "there is no value in these weeks"
    if not problem and all(_is_missing(each[-_RECENT:]) for each in values):
        problem = "there is no value of the last day; it may be gone"
    if problem:
        return Observed(workload=workload, problem=problem)
    first = max(start for start in starts if start is not None)
    histories = [_history(each, first, weeks) for each in values]
    return Observed(
        workload=workload,
        history=histories[0],
        further=tuple(histories[1:]),
        unit=telling[0].known.unit,
        source="query " + ", ".join(read.known.name for read in telling),
    )


def _history(values: "array[float]", first: int, weeks: Weeks) -> History:
    origin = datetime.fromtimestamp(weeks.first + first * STEP, UTC)
    return History(origin=origin, step=STEP, values=values[first:])


def _first_value(values: "array[float]") -> int | None:
    return next((at for at, value in enumerate(values) if not math.isnan(value)), None)


def _is_missing(values: Iterable[float]) -> bool:
    return all(map(math.isnan, values))


# Labels of a series -> the workload that it is about.
#
# Where they name a Service, its workload is taken to have the same name.

# The first of these that a series has is its namespace: a scrape renames what a target says itself to `exported_...`.
_NAMESPACES = ("exported_namespace", "destination_workload_namespace", "namespace")
_NAMES = {
    "scaledObject": "ScaledObject",
    "deployment": "Deployment",
    "statefulset": "StatefulSet",
    "destination_workload": "Deployment",
    "exported_service": "Deployment",
    "service": "Deployment",
    "workload": "Deployment",
}
KNOWN_LABELS = (*_NAMESPACES, *_NAMES, "envoy_cluster_name")


def workload_of(labels: Mapping[str, str], namespace: str) -> WorkloadKey | None:
    """Return the workload that labels name, None if they name none. `namespace` "": any."""
    found = _envoy(labels["envoy_cluster_name"]) if "envoy_cluster_name" in labels else _plain(labels, namespace)
    return found if found is not None and namespace in ("", found.namespace) else None


def _plain(labels: Mapping[str, str], namespace: str) -> WorkloadKey | None:
    key = next((key for key in _NAMES if labels.get(key)), "")
    where = next((labels[label] for label in _NAMESPACES if labels.get(label)), "")
    if key.endswith("service") and "@" in labels[key]:
        return _traefik(labels[key], namespace)
    return WorkloadKey(where, _NAMES[key], labels[key]) if key and where else None


def _traefik(text: str, namespace: str) -> WorkloadKey | None:
    """`shop-web-80@kubernetes`: without a namespace to go by, it ends at the first dash."""
    name, _, provider = text.partition("@")
    if not provider.startswith("kubernetes"):
        return None
    where = namespace if namespace and name.startswith(f"{namespace}-") else name.partition("-")[0]
    service = name[len(where) + 1 :].rpartition("-")[0]
    return WorkloadKey(where, "Deployment", service) if service else None


def _envoy(text: str) -> WorkloadKey | None:
    """`outbound|80||web.shop.svc.cluster.local` of a mesh, `httproute/shop/web/rule/0` of Envoy Gateway."""
    host = text.rpartition("|")[2].split(".")
    if "|" in text and len(host) > 2 and host[2] == "svc":
        return WorkloadKey(host[1], "Deployment", host[0])
    parts = text.split("/")
    return WorkloadKey(parts[1], "Deployment", parts[2]) if parts[0].endswith("route") and len(parts) > 2 else None
