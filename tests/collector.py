"""An OpenTelemetry collector for tests: takes OTLP over HTTP or gRPC, and remembers each metric's last data points."""

import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import (
    MetricsServiceServicer,
    add_MetricsServiceServicer_to_server,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

Attributes = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Point:
    """One data point; a histogram's value is its count."""

    attributes: Attributes
    value: float


@dataclass
class Collector:
    """What came in; `status` is what HTTP exports are answered with."""

    url: str = ""
    status: int = 200
    exports: int = 0
    metrics: dict[str, Metric] = field(default_factory=dict)
    resource: Attributes = field(default_factory=dict)
    scopes: set[str] = field(default_factory=set)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    zeros: set[str] = field(default_factory=set)
    """Names of which a 0 has come, in whichever export."""

    def points(self, name: str) -> list[Point]:
        metric = self.metrics[name]
        data = getattr(metric, str(metric.WhichOneof("data")))
        return [Point(attributes=_plain(point.attributes), value=_value(point)) for point in data.data_points]

    def take(self, request: ExportMetricsServiceRequest) -> None:
        self.exports += 1
        self.metrics = {}
        for resource in request.resource_metrics:
            self.resource = _plain(resource.resource.attributes)
            for scope in resource.scope_metrics:
                self.scopes.add(scope.scope.name)
                self.metrics |= {metric.name: metric for metric in scope.metrics}
        self.zeros |= {name for name in self.metrics if any(point.value == 0 for point in self.points(name))}

    async def answer(self, request: web.Request) -> web.Response:
        self.headers.append(dict(request.headers))
        if self.status != 200:
            return web.Response(status=self.status)
        body = await request.read()
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        self.take(ExportMetricsServiceRequest.FromString(body))
        return web.Response(body=ExportMetricsServiceResponse().SerializeToString())


class _Servicer(MetricsServiceServicer):
    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    async def Export(self, request: ExportMetricsServiceRequest, context: Any) -> ExportMetricsServiceResponse:  # noqa: N802 - the service's name for it
        self._collector.take(request)
        return ExportMetricsServiceResponse()


@asynccontextmanager
async def grpc_collector() -> AsyncIterator[Collector]:
    """A collector on a free port, without TLS."""
    collector, server = Collector(), grpc.aio.server()
    add_MetricsServiceServicer_to_server(_Servicer(collector), server)
    collector.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield collector
    finally:
        await server.stop(grace=None)


def _plain(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def _value(point: Any) -> float:
    return float(point.count if hasattr(point, "count") else getattr(point, point.WhichOneof("value")))
