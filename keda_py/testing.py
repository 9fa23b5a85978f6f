"""Test support for scalers, this project's and yours: real contexts, objects of a cluster in memory, a contract
check.

`shared_context()` provides what the operator does, on a FakeClock and with a real HTTP client; `check_scaler` checks
that a scaler class keeps the SDK's contract; `as_secrets` wraps the texts of a `Trigger`'s `env` and `auth`.
`read_once` does all of this for one reading, and `json_server` is the source that a test asks.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import isfinite
from threading import Thread
from typing import Any

import orjson

from keda_py.clock import FakeClock
from keda_py.core.metric_specs import ExternalMetric, ResourceMetric
from keda_py.core.reading import Reading
from keda_py.errors import ConfigError
from keda_py.net.credential_keys import SharingKey
from keda_py.net.operator_identity import IdentityRule
from keda_py.net.secret_texts import as_secrets
from keda_py.sdk.building_context import A_SATURDAY
from keda_py.sdk.context import EngineContext
from keda_py.sdk.contract import Trigger
from keda_py.sdk.metadata.model import TriggerMetadata
from keda_py.sdk.offline import Object, Objects, shared_context
from keda_py.sdk.registry import AnyScaler

__all__ = [
    "A_SATURDAY",
    "EngineContext",
    "FakeClock",
    "IdentityRule",
    "JsonServer",
    "Objects",
    "Trigger",
    "as_secrets",
    "check_scaler",
    "config_map",
    "endpoint_slice",
    "json_server",
    "pod",
    "read_once",
    "secret",
    "shared_context",
]


def pod(name: str, *, labels: Mapping[str, str], phase: str = "Running", node: str = "node-1") -> Object:
    """Make a pod in the namespace `default`."""
    metadata = {"name": name, "namespace": "default", "labels": dict(labels)}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}


def config_map(name: str, data: Mapping[str, str]) -> Object:
    """Make a ConfigMap in the namespace `default`."""
    return {"metadata": {"name": name, "namespace": "default"}, "data": dict(data)}


def secret(name: str, data: Mapping[str, str]) -> Object:
    """Make a Secret in the namespace `default`; `data` is base64, as on the wire."""
    return {"metadata": {"name": name, "namespace": "default"}, "data": dict(data)}


def endpoint_slice(service: str, addresses: Sequence[str], *, port: int, ready: bool = True) -> Object:
    """Make an EndpointSlice of a Service in the namespace `default`."""
    labels = {"kubernetes.io/service-name": service}
    return {
        "metadata": {"name": f"{service}-abcde", "namespace": "default", "labels": labels},
        "endpoints": [{"addresses": [address], "conditions": {"ready": ready}} for address in addresses],
        "ports": [{"port": port}],
    }


@dataclass(frozen=True, slots=True)
class JsonServer:
    """HTTP server on loopback; `asked` grows by (path with query, headers) with each request."""

    url: str
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)


@contextmanager
def json_server(answers: Mapping[str, Any]) -> Iterator[JsonServer]:
    """Serve JSON by path, in a thread, for tests with and without a loop; another path is answered with 404.

    >>> import httpx
    >>> with json_server({"/level": {"value": 7}}) as server:
    ...     httpx.get(f"{server.url}/level").json(), [path for path, _ in server.asked]
    ({'value': 7}, ['/level'])
    """

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            described.asked.append((self.path, dict(self.headers)))
            path = self.path.partition("?")[0]
            self.send_response(200 if path in answers else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(orjson.dumps(answers.get(path)))

        do_POST = do_GET  # noqa: N815 - the name that the server's class looks up

        def log_message(self, format: str, *arguments: Any) -> None:
            """Keep the test's output free of a line for each request."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as serving:
        described = JsonServer(f"http://127.0.0.1:{serving.server_port}")
        thread = Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield described
        finally:
            serving.shutdown()
            thread.join()


async def read_once(
    scaler_class: type[AnyScaler],
    metadata: Mapping[str, str],
    *,
    auth: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Reading:
    """Check a scaler of this metadata as `check_scaler` does, then open it, read its first metric and close it.

    Raises ScalerError, as the operator sees it, and AssertionError for a broken promise.
    """
    trigger = Trigger(type="test", metadata=metadata, env=as_secrets(env or {}), auth=as_secrets(auth or {}))
    async with shared_context() as lent:
        context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
        async with aclosing(context):
            await check_scaler(scaler_class, trigger, context)
            parsed = scaler_class.metadata_model.parse(trigger.metadata, trigger.env, trigger.auth)
            async with aclosing(scaler_class(parsed, context)) as scaler:
                await scaler.open()
                (metric, *_) = [spec for spec in await scaler.specs() if isinstance(spec, ExternalMetric)]
                return await scaler.read_metric(metric)


async def check_scaler(scaler_class: type[AnyScaler], trigger: Trigger, context: EngineContext) -> None:
    """Build a scaler from `trigger`, whose metadata must be valid, and check it; it is neither opened nor read.

    Raises AssertionError that lists every broken promise: two fields that read one key, a `batch_key` that changes or
    is not made by `sharing_key`, no metric, a metric's name, target or activation that cannot be used.

    >>> import asyncio
    >>> from keda_py.core.reading import Reading
    >>> from keda_py.sdk.contract import Scaler
    >>> from keda_py.sdk.metadata.model import TriggerMetadata
    >>> class TapMetadata(TriggerMetadata):
    ...     level: float
    >>> class TapScaler(Scaler[TapMetadata]):
    ...     metric_name, target = "tap", 0
    ...     async def read(self) -> Reading:
    ...         return Reading(value=self.metadata.level)
    >>> async def check() -> None:
    ...     async with shared_context() as lent:
    ...         context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
    ...         await check_scaler(TapScaler, Trigger(type="tap", metadata={"level": "1"}), context)
    >>> asyncio.run(check())
    Traceback (most recent call last):
    AssertionError: TapScaler: the target 0 is not above 0
    """
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
                promises[f"the target {spec.target} is not above 0"] = spec.target > 0 and isfinite(spec.target)
            case ResourceMetric():
                promises[f"the target of {spec.name} is empty"] = bool(spec.target)
    return [problem for problem, kept in promises.items() if not kept]
