"""A small server of external and custom metrics behind TLS, like another team's adapter.

The name of an external metric is its value: `v-1500m` is 1.5, `s-7-9` has two series, anything else fails, but for
those that a test puts into `external`. Custom metrics are those that it puts into `custom`.
"""

import base64
import ssl
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.access.identity import Identity, load_pair
from keda_py.localkube.store.store import Store

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
CUSTOM = "custom.metrics.k8s.io"
NAMESPACE, SERVICE = "kube-system", "adapter"
Obj = dict[str, Any]


class Adapter:
    """A metrics server that serves while its context is entered, and records its callers."""

    def __init__(self, identity: Identity, authority: Authority, name: str = f"{SERVICE}.{NAMESPACE}.svc") -> None:
        self._identity, self._authority, self._name = identity, authority, name
        self.asked: list[tuple[str, str, list[str]]] = []
        """Path, user and groups of each request."""
        self.custom: dict[str, dict[str, str]] = {}
        """The value of each object, by custom metric."""
        self.external: dict[str, str | None] = {}
        """The value of each external metric that has a name of its own; None: its source fails."""
        self.port = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get(f"/apis/{GROUP}/{VERSION}", self._discovery)
        app.router.add_get(f"/apis/{GROUP}/{VERSION}/namespaces/{{namespace}}/{{metric}}", self._metric)
        app.router.add_get(f"/apis/{CUSTOM}/{VERSION}", self._discovery)
        app.router.add_get(f"/apis/{CUSTOM}/{VERSION}/namespaces/{{of}}/{{kind}}/{{name}}/{{metric}}", self._custom)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load_pair(context, self._authority.server([self._name], []))
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=self._identity.front_proxy_authority.decode())
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        await self._runner.cleanup()

    def register(self, store: Store, *, endpoints: bool = True, insecure: bool = False, group: str = GROUP) -> None:
        """Register this server with the aggregation: APIService, Service, EndpointSlice."""
        bundle = base64.b64encode(self._authority.certificate).decode()
        trust: Obj = {"insecureSkipTLSVerify": True} if insecure else {"caBundle": bundle}
        for obj in (_service(), *([_endpoint_slice(self.port)] if endpoints else []), _api_service(trust, group)):
            store.create(store.resources.get(obj["apiVersion"], obj["kind"]), obj)

    async def _discovery(self, request: web.Request) -> web.Response:
        row = {"name": "externalmetrics", "singularName": "", "namespaced": True, "kind": "ExternalMetricValueList"}
        group_version = request.path.removeprefix("/apis/")
        body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version}
        return _json({**body, "resources": [{**row, "verbs": ["get"]}]})

    async def _metric(self, request: web.Request) -> web.Response:
        user, groups = request.headers["X-Remote-User"], request.headers.getall("X-Remote-Group", [])
        self.asked.append((f"{request.path}?{request.query_string}", user, groups))
        name = request.match_info["metric"]
        kind, *values = name.split("-")
        if (own := self.external.get(name)) is not None:
            kind, values = "v", [own]
        if kind not in ("v", "s"):
            status = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "message": "no such queue",
                "code": 500,
            }
            return _json(status, 500)
        items = [{"metricName": name, "metricLabels": {}, "value": value} for value in values]
        return _json({"kind": "ExternalMetricValueList", "apiVersion": f"{GROUP}/{VERSION}", "items": items})

    async def _custom(self, request: web.Request) -> web.Response:
        self.asked.append((f"{request.path}?{request.query_string}", request.headers["X-Remote-User"], []))
        name = request.match_info["name"]
        values = self.custom.get(request.match_info["metric"], {})
        items = [
            {"describedObject": {"name": each}, "metricName": request.match_info["metric"], "value": value}
            for each, value in values.items()
            if name in ("*", each)
        ]
        return _json({"kind": "MetricValueList", "apiVersion": f"{CUSTOM}/{VERSION}", "items": items})


def _json(body: Obj, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


def _service() -> Obj:
    metadata = {"name": SERVICE, "namespace": NAMESPACE}
    ports = [{"name": "https", "port": 443, "targetPort": 6443}]
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}


def _endpoint_slice(port: int) -> Obj:
    labels = {"kubernetes.io/service-name": SERVICE}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{SERVICE}-1", "namespace": NAMESPACE, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }


def _api_service(trust: Obj, group: str) -> Obj:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{VERSION}.{group}"},
        "spec": {
            "group": group,
            "version": VERSION,
            **trust,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": SERVICE, "namespace": NAMESPACE, "port": 443},
        },
    }
