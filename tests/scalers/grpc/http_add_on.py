"""KEDA's HTTP add-on as its external scaler speaks on the wire: what it is asked, what it answers, and its ticks.

Counts of pending requests come from its interceptors, here from `pending` and `rates`, by NAMESPACE/NAME. Every tick
(200 ms there, a call of `tick` here) it says on each open stream whether there is work, True or False, whether that has
changed or not. An object that its own cache does not show yet is an error, which ends a stream.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from keda_py.sdk import external_protocol as protocol
from tests.builders import metadata, obj
from tests.scalers.grpc.conftest import External, external_server

ROUTE, SCALED, INTERCEPTOR = "interceptorRoute", "httpScaledObject", "interceptorTargetPendingRequests"


@dataclass
class HttpAddOn(External):
    """Its scaler. `targets`: of HTTPScaledObjects, an integer; of InterceptorRoutes, by metric."""

    targets: dict[str, int | dict[str, int]] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    ticks: int = 0
    _streams: list[asyncio.Queue[None]] = field(default_factory=list)

    def tick(self) -> None:
        """One turn of the ticker of each open stream."""
        self.ticks += 1
        for stream in self._streams:
            stream.put_nowait(None)

    async def answer(self, method: str, question: Any) -> bytes:
        """An exception is an error of gRPC's code UNKNOWN, as there."""
        self.asked.append(question)
        classes = protocol.messages()
        match method:
            case protocol.GET_METRIC_SPEC:
                answer = classes["GetMetricSpecResponse"](metricSpecs=self._specs_of(question))
            case protocol.GET_METRICS:
                values = self._values_of(question.scaledObjectRef, question.metricName)
                answer = classes["GetMetricsResponse"](metricValues=values)
            case _:
                answer = classes["IsActiveResponse"](result=self._is_active(question))
        return bytes(answer.SerializeToString())

    async def stream(self, question: Any, context: Any) -> AsyncIterator[bytes]:
        """Nothing is said before the first tick; the metadata is looked up anew at each."""
        ticker: asyncio.Queue[None] = asyncio.Queue()
        self._streams.append(ticker)
        self.streams += 1
        self.open_streams += 1
        try:
            while True:
                await ticker.get()
                yield bytes(
                    protocol.messages()["IsActiveResponse"](result=self._is_active(question)).SerializeToString()
                )
        finally:
            self._streams.remove(ticker)
            self.open_streams -= 1

    def _is_active(self, reference: Any) -> bool:
        values = self._values_of(reference, "")
        if not values:
            raise LookupError("no metric values in response")
        return any(one.get("metricValueFloat", 0) > 0 or one.get("metricValue", 0) > 0 for one in values)

    def _specs_of(self, reference: Any) -> list[dict[str, Any]]:
        told = reference.scalerMetadata
        if ROUTE in told:
            name, target = told[ROUTE], self._target(reference.namespace, told[ROUTE])
            assert isinstance(target, dict)
            return [{"metricName": f"http_{name}_{kind}", "targetSizeFloat": size} for kind, size in target.items()]
        if SCALED in told:
            size = self._target(reference.namespace, told[SCALED])
            return [{"metricName": _metric_name(reference.namespace, told[SCALED]), "targetSize": size}]
        if INTERCEPTOR in told:
            name = _metric_name(reference.namespace, reference.name)
            return [{"metricName": name, "targetSize": int(told[INTERCEPTOR])}]
        raise LookupError("unable to get HTTPScaledObject reference")

    def _values_of(self, reference: Any, metric: str) -> list[dict[str, Any]]:
        told, namespace = reference.scalerMetadata, reference.namespace
        if ROUTE in told:
            name, target = told[ROUTE], self._target(namespace, told[ROUTE])
            assert isinstance(target, dict)
            key = f"{namespace}/{name}"
            counts = {"concurrency": float(self.pending.get(key, 0)), "rate": self.rates.get(key, 0.0)}
            every = {f"http_{name}_{kind}": counts[kind] for kind in target}
            wanted = every if not metric else {metric: every[metric]} if metric in every else {}
            return [{"metricName": called, "metricValueFloat": value} for called, value in wanted.items()]
        if SCALED in told:
            self._target(namespace, told[SCALED])
            value = self.pending.get(f"{namespace}/{told[SCALED]}", 0)
            return [{"metricName": _metric_name(namespace, told[SCALED]), "metricValue": value}]
        if INTERCEPTOR in told:
            return [{"metricName": _metric_name(namespace, reference.name), "metricValue": sum(self.pending.values())}]
        raise LookupError("unable to get HTTPScaledObject reference")

    def _target(self, namespace: str, name: str) -> int | dict[str, int]:
        key = f"{namespace}/{name}"
        if key not in self.targets:
            raise LookupError(f'HTTPScaledObject.http.keda.sh "{name}" not found')
        return self.targets[key]


def _metric_name(namespace: str, name: str) -> str:
    """`http-NAMESPACE/NAME`, where all but letters, digits, `-` and `.` is `_` and its number in hexadecimal."""
    text = f"http-{namespace}/{name}"
    return "".join(one if one.isascii() and (one.isalnum() or one in "-.") else f"_{ord(one):04X}" for one in text)


@asynccontextmanager
async def http_add_on(port: int = 0, known: HttpAddOn | None = None) -> AsyncIterator[HttpAddOn]:
    """Its scaler until the block ends; `port` and `known` bring one back as a new pod of it."""
    async with external_server(port=port, external=known or HttpAddOn()) as external:
        assert isinstance(external, HttpAddOn)
        yield external


GROUP, KIND = "http.keda.sh", "HTTPScaledObject"


def definition(kind: str = KIND, version: str = "v1alpha1") -> dict[str, Any]:
    """The CRD of a kind of its, as far as a garbage collector or kubectl has to know it."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower()}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [served]}
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{kind.lower()}s.{GROUP}", spec=spec)


def http_scaled_object(name: str, namespace: str = "default") -> dict[str, Any]:
    """An HTTPScaledObject, which owns the ScaledObject of its name."""
    return obj(f"{GROUP}/v1alpha1", KIND, name, namespace)


def its_scaled_object(address: str, owner: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """What its operator creates for an HTTPScaledObject as it is stored, field by field."""
    meta = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    body = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"]},
        "pollingInterval": 15,
        "advanced": {"restoreToOriginalReplicaCount": True},
        "triggers": [
            {"type": "external-push", "metadata": {"scalerAddress": address, "httpScaledObject": meta["name"]}}
        ],
        **spec,
    }
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {**metadata(meta["name"], ownerReferences=[reference]), "creationTimestamp": None},
        "spec": body,
        "status": {},
    }
