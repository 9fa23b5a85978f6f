"""Build and read triggers once, by an operator that scales nothing, on an embedded cluster with their credentials.

Nothing is written to any cluster. The ScaledObject itself is not there: its spec goes straight to the operator's
readings, one trigger at a time, so that one that cannot be built hides no other.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from keda_py.apis.kinds.crds import build_crds
from keda_py.check_trigger.references import NEEDED
from keda_py.clock import SystemClock
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import MetricReading, Reading
from keda_py.core.spec import ScalingSpec, TriggersSpec
from keda_py.errors import ConfigError, ScalerError
from keda_py.kube.resources import Obj
from keda_py.localkube.cluster import LocalCluster
from keda_py.operator.app import run_operator
from keda_py.operator.assembly import Assembly
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSet
from keda_py.settings.settings import Settings, load_settings

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTrial:
    """One metric of a trigger. `target` and `activation` are what the value is compared with; `seconds` it took.

    `longest`: the seconds that it may take. `may_say`: whether its trigger has a `timeout` of its own to say so.
    """

    metric: str
    target: float
    metric_type: str
    activation: float
    seconds: float
    longest: float = 0.0
    may_say: bool = False
    value: float | None = None
    active: bool = False
    note: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerTrial:
    """The outcome of one trigger: `error` if it cannot be built, `by_hpa` the metrics that the HPA reads itself.

    `troubles` are credentials that are missing, a sentence each.
    """

    index: int
    type: str
    seconds: float
    measured: tuple[MetricTrial, ...] = ()
    by_hpa: tuple[str, ...] = ()
    error: str = ""
    troubles: tuple[str, ...] = ()

    @property
    def works(self) -> bool:
        """Whether the trigger was built and every metric read."""
        return not self.error and not any(one.error for one in self.measured)


async def try_triggers(spec: TriggersSpec, indexes: Sequence[int], objects: Iterable[Obj]) -> list[TriggerTrial]:
    """Build and read these triggers; `objects` are what they are built from. Raises KedaPyError."""
    async with _operator(spec.namespace, objects) as assembly:
        readings, resolver = assembly.parts.shared.readings, assembly.parts.shared.resolver
        answers = []
        for index in indexes:
            alone = _only_trigger(spec, index)
            # One trigger at a time: one that cannot be built fails its whole object, and would hide the others.
            answer = await _try(readings, alone, index)
            missing = (trouble.removeprefix("trigger 0: ") for trouble in resolver.troubles(alone.key))
            answers.append(replace(answer, troubles=tuple(missing)))
            await readings.forget(alone.key)
        return answers


def _only_trigger(spec: TriggersSpec, index: int) -> TriggersSpec:
    """Keep only that trigger; a formula is left out, since it would ask for the others."""
    one: dict[str, Any] = {"triggers": (spec.triggers[index],)}
    return replace(spec, **one, modifiers=None) if isinstance(spec, ScalingSpec) else replace(spec, **one)


async def _try(readings: Readings, spec: TriggersSpec, index: int) -> TriggerTrial:
    began, kind = monotonic(), spec.triggers[0].type
    try:
        metrics = await readings.build(spec)
        seen = await readings.poll(spec.key)
    except (ConfigError, ScalerError) as error:
        return TriggerTrial(index=index, type=kind, seconds=monotonic() - began, error=str(error))
    scalers = readings.built(spec.key)
    return TriggerTrial(
        index=index,
        type=kind,
        seconds=monotonic() - began,
        measured=tuple(_measured(one, index, scalers) for one in seen.readings) if seen and scalers else (),
        by_hpa=_by_hpa(metrics),
    )


def _by_hpa(metrics: MetricSet) -> tuple[str, ...]:
    return tuple(f"{one.name} {one.target_type} {one.target}" for one in metrics.resource)


def _measured(one: MetricReading, index: int, scalers: ScalerSet) -> MetricTrial:
    outcome, metric, scaler = one.outcome, one.metric, scalers.scaler(0)
    read = isinstance(outcome, Reading)
    return MetricTrial(
        metric=f"s{index}-{metric.name.removeprefix('s0-')}",
        target=float(metric.target),
        metric_type=metric.metric_type,
        activation=scalers.activation(0),
        seconds=one.seconds,
        longest=scaler.timeout,
        may_say="timeout" in scaler.metadata_model.model_fields,
        value=outcome.value if isinstance(outcome, Reading) else None,
        active=isinstance(outcome, Reading) and bool(outcome.active),
        note=outcome.note if isinstance(outcome, Reading) else "",
        error="" if read else str(outcome),
    )


@asynccontextmanager
async def _operator(namespace: str, objects: Iterable[Obj]) -> AsyncIterator[Assembly]:
    """Run an operator as `keda-py operator` does, on free ports, with these objects in its cluster."""
    stopping = asyncio.Event()
    works: asyncio.Future[Assembly] = asyncio.get_running_loop().create_future()
    with tempfile.TemporaryDirectory(prefix="keda-py-") as private:
        async with LocalCluster() as cluster, asyncio.TaskGroup() as tasks:
            await cluster.apply([*build_crds(), _namespace(namespace), *(_plain(one, namespace) for one in objects)])
            settings = _settings(Path(private, "kubeconfig"), cluster.kubeconfig())
            running = tasks.create_task(run_operator(settings, SystemClock(), stopping, works.set_result))
            either: tuple[asyncio.Future[Any], ...] = (running, works)
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            try:
                yield works.result()
            finally:
                stopping.set()


def _settings(kubeconfig: Path, text: str) -> Settings:
    kubeconfig.write_text(text, encoding="utf-8")
    flags = {
        "kubeconfig": str(kubeconfig),
        "bind-address": _LOOPBACK,
        **dict.fromkeys(("secure-port", "webhook-port", "metrics-bind-address", "health-probe-bind-address"), "0"),
    }
    return load_settings({flag: [value] for flag, value in flags.items()}, {})


def _namespace(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _plain(obj: Obj, namespace: str) -> Obj:
    """Strip what a cluster has written, and let a workload have no pods."""
    resource, metadata = NEEDED[obj["kind"]], obj["metadata"]
    kept = {field: metadata[field] for field in ("name", "labels", "annotations") if metadata.get(field)}
    if resource.namespaced:
        kept["namespace"] = metadata.get("namespace") or namespace
    plain = {field: value for field, value in obj.items() if field != "status"} | {"metadata": kept}
    # Pods are not wanted: only the workload's environment is read, and the embedded cluster would start them.
    if isinstance(plain.get("spec"), dict) and "template" in plain["spec"]:
        plain["spec"] = {**plain["spec"], "replicas": 0}
    return plain
