"""A server of KEDA's protocol in the test's own process, which says what a test tells it to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
import pytest

from keda_py.sdk import external_protocol as protocol
from tests.waiting import forever


@dataclass
class External:
    """An external scaler: its answers, and the requests that it got."""

    specs: list[dict[str, Any]] = field(default_factory=lambda: [{"metricName": "jobs", "targetSize": 5}])
    values: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    active: bool = True
    hangs: bool = False
    raw: bytes | None = None
    refuses: bool = False
    asked: list[Any] = field(default_factory=list)
    streams: int = 0
    open_streams: int = 0
    told: asyncio.Queue[bool | None] = field(default_factory=asyncio.Queue)
    """What StreamIsActive says next; None ends it."""
    tells_specs: bool = False
    """Whether the server knows StreamMetricSpec, which is optional."""
    spec_streams: int = 0
    told_specs: asyncio.Queue[list[dict[str, Any]] | None] = field(default_factory=asyncio.Queue)
    """What StreamMetricSpec says next, behind `specs`; None ends it."""
    address: str = ""
    seconds: float = 0.0
    """Real time that each answer takes, since a client's time-out is real."""

    async def answer(self, method: str, question: Any) -> bytes:
        self.asked.append(question)
        await asyncio.sleep(self.seconds)
        if self.hangs:
            await forever()
        if self.raw is not None:
            return self.raw
        classes = protocol.messages()
        match method:
            case protocol.GET_METRIC_SPEC:
                answer = classes["GetMetricSpecResponse"](metricSpecs=self.specs)
            case protocol.GET_METRICS:
                answer = classes["GetMetricsResponse"](metricValues=self.values.get(question.metricName, []))
            case _:
                answer = classes["IsActiveResponse"](result=self.active)
        return bytes(answer.SerializeToString())

    async def stream(self, question: Any, context: Any) -> AsyncIterator[bytes]:
        self.streams += 1
        self.open_streams += 1
        self.asked.append(question)
        try:
            while (active := await self.told.get()) is not None:
                yield bytes(protocol.messages()["IsActiveResponse"](result=active).SerializeToString())
        finally:
            self.open_streams -= 1

    async def stream_specs(self, question: Any, context: Any) -> AsyncIterator[bytes]:
        self.spec_streams += 1
        if not self.tells_specs:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method StreamMetricSpec")
        specs: list[dict[str, Any]] | None = self.specs
        while specs is not None:
            self.specs = specs
            yield bytes(protocol.messages()["GetMetricSpecResponse"](metricSpecs=specs).SerializeToString())
            specs = await self.told_specs.get()


def handlers(external: External) -> grpc.GenericRpcHandler:
    classes = protocol.messages()
    reference, metrics = classes["ScaledObjectRef"].FromString, classes["GetMetricsRequest"].FromString

    def unary(method: str) -> Any:
        async def asked(question: Any, context: Any) -> bytes:
            if external.refuses:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
            return await external.answer(method, question)

        parse = metrics if method == protocol.GET_METRICS else reference
        return grpc.unary_unary_rpc_method_handler(asked, request_deserializer=parse)

    names = (protocol.IS_ACTIVE, protocol.GET_METRIC_SPEC, protocol.GET_METRICS)
    stream = grpc.unary_stream_rpc_method_handler(external.stream, request_deserializer=reference)
    of_specs = grpc.unary_stream_rpc_method_handler(external.stream_specs, request_deserializer=reference)
    streams = {protocol.STREAM_IS_ACTIVE: stream, protocol.STREAM_METRIC_SPEC: of_specs}
    methods = {name: unary(name) for name in names} | streams
    return grpc.method_handlers_generic_handler(protocol.SERVICE, methods)


RunExternal = Callable[..., AbstractAsyncContextManager[External]]


@asynccontextmanager
async def external_server(
    credentials: Any = None, port: int = 0, external: External | None = None
) -> AsyncIterator[External]:
    """Until the block ends; `credentials` for TLS, `port` brings one back."""
    server, external = grpc.aio.server(), external or External()
    server.add_generic_rpc_handlers((handlers(external),))
    place = f"127.0.0.1:{port}"
    bound = server.add_secure_port(place, credentials) if credentials else server.add_insecure_port(place)
    external.address = f"127.0.0.1:{bound}"
    await server.start()
    try:
        yield external
    finally:
        await server.stop(None)


@pytest.fixture
def run_external() -> RunExternal:
    """`async with run_external() as external`."""
    return external_server


@pytest.fixture
async def external(run_external: RunExternal) -> AsyncIterator[External]:
    async with run_external() as external:
        yield external
