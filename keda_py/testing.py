"""For tests of scalers, this project's and yours: real contexts, objects of a cluster in memory, one contract check.

`lendings()` lends what the operator lends, on a FakeClock and with a real HTTP client; `check_scaler` tells whether a
scaler class keeps the SDK's contract.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from keda_py.clock import Clock, FakeClock
from keda_py.context import EVERY, EngineContext, Lendings, Reach, SharedResources
from keda_py.errors import ConfigError, NotFound
from keda_py.http import HttpClientSpec, http_client
from keda_py.net.credential_keys import SharingKey
from keda_py.net.operator_identity import IdentityRule
from keda_py.registry import AnyScaler
from keda_py.scaler import ExternalMetric, KubeReader, ResourceMetric, Trigger, TriggerMetadata
from keda_py.tls import TlsContexts

__all__ = [
    "A_SATURDAY",
    "EngineContext",
    "FakeClock",
    "IdentityRule",
    "Objects",
    "check_scaler",
    "config_map",
    "endpoint_slice",
    "lendings",
    "pod",
    "secret",
]

A_SATURDAY = datetime(2026, 11, 21, 5, 56, tzinfo=UTC)
"""Where a FakeClock of `lendings` starts."""

Object = Mapping[str, Any]
_AS_KEDA = Reach(endpoints_of=frozenset({EVERY}))


class Objects:
    """A KubeReader over objects in memory, by resource; label selectors know `name=value` with commas between."""

    def __init__(self, **by_resource: Sequence[Object]) -> None:
        self.by_resource: dict[str, list[Object]] = {name: list(found) for name, found in by_resource.items()}

    async def pods(self, namespace: str, label_selector: str) -> Sequence[Object]:
        """The pods that match."""
        return await self.list("pods", namespace, label_selector)

    async def get(self, resource: str, namespace: str, name: str) -> Object:
        """One object, or NotFound."""
        for found in await self.list(resource, namespace):
            if found["metadata"]["name"] == name:
                return found
        raise NotFound(f'{resource} "{name}" not found', status=404, reason="NotFound")

    async def list(self, resource: str, namespace: str, label_selector: str = "") -> Sequence[Object]:
        """The objects of a namespace that match."""
        wanted = dict(part.split("=", 1) for part in label_selector.split(",") if part)
        return [
            found
            for found in self.by_resource.get(resource.partition(".")[0], ())
            if found["metadata"]["namespace"] == namespace
            and wanted.items() <= found["metadata"].get("labels", {}).items()
        ]


def pod(name: str, *, labels: Mapping[str, str], phase: str = "Running", node: str = "node-1") -> Object:
    """A pod in the namespace `default`."""
    metadata = {"name": name, "namespace": "default", "labels": dict(labels)}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}


def config_map(name: str, data: Mapping[str, str]) -> Object:
    """A ConfigMap in the namespace `default`."""
    return {"metadata": {"name": name, "namespace": "default"}, "data": dict(data)}


def secret(name: str, data: Mapping[str, str]) -> Object:
    """A Secret in the namespace `default`; `data` is base64, as on the wire."""
    return {"metadata": {"name": name, "namespace": "default"}, "data": dict(data)}


def endpoint_slice(service: str, addresses: Sequence[str], *, port: int, ready: bool = True) -> Object:
    """An EndpointSlice of a Service in the namespace `default`."""
    labels = {"kubernetes.io/service-name": service}
    return {
        "metadata": {"name": f"{service}-abcde", "namespace": "default", "labels": labels},
        "endpoints": [{"addresses": [address], "conditions": {"ready": ready}} for address in addresses],
        "ports": [{"port": port}],
    }


@asynccontextmanager
async def lendings(
    *,
    clock: Clock | None = None,
    kube: KubeReader | None = None,
    http: HttpClientSpec | None = None,
    reach: Reach = _AS_KEDA,
    identities: IdentityRule | None = None,
) -> AsyncIterator[Lendings]:
    """What the engine lends to all scalers; `EngineContext(lendings=..., namespace=...)` makes one trigger's.

    `reach` is what triggers may read of other namespaces: as in KEDA; an operator's is `Reach()` unless told otherwise.
    `identities` says where the operator's own identity may go; by default nowhere that a tenant names.
    """
    clock = clock or FakeClock(A_SATURDAY)
    http = http or HttpClientSpec()
    tls = TlsContexts()
    async with http.answers, http_client(http, clock, tls) as client:
        yield Lendings(
            clock=clock,
            http=client,
            http_timeout=http.timeout,
            kube=kube or Objects(),
            tls=tls,
            resources=SharedResources(),
            reach=reach,
            answers=http.answers,
            connections=http.connections,
            identities=identities or IdentityRule(),
        )


async def check_scaler(scaler_class: type[AnyScaler], trigger: Trigger, context: EngineContext) -> None:
    """Build a scaler from valid metadata, without I/O; raises AssertionError that lists every broken promise."""
    problems = _check_model(scaler_class.metadata_model)
    try:
        metadata = scaler_class.metadata_model.parse(trigger.metadata, trigger.env, trigger.auth)
        scaler = scaler_class(metadata, context)
    except ConfigError as error:
        raise AssertionError(f"{scaler_class.__name__} refuses metadata that should be valid: {error}") from error
    problems += await _check_instance(scaler)
    await scaler.aclose()
    if problems:
        raise AssertionError(f"{scaler_class.__name__}: {'; '.join(problems)}")


def _check_model(model: type[TriggerMetadata]) -> list[str]:
    if model is TriggerMetadata:
        return ["metadata_model is not set: derive from Scaler[YourMetadata]"]
    problems = []
    seen: dict[tuple[str, str], str] = {}
    for key in model.declared_keys():
        for slot in ((source, name) for source in key.order for name in key.names):
            other = seen.setdefault(slot, key.field)
            if other != key.field:
                problems.append(f"fields {other} and {key.field} read the same key {slot[1]}")
    return problems


async def _check_instance(scaler: AnyScaler) -> list[str]:
    specs = await scaler.specs()
    promises = {
        "batch_key is not made by sharing_key": scaler.batch_key is None or isinstance(scaler.batch_key, SharingKey),
        "specs() is empty: an HPA needs a metric": bool(specs),
        f"activation {scaler.activation} is not a number": isfinite(scaler.activation),
        "batch_key changes between two looks": scaler.batch_key == scaler.batch_key,
    }
    for spec in specs:
        match spec:
            case ExternalMetric():
                promises[f"metric name {spec.name!r} is unusable"] = bool(spec.name) and spec.name.isprintable()
                promises[f"target {spec.target} is not above 0"] = spec.target > 0 and isfinite(spec.target)
            case ResourceMetric():
                promises[f"the target of {spec.name} is empty"] = bool(spec.target)
    return [problem for problem, kept in promises.items() if not kept]
