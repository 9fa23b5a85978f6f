"""The recorded triggers of every type: what KEDA makes of them, and what we make of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, TypeAlias

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.metric_names import MetricSet, name_metrics
from keda_py.core.metric_specs import ResourceMetric
from keda_py.core.spec import build_spec
from keda_py.core.values.quantity import parse_milli, target_milli
from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import PodIdentity
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.registry import build
from tests.places import GOLDEN
from tests.scalers.triggers import trigger_of

RECORDED = GOLDEN / "scaler_metadata.json"

Shown: TypeAlias = tuple[str, str, int]
"""Name, target type, target in thousandths (a percentage for Utilization)."""


@dataclass(frozen=True, slots=True)
class MetadataCase:
    """One recorded trigger of a type."""

    type: str
    recorded: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Unique within the type."""
        return str(self.recorded["name"])

    @property
    def index(self) -> int:
        """Index of the trigger in its object."""
        return int(self.recorded.get("triggerIndex", 0))

    def context(self, lent: SharedContext) -> EngineContext:
        """Make the context of the scaler."""
        return EngineContext(
            shared_context=lent,
            namespace="market",
            scaled_object="shop",
            trigger_index=self.index,
            trigger_name=self.recorded.get("triggerName", ""),
            metric_type=self.recorded.get("metricType", ""),
            as_metric_source=self.recorded.get("asMetricSource", False),
            pod_identity=PodIdentity(provider=self.recorded.get("podIdentity", "none")),
        )

    async def difference(self, lent: SharedContext, server: Mapping[str, str] | None = None) -> str:
        """Describe the difference from the recording, "" if there is none. `server`: metadata that names a server to ask."""
        try:
            ours = await self._build(lent, server or {})
        except (ConfigError, ScalerError) as error:
            return self._unlike(str(error))
        if "error" in self.recorded:
            return f"KEDA refuses it ({self.recorded['error']}), ours has {ours}"
        theirs = [_recorded(metric) for metric in self.recorded.get("metrics", ())]
        return "" if ours == theirs else f"KEDA has {theirs}, ours {ours}"

    def _unlike(self, error: str) -> str:
        if "error" not in self.recorded:
            return f"KEDA takes it, ours says: {error}"
        names = self.recorded.get("names", ())
        named = not names or any(name.lower() in error.lower() for name in names)
        return "" if named else f"KEDA names one of {names}, ours says: {error}"

    async def _build(self, lent: SharedContext, server: Mapping[str, str]) -> list[Shown]:
        given = self.recorded
        context = self.context(lent)
        trigger = trigger_of(self.type, {**given["metadata"], **server}, env=given.get("env"), auth=given.get("auth"))
        scaler = build(trigger, context)
        try:
            if server:
                await scaler.open()
            # Without metrics in the recording, no server was there to say which there are.
            specs = await scaler.specs() if {"metrics", "error"} & given.keys() else ()
        finally:
            await scaler.aclose()
            await context.aclose()
        return _shown(name_metrics(self._spec(), [()] * self.index + [specs])) if specs else []

    def _spec(self) -> Any:
        trigger = {"type": self.type, "metadata": {}, "metricType": self.recorded.get("metricType", "")}
        other = {"type": "cron", "metadata": {}}
        body = {
            "metadata": {"name": "shop", "namespace": "market"},
            "spec": {"scaleTargetRef": {"name": "shop"}, "triggers": [other] * self.index + [trigger]},
        }
        return build_spec(parse_object(ScaledObject, body))


@cache
def recorded_types() -> Mapping[str, tuple[MetadataCase, ...]]:
    """Every type of KEDA's builder, with its cases."""
    types = json.loads(RECORDED.read_text(encoding="utf-8"))["types"]
    return {name: tuple(MetadataCase(name, case) for case in cases) for name, cases in types.items()}


def _shown(metrics: MetricSet) -> list[Shown]:
    external = [(one.name, one.metric_type, target_milli(one.target)) for one in metrics.external]
    return external + [_resource(one) for one in metrics.resource]


def _resource(metric: ResourceMetric) -> Shown:
    name = f"{metric.name}/{metric.container}" if metric.container else metric.name
    exact = metric.target_type == "Utilization"
    return (name, metric.target_type, int(metric.target) if exact else parse_milli(metric.target))


def _recorded(metric: Mapping[str, Any]) -> Shown:
    if "resource" not in metric:
        return (metric["name"], metric["type"], _milli(metric["target"]))
    name = f"{metric['resource']}/{metric['container']}" if "container" in metric else metric["resource"]
    exact = metric["type"] == "Utilization"
    return (name, metric["type"], int(metric["target"]) if exact else _milli(metric["target"]))


def _milli(quantity: str) -> int:
    """Go also prints what is too long for a quantity of the wire."""
    try:
        return parse_milli(quantity)
    except ConfigError:
        return int(Decimal(quantity) * 1000)
