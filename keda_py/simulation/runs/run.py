"""Runs: one object, simulated over one load, here or in another process."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from keda_py.core.defaults.layers import Layers
from keda_py.core.meaning.windows import windows_of
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.quantity import target_milli
from keda_py.errors import ConfigError
from keda_py.replay.engine.engine import ObjectEngine, Recorder
from keda_py.replay.engine.setting import Cluster, Setting
from keda_py.replay.engine.source import Source
from keda_py.replay.engine.subject import Subject
from keda_py.sdk.offline import shared_context
from keda_py.simulation.loads.load import RESOURCE_UNITS, Load, Need
from keda_py.simulation.native import build_native, is_native
from keda_py.simulation.recording import Figures, Recording
from keda_py.simulation.sources import OwnReading, SimulatedClock, reads_by_itself
from keda_py.simulation.subject import SimulatedObject, build_object

_PEAK_PODS = 10
_REQUESTS = {"cpu": "cpu=500m", "memory": "memory=512Mi"}


# Plans of simulations: versions of an object over time, in a setting, until an end.


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`versions` are (second, version), the first when the object is created.

    That second may be negative: what comes before second 0 happens, and is not recorded.
    """

    versions: Sequence[tuple[float, Subject]]
    setting: Setting
    end: float


def simulate(plan: Plan, recorder: Recorder) -> None:
    """Run the engine from the object's creation to the plan's end, which is not reached itself."""
    engine = ObjectEngine(plan.versions[0][1], plan.setting, recorder)
    for at, version in plan.versions:
        engine.run_until(min(at, plan.end))
        if at >= plan.end:
            return
        engine.adopt(version, at)
    engine.run_until(plan.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`title` is "shop/web", `variant` what makes it differ from the manifest, "" for nothing."""

    title: str
    body: Mapping[str, Any]
    load: Load
    cluster: Cluster = field(default_factory=Cluster)
    replicas: int | None = None
    """The count at the beginning; None: the minimum."""
    variant: str = ""
    layers: Layers = ()
    """Defaults of its namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The figures of a run, with its title."""

    title: str
    variant: str
    figures: Figures


def needs_of(body: Mapping[str, Any], load: Load, layers: Layers = ()) -> tuple[Need, ...]:
    """Find out what an object's triggers need of a load. Raises ConfigError."""
    clock = SimulatedClock(load.origin)
    return _needs(asyncio.run(_build(body, clock, layers)), clock)


def carry_out(run: Run) -> Result:
    """Simulate outside of an event loop. Raises ConfigError that names the object."""
    return asyncio.run(simulate_run(run))


async def simulate_run(run: Run) -> Result:
    """Bind the load to the triggers, and simulate. Raises ConfigError that names the object."""
    try:
        clock = SimulatedClock(run.load.origin)
        created = {"creationTimestamp": run.load.origin.isoformat()}
        body = {**run.body, "metadata": {**run.body["metadata"], **created}}
        built = await _build(body, clock, run.layers)
        mistakes = Mistakes()
        with mistakes.noted():
            sources = dict(run.load.bind(_needs(built, clock)))
        with mistakes.noted():
            _refuse_unknown_shares(built.subject, run.cluster)
        mistakes.refuse()
    except ConfigError as error:
        raise ConfigError(f"{run.title}: {error}", field=error.field) from None
    for index, scaler in enumerate(built.scalers):
        if index not in sources:
            sources[index] = OwnReading(scaler, clock, run.load.origin)
    return _simulate(run, built.subject, sources)


def _refuse_unknown_shares(subject: Subject, cluster: Cluster) -> None:
    """A share of nothing moves no HPA: the whole result would be the minimum, and look as if that were enough."""
    for index, metric in zip(subject.metrics.resource_triggers, subject.metrics.resource, strict=True):
        if metric.target_type == "Utilization" and metric.name not in cluster.requests:
            listed = f"spec.metrics[{index}]" if subject.native else f"spec.triggers[{index}]"
            said = f"{listed}: {metric.target} is a percentage of the {metric.name} that each pod requests"
            field = listed if subject.native else f"{listed}.metadata.value"
            raise ConfigError(f"{said}; give --request, such as --request {_REQUESTS[metric.name]}", field=field)


def _simulate(run: Run, subject: Subject, sources: Mapping[int, Source]) -> Result:
    spec = subject.spec
    # An HPA ends no zero that it has not set: its workload begins with a pod.
    least = max(spec.min_replicas, 1) if subject.native else spec.min_replicas
    replicas = least if run.replicas is None else run.replicas
    if spec.idle_replicas is not None and run.replicas is None:
        replicas = spec.idle_replicas
    setting = Setting(sources=sources, origin=run.load.origin, replicas=replicas, cluster=run.cluster)
    plan = Plan(versions=[(0.0, subject)], setting=setting, end=run.load.end)
    recording = Recording(replicas)
    simulate(plan, recording)
    return Result(title=run.title, variant=run.variant, figures=recording.figures(plan.end))


def carry_out_all(runs: Sequence[Run], processes: int) -> list[Result]:
    """Carry runs out, in their order, more than one in processes of their own. Raises the first ConfigError."""
    if processes < 2 or len(runs) < 2:
        return [carry_out(run) for run in runs]
    with ProcessPoolExecutor(min(processes, len(runs)), mp_context=get_context("spawn")) as pool:
        return list(pool.map(carry_out, runs, chunksize=max(1, len(runs) // (processes * 4))))


async def _build(body: Mapping[str, Any], clock: SimulatedClock, layers: Layers) -> SimulatedObject:
    if is_native(body):
        return build_native(body)
    async with shared_context(clock=clock) as shared:
        return build_object(body, shared, layers)


def _needs(built: SimulatedObject, clock: SimulatedClock) -> tuple[Need, ...]:
    """List every trigger but those that know by the clock what they read."""
    subject, found = built.subject, []
    spec = subject.spec
    zone = next((window.zone for window in windows_of(spec.triggers)), "")
    external = {metric.trigger_index: metric for metric in subject.metrics.external}
    for index, trigger in enumerate(spec.triggers):
        metric = external.get(index)
        if metric is not None and built.scalers and reads_by_itself(built.scalers[index], clock):
            continue
        names = (trigger.name, metric.name if metric else trigger.type, f"trigger{index}")
        peak = None
        if metric is not None and metric.metric_type == "AverageValue" and subject.metrics.composite is None:
            peak = target_milli(metric.target) / 1000 * min(spec.max_replicas, _PEAK_PODS)
        query = str(trigger.metadata.get("query", ""))
        unit = "" if metric is not None else RESOURCE_UNITS.get(trigger.type, "")
        named = tuple(filter(None, names))
        found.append(Need(index=index, names=named, peak=peak, query=query, unit=unit, zone=zone))
    return tuple(found)
