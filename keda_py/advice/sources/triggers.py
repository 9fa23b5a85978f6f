"""What the triggers of ScaledObjects read over the weeks: queries of their own, or what the operator has recorded.

A Prometheus trigger's query is asked of the given server; of other triggers `keda_scaler_metrics_value` has the values.
A ScaledObject with a trigger that is not known has a sentence instead: that one may have needed more than all others.
`status.desiredReplicas` of its HPA is not taken: it never lies below the minimum, so it shows no lower need.
"""

import asyncio
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from keda_py.advice.proposals.manifest_workloads import Body
from keda_py.advice.proposals.workload import Observed, TriggerHistory, WorkloadKey
from keda_py.advice.sources.prometheus import STEP, RecordedWeeks, Series, Weeks
from keda_py.advice.sources.reading import HistoryQuery, Say, read_prometheus, weeks_until
from keda_py.apis.foreign import name_of, namespace_of, text_at, value_at
from keda_py.core.advice.candidates import NoCandidate
from keda_py.core.advice.history import History
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ConfigError
from keda_py.sdk.context import SharedContext
from keda_py.sdk.offline import shared_context
from keda_py.simulation.loads.prometheus import FetchError
from keda_py.simulation.subject import SimulatedObject, build_object

_ASKED = "prometheus"
"""The type of trigger whose query a Prometheus answers."""
_VALUES, _ERRORS = "keda_scaler_metrics_value", "keda_scaler_detail_errors_total"
_RESOLUTION = "1m"
"""Within a step the highest value counts: a mean would hide the need of a minute."""


# Seconds of one question, which is about one series here: 2 016 of the 11 000 points that a Prometheus answers at most.
_PART = 7 * 86_400


async def read_use_and_triggers(
    recorded: RecordedWeeks, asked: HistoryQuery, bodies: Sequence[Body], now: datetime, say: Say
) -> list[Observed]:
    """All workloads; ScaledObjects among the manifests with what their triggers read. Raises as `read_prometheus`."""
    chosen = with_high_minimum(bodies, asked.namespace)
    if not chosen:
        return await read_prometheus(recorded, asked, now, say)
    try:
        observed, because = await read_prometheus(recorded, asked, now, say), "no series of its use names it"
    except ConfigError as error:
        observed, because = [], str(error)
    async with shared_context() as shared:
        weeks = replace(weeks_until(now, asked.weeks), part=_PART)
        triggers = await read_triggers(recorded, shared, chosen, weeks, say)
    return add_triggers(observed, triggers, because)


async def read_triggers(
    recorded: RecordedWeeks, shared: SharedContext, bodies: Sequence[Body], weeks: Weeks, say: Say
) -> dict[WorkloadKey, TriggerHistory | NoCandidate]:
    """A history for each ScaledObject that keeps more than one replica; a sentence where it is not known."""
    found: dict[WorkloadKey, TriggerHistory | NoCandidate] = {}
    for number, body in enumerate(bodies):
        say(number / len(bodies), f"triggers of {name_of(body)}")
        key = WorkloadKey(namespace_of(body), "ScaledObject", name_of(body))
        try:
            built = build_object(body, shared)
            questions = [_question(built, index) for index in range(len(built.subject.spec.triggers))]
            histories = await _histories(recorded, questions, weeks)
        except (ConfigError, FetchError) as error:
            found[key] = NoCandidate(str(error))
        else:
            found[key] = TriggerHistory(subject=built.subject, histories=histories)
    return found


def with_high_minimum(bodies: Iterable[Body], namespace: str) -> list[Body]:
    """Choose the ScaledObjects whose minimum could be lowered and still be one replica."""
    return [
        body
        for body in bodies
        if body["kind"] == "ScaledObject" and namespace in ("", namespace_of(body)) and _minimum(body) > 1
    ]


def add_triggers(
    observed: Iterable[Observed], triggers: dict[WorkloadKey, TriggerHistory | NoCandidate], because: str
) -> list[Observed]:
    """The workloads with what their triggers read; ScaledObjects of which nothing else is known say `because`."""
    found = [replace(each, triggers=triggers.get(each.workload)) for each in observed]
    missing = set(triggers) - {each.workload for each in found}
    return found + [
        Observed(
            workload=key,
            problem=because,
            triggers=triggers[key],
            by_triggers_alone=True,
            source="queries of its triggers",
        )
        for key in sorted(missing)
    ]


def _minimum(body: Body) -> int:
    count = value_at(body, "spec", "minReplicaCount")
    return count if isinstance(count, int) else 0


@dataclass(frozen=True, slots=True)
class _Question:
    """A query for one trigger, and how to call that in an error."""

    text: str
    said: str


def _question(built: SimulatedObject, index: int) -> _Question:
    """Return a query whose answers tell the count. Raises ConfigError for a trigger without any."""
    spec, metrics = built.subject.spec, built.subject.metrics
    trigger = spec.triggers[index]
    where = f"trigger {index} ({trigger.type})"
    if metrics.composite is not None:
        raise ConfigError("scalingModifiers: a formula decides, so its triggers alone do not tell how many were needed")
    external = next((each for each in metrics.external if each.trigger_index == index), None)
    if external is None:
        raise ConfigError(f"{where}: what it read is not recorded, and it may have needed more than the others")
    if external.metric_type != "AverageValue":
        raise ConfigError(f"{where}: metricType {external.metric_type} asks for a count that depends on the one before")
    metadata: Any = trigger.metadata
    query = text_at(metadata, "query")
    if trigger.type == _ASKED and query and not text_at(metadata, "queryParameters"):
        # The line break ends a comment with which a query may close.
        return _Question(f"max_over_time(({query}\n)[{STEP}s:{_RESOLUTION}])", f"{where}: its query")
    return _Question(_recorded(spec, external.name), f"{where}: {_VALUES} of it")


def _recorded(spec: ScalingSpec, metric: str) -> str:
    """Ask for the operator's own record. A failed reading leaves the last value: then nothing is known."""
    seconds = max(STEP, int(2 * spec.polling_interval.total_seconds()))
    named = f"scaledObject={json.dumps(spec.name)}, metric={json.dumps(metric)}"
    # A scrape that does not honour labels renames the namespace that the operator writes.
    places = [f"{label}={json.dumps(spec.namespace)}" for label in ("exported_namespace", "namespace")]
    values, errors = (
        " or ".join(f"{function}({name}{{{named}, {place}}}[{seconds}s])" for place in places)
        for function, name in (("max_over_time", _VALUES), ("increase", _ERRORS))
    )
    return f"max({values}) unless (sum({errors}) > 0)"


async def _histories(recorded: RecordedWeeks, questions: Sequence[_Question], weeks: Weeks) -> tuple[History, ...]:
    """All over the same steps, from the first one on at which each has a value. Raises ConfigError, FetchError."""
    rows = []
    for question in questions:
        series: Series = {}
        async for _ in recorded.read_into(series, question.text, weeks):
            await asyncio.sleep(0)
        if len(series) != 1:
            text = f"{question.said} gives {len(series)} series here, and one alone is a value"
            raise ConfigError(f"{text}; ask the server that has it")
        rows.append(next(iter(series.values())))
    first = max(next((at for at, value in enumerate(row) if not math.isnan(value)), weeks.count) for row in rows)
    origin = datetime.fromtimestamp(weeks.first + first * STEP, UTC)
    return tuple(History(origin=origin, step=STEP, values=row[first:]) for row in rows)
