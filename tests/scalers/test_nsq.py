"""`nsq` against a scripted nsqlookupd and nsqd; what they answer is recorded in `recorded/`."""

from typing import Any

import pytest
from aiohttp import web

from keda_py.errors import ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.nsq import NsqScaler
from tests.http_server import http_server


def on(url: str) -> dict[str, str]:
    return {"nsqLookupdHTTPAddresses": url.removeprefix("http://"), "topic": "clicks", "channel": "billing"}


def answers_of(server: Any, nsqd: int) -> dict[str, Any]:
    """`nsqd` addresses, all of them this server."""
    port = int(server.url.rpartition(":")[2])
    producers = [{"broadcast_address": f"127.0.0.{number}", "http_port": port} for number in range(1, nsqd + 1)]
    channel = {"channel_name": "billing", "depth": 4, "paused": False}

    async def lookup(_: web.Request) -> web.Response:
        return web.json_response({"producers": producers})

    async def stats(_: web.Request) -> web.Response:
        return web.json_response({"topics": [{"topic_name": "clicks", "depth": 9, "channels": [channel]}]})

    return {"/lookup": lookup, "/stats": stats}


async def test_more_servers_than_a_topic_can_have_are_not_asked(bench: Any) -> None:
    async with http_server() as server:
        server.answers.update(answers_of(server, nsqd=300))
        scaler = await bench.opened("nsq", on(server.url))
        with pytest.raises(ScalerError, match="300 servers are more than 256"):
            await scaler.read()


async def test_the_contract_is_kept(bench: Any) -> None:
    async with http_server() as server:
        server.answers.update(answers_of(server, nsqd=1))
        context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
        await check_scaler(NsqScaler, Trigger(type="nsq", metadata=on(server.url)), context)
