"""SignalFlow beside its recorded exchanges: hostile messages, and a server that refuses."""

import gzip
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keda_py.clock import FakeClock
from keda_py.errors import ConfigError, ScalerError
from keda_py.testing import A_SATURDAY, shared_context
from scalers.shared.answers.monitoring.signalflow_data import LONGEST, read_values
from tests.scalers.conftest import Bench
from tests.scalers.recorded.scripts import Script
from tests.scalers.recorded.stage import Papers, Stage, open_stage

HEAD = struct.Struct(">BBBx16s")
QUERY = {
    "query": "data('x').publish()",
    "duration": "1",
    "targetValue": "4",
    "queryAggregator": "avg",
    "activationTargetValue": "1",
}
AUTHENTICATED = {"match": "WS authenticate", "body": {"type": "authenticated"}}


def message(*values: bytes, count: int | None = None, flags: int = 0, kind: int = 5, channel: bytes = b"c") -> bytes:
    body = struct.pack(">qI", 0, len(values) if count is None else count) + b"".join(values)
    return HEAD.pack(1, kind, flags, channel) + (gzip.compress(body) if flags & 1 else body)


def double(value: float) -> bytes:
    return struct.pack(">Bqd", 2, 7, value)


def whole(value: int, kind: int = 1) -> bytes:
    return struct.pack(">Bqq", kind, 7, value)


def test_numbers_of_every_kind_are_read() -> None:
    assert read_values(message(double(1.5), whole(-4), whole(7, kind=3)), "c") == [1.5, -4, 7]
    assert read_values(message(double(1.5), flags=1), "c") == [1.5]


def test_other_messages_and_other_channels_say_nothing() -> None:
    assert read_values(message(double(1.5), kind=6), "c") == []
    assert read_values(message(double(1.5), channel=b"d"), "c") == []
    assert read_values(message(), "c") == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        message(double(1.5))[:-1],
        message(double(1.5), count=2),
        message(double(1.5), count=2**32 - 1),
        message(struct.pack(">Bqq", 9, 7, 1)),
        HEAD.pack(1, 5, 1, b"c") + b"no gzip",
        HEAD.pack(1, 5, 1, b"c") + gzip.compress(bytes(LONGEST + 1)),
        message(double(1.5), flags=2),
    ],
    ids=["empty", "cut", "too few", "far too few", "kind", "not compressed", "too long", "json"],
)
def test_a_message_that_cannot_be_read_is_an_error(data: bytes) -> None:
    with pytest.raises(ScalerError, match="SignalFlow sends"):
        read_values(data, "c")


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with open_stage(Papers(tmp_path)) as stage:
        yield stage


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([{"match": "WS authenticate", "body": {"type": "error", "message": "bad token"}}], "refuses accessToken: bad"),
        ([AUTHENTICATED, {"match": "WS execute", "body": {"type": "error", "message": "bad"}}], "the query: bad"),
        ([AUTHENTICATED, {"match": "WS execute", "body": {"event": "CHANNEL_ABORT"}}], "ended the query"),
        ([AUTHENTICATED, {"match": "WS execute", "body": {"event": "END_OF_CHANNEL"}}], "no data points"),
        ([AUTHENTICATED, {"match": "WS execute", "body": "x" * LONGEST}], "closed the connection"),
        ([AUTHENTICATED, {"match": "WS execute", "body": [[]] * 20_000}], "more than 10000 lists"),
    ],
    ids=["token", "query", "abort", "nothing", "too long", "too many lists"],
)
async def test_what_a_server_refuses_is_told(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, answers: Any, error: str
) -> None:
    clock = FakeClock(A_SATURDAY)
    stage.begin(Script(answers), clock)
    monkeypatch.setenv("HTTPS_PROXY", stage.proxy)
    async with shared_context(clock=clock, tls=stage.papers.tls) as lent:
        bench = Bench(lent)
        auth = {"accessToken": "s3cret", "realm": "us1"}
        scaler = await bench.opened("splunk-observability", QUERY, auth=auth)
        with pytest.raises(ScalerError, match=error) as refused:
            await scaler.read()
        await bench.aclose()
    assert "s3cret" not in str(refused.value)


async def test_what_no_reading_could_use_is_refused_at_once(bench: Any) -> None:
    auth = {"accessToken": "t", "realm": "us1"}
    with pytest.raises(ConfigError, match="queryAggregator: is not known"):
        await bench.opened("splunk-observability", {**QUERY, "queryAggregator": "sum"}, auth=auth)
    with pytest.raises(ConfigError, match="realm: is not a realm"):
        await bench.opened("splunk-observability", QUERY, auth={**auth, "realm": "us1/x?"})
