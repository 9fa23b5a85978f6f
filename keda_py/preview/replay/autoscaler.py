"""The HPA of a ScaledObject over time: syncs of the real controller's arithmetic, left out where they change nothing.

Pure. Pods are ready at once. Its first sync is one period after the HPA is made, as in kube-controller-manager. A sync
is left out while each one before it asked for the same: what it would have remembered is made up for when it matters.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from keda_py.core.evaluation import Evaluation
from keda_py.core.hpa.behavior import History
from keda_py.core.hpa.controller import ControllerOptions, MetricSample, Verdict, record_rescale, sync
from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.metrics import TargetType
from keda_py.core.hpa.pods import Pod, ScaleTarget
from keda_py.core.hpa.wire import read_spec, read_target

PERIOD = timedelta(seconds=15)
_OPTIONS = ControllerOptions()


class Autoscaler:
    """`due` is its next sync that may change something; None: none before its metrics or its count change."""

    def __init__(self, manifest: Mapping[str, Any], made: datetime) -> None:
        self._made, self._history = made, History()
        self._samples: tuple[MetricSample, ...] = ()
        self._current = 0
        self.due: datetime | None = made + PERIOD
        self._read(manifest)

    def change(self, manifest: Mapping[str, Any], now: datetime) -> None:
        """Bounds, behaviour and targets from now on."""
        self._rouse(now)
        self._read(manifest)

    def wake(self, evaluation: Evaluation, replicas: int, now: datetime) -> None:
        """What it will find at its next sync."""
        samples = self._sampled(evaluation)
        if samples != self._samples or replicas != self._current:
            self._rouse(now)
            self._samples, self._current = samples, replicas

    def _read(self, manifest: Mapping[str, Any]) -> None:
        self._spec = read_spec(dict(manifest))
        external = [metric["external"] for metric in manifest["spec"]["metrics"] if metric["type"] == "External"]
        self._targets = {source["metric"]["name"]: read_target(source["target"]) for source in external}
        self._by_pods = any(target.type is TargetType.VALUE for target in self._targets.values())

    def _rouse(self, now: datetime) -> None:
        """Syncs count again; that before now, which was left out, is made up for with what held then."""
        if self.due is None:
            self.due = self._next(now)
            last = self.due - PERIOD
            if last > self._made:
                self._history = self._decide(last).history

    def sync(self, now: datetime) -> Verdict:
        """One sync; the count that it asks for is set by its caller."""
        verdict = self._decide(now)
        if verdict.rescale:
            verdict = record_rescale(self._spec, verdict, now)
        self._history = verdict.history
        if verdict.rescale and verdict.desired is not None:
            self._current = verdict.desired
        self.due = None if self._is_settled(verdict) else now + PERIOD
        return verdict

    def _decide(self, now: datetime) -> Verdict:
        count = self._current
        pods = tuple(Pod(name=str(number), ready=True) for number in range(count)) if self._by_pods else ()
        target = ScaleTarget(namespace="", replicas=count, status_replicas=count, pods=pods)
        return sync(self._spec, target, self._samples, self._history, _OPTIONS, now)

    def _is_settled(self, verdict: Verdict) -> bool:
        asked = {each.replicas for each in verdict.history.recommendations}
        return not verdict.rescale and (verdict.current == 0 or len(asked) == 1)

    def _next(self, now: datetime) -> datetime:
        """Of its syncs the first that is not before now."""
        return self._made - (self._made - now) // PERIOD * PERIOD

    def _sampled(self, evaluation: Evaluation) -> tuple[MetricSample, ...]:
        values = {value.name: value.milli for value in evaluation.values}
        found: Sequence[MetricSample] = [
            ExternalSample(name=name, target=target, values=(values[name],))
            if name in values
            else ExternalSample(name=name, target=target, error="it has no value")
            for name, target in self._targets.items()
        ]
        # Where there are cpu and memory alone, nothing is asked for but what the bounds say.
        return tuple(found) or (_unknown(),)


def _unknown() -> ExternalSample:
    target = read_target({"type": "AverageValue", "averageValue": "1"})
    return ExternalSample(name="cpu", target=target, error="what pods will use is not known")
