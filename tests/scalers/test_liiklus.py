"""`liiklus` against a gRPC server of the same service; its messages are made by Google's own library."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.liiklus import LiiklusScaler
from scalers.shared.brokers.liiklus_offsets import offsets_in, request
from tests.properties import examples

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""

_FIELD = descriptor_pb2.FieldDescriptorProto


def _messages() -> tuple[Any, Any]:
    """The request and the reply, described as liiklus does."""
    file = descriptor_pb2.FileDescriptorProto(name="liiklus.proto", package="liiklus", syntax="proto3")
    asked = file.message_type.add(name="Request")
    for number, (name, kind) in enumerate(
        [("topic", _FIELD.TYPE_STRING), ("group", _FIELD.TYPE_STRING), ("version", _FIELD.TYPE_UINT32)], 1
    ):
        asked.field.add(name=name, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)
    reply = file.message_type.add(name="Reply")
    entry = reply.nested_type.add(name="OffsetsEntry")
    entry.options.map_entry = True
    for number, (name, kind) in enumerate([("key", _FIELD.TYPE_UINT32), ("value", _FIELD.TYPE_UINT64)], 1):
        entry.field.add(name=name, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)
    reply.field.add(
        name="offsets",
        number=1,
        type=_FIELD.TYPE_MESSAGE,
        label=_FIELD.LABEL_REPEATED,
        type_name=".liiklus.Reply.OffsetsEntry",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return tuple(
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"liiklus.{one}")) for one in ("Request", "Reply")
    )


Request, Reply = _messages()


class Liiklus(grpc.GenericRpcHandler):
    """`committed` by group and version, `ends` by topic."""

    def __init__(self) -> None:
        self.committed: dict[tuple[str, int], Mapping[int, int]] = {}
        self.ends: dict[str, Mapping[int, int]] = {}
        self.port = 0
        self.raw = b""

    def service(self, details: Any) -> Any:
        methods = {"GetOffsets": self._offsets, "GetEndOffsets": self._ends}
        method = details.method.removeprefix("/com.github.bsideup.liiklus.LiiklusService/")
        return grpc.unary_unary_rpc_method_handler(methods[method]) if method in methods else None

    async def _offsets(self, text: bytes, context: Any) -> bytes:
        asked = Request.FromString(text)
        assert asked.topic in self.ends
        return self.raw or Reply(offsets=self.committed.get((asked.group, asked.version), {})).SerializeToString()

    async def _ends(self, text: bytes, context: Any) -> bytes:
        return Reply(offsets=self.ends[Request.FromString(text).topic]).SerializeToString()


@asynccontextmanager
async def serving(port: int = 0) -> AsyncIterator[Liiklus]:
    liiklus = Liiklus()
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((liiklus,))
    liiklus.port = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield liiklus
    finally:
        await server.stop(None)


def on(port: int, **metadata: str) -> dict[str, str]:
    return {"address": f"127.0.0.1:{port}", "topic": "clicks", "group": "billing", **metadata}


async def test_the_lag_over_all_partitions(bench: Any) -> None:
    async with serving() as liiklus:
        liiklus.ends["clicks"] = {0: 10, 1: 5, 300: 2**40 + 3}
        liiklus.committed["billing", 2] = {0: 4, 1: 9, 300: 2**40}
        scaler = await bench.opened("liiklus", on(liiklus.port, groupVersion="2", activationLagThreshold="8"))
        reading = await scaler.read()
        assert (reading.value, reading.active) == (9, True)
        unknown = await bench.opened("liiklus", on(liiklus.port, lagThreshold="100"))
        assert (await unknown.read()).value == 300


async def test_a_topic_without_partitions_has_no_lag(bench: Any) -> None:
    async with serving() as liiklus:
        liiklus.ends["clicks"] = {}
        reading = await (await bench.opened("liiklus", on(liiklus.port))).read()
        assert (reading.value, reading.active) == (0, False)


async def test_what_the_server_refuses_or_garbles_is_an_error(bench: Any) -> None:
    async with serving() as liiklus:
        scaler = await bench.opened("liiklus", on(liiklus.port))
        with pytest.raises(ScalerError, match=rf"gRPC 127.0.0.1:{liiklus.port} GetOffsets: UNKNOWN"):
            await scaler.read()
        liiklus.ends["clicks"], liiklus.raw = {0: 1}, b"\x0a\xff"
        with pytest.raises(ScalerError, match="not one of liiklus"):
            await scaler.read()


async def test_a_server_that_is_not_there_is_an_error_of_the_poll(bench: Any) -> None:
    scaler = await bench.opened("liiklus", on(1))
    with pytest.raises(ScalerError, match=r"gRPC 127.0.0.1:1 GetOffsets: UNAVAILABLE"):
        await scaler.read()


async def test_a_restarted_server_is_read_again(bench: Any) -> None:
    async with serving() as liiklus:
        liiklus.ends["clicks"] = {0: 1}
        scaler = await bench.opened("liiklus", on(liiklus.port))
        assert (await scaler.read()).value == 1
    with pytest.raises(ScalerError, match="UNAVAILABLE"):
        await scaler.read()
    async with serving(liiklus.port) as again, asyncio.timeout(10):
        again.ends["clicks"] = {0: 2}
        while (value := await value_of(scaler)) is None:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
        assert value == 2


async def value_of(scaler: Any) -> float | None:
    """None while it fails."""
    try:
        return (await scaler.read()).value
    except ScalerError:
        return None


async def test_a_server_that_never_answers_is_given_up(bench: Any, silent_port: int) -> None:
    scaler = await bench.opened("liiklus", on(silent_port), timeout=0.2)
    with pytest.raises(ScalerError, match="DEADLINE_EXCEEDED|UNAVAILABLE"):
        await scaler.read()


@pytest.mark.parametrize(
    "address", ["unix:/var/run/x.sock", "unix:///x", "unix-abstract:x", "vsock:1:2", "unix:x:80", "xds:///a"]
)
async def test_a_socket_of_the_operators_own_machine_is_refused(bench: Any, address: str) -> None:
    (caution,) = bench.scaler("liiklus", on(1, address=address)).cautions
    assert "is not host:port" in caution
    with pytest.raises(ConfigError, match="address: .* is not host:port"):
        await bench.opened("liiklus", on(1, address=address))


async def test_triggers_of_all_tenants_share_the_connection_to_a_server(bench: Any) -> None:
    one, other = [await bench.opened("liiklus", on(6565), namespace=name) for name in ("a", "b")]
    external = await bench.opened("external", {"scalerAddress": "127.0.0.1:6565"})
    assert one._connection is other._connection is external._connection


@examples(200)
@given(offsets=st.dictionaries(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)))
def test_a_reply_is_read_as_it_was_written(offsets: dict[int, int]) -> None:
    assert dict(offsets_in(Reply(offsets=offsets).SerializeToString())) == offsets


@examples(200)
@given(topic=st.text(), group=st.text(), version=st.integers(0, 2**32 - 1))
def test_a_request_is_written_as_it_is_read(topic: str, group: str, version: int) -> None:
    asked = Request.FromString(request(topic, group, version))
    assert (asked.topic, asked.group, asked.version) == (topic, group, version)


@examples(300)
@given(text=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    with suppress(ScalerError):
        offsets_in(text)


async def test_the_contract_is_kept(bench: Any) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(LiiklusScaler, Trigger(type="liiklus", metadata=on(6565)), context)
