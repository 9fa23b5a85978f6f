"""`predictkube` against a Prometheus of the tests and a forecaster that says what it is told."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.messages import parse
from keda_py.testing import EngineContext, as_secrets
from scalers.predictkube import API_KEY, PREDICT, PredictKubeMetadata, PredictKubeScaler, _messages, request_of
from scalers.shared.grpc.connection import GrpcServer
from tests.http_server import HttpServer, http_server

KEY = "a.b.c"
MATRIX = '{"data":{"resultType":"matrix","result":[{"values":[%s]}]}}'


@dataclass
class Forecaster:
    """Its address, what it says, and what it was asked."""

    address: str = ""
    says: int = 9
    asked: list[Any] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@pytest.fixture
async def forecaster() -> AsyncIterator[Forecaster]:
    state = Forecaster()

    async def predict(request: bytes, context: Any) -> bytes:
        state.keys += [value for name, value in context.invocation_metadata() if name == API_KEY]
        state.asked.append(parse(_messages()["ReqGetPredictMetric"], request))
        return bytes(_messages()["ResGetPredictMetric"](result_metric=state.says).SerializeToString())

    service, _, method = PREDICT.strip("/").rpartition("/")
    handlers = {method: grpc.unary_unary_rpc_method_handler(predict)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    state.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield state
    await server.stop(None)


@pytest.fixture
async def prometheus() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        server.answers["/api/v1/query_range"] = MATRIX % '[100,"3"],[160,"NaN"],[220,"5"]'
        yield server


def metadata(url: str, **more: str) -> dict[str, str]:
    window = {"predictHorizon": "1d12h", "queryStep": "2m", "historyTimeWindow": "7d"}
    return {"prometheusAddress": url, "query": "sum(x)", "threshold": "4", **window, **more}


@pytest.fixture
async def scaler(bench: Any, forecaster: Forecaster, prometheus: HttpServer) -> AsyncIterator[PredictKubeScaler]:
    class Here(PredictKubeScaler):
        service = GrpcServer(address=forecaster.address)

    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    trigger = Trigger(type="predictkube", metadata=metadata(prometheus.url), auth=as_secrets({"apiKey": KEY}))
    scaler = Here(PredictKubeMetadata.parse(trigger.metadata, trigger.env, trigger.auth), context)
    await scaler.open()
    yield scaler
    await scaler.aclose()
    await context.aclose()


async def test_the_history_is_sent_and_the_forecast_counts(
    scaler: PredictKubeScaler, forecaster: Forecaster, prometheus: HttpServer
) -> None:
    reading = await scaler.read()
    assert (reading.value, reading.active) == (9, True)
    (asked,) = forecaster.asked
    assert asked.forecast_horizon == 36 * 30
    assert [(one.timestamp.seconds, one.value) for one in asked.observations] == [(100, 3), (220, 5)]
    assert forecaster.keys == [KEY]
    question = prometheus.asked[0].query
    assert question["step"] == "120"
    assert float(question["end"]) - float(question["start"]) == 7 * 86400


async def test_the_last_observation_counts_where_it_is_more(scaler: PredictKubeScaler, forecaster: Forecaster) -> None:
    forecaster.says = -3
    assert (await scaler.read()).value == 5


async def test_a_series_without_observations_is_an_error(scaler: PredictKubeScaler, prometheus: HttpServer) -> None:
    prometheus.answers["/api/v1/query_range"] = MATRIX % ""
    with pytest.raises(ScalerError, match="no observations"):
        await scaler.read()


@pytest.mark.parametrize("answer", ["<html>", "{}", MATRIX % "[1]", MATRIX % '[1,"x"]', MATRIX % "[1,2]"])
async def test_an_answer_of_another_shape_is_an_error(
    scaler: PredictKubeScaler, prometheus: HttpServer, answer: str
) -> None:
    prometheus.answers["/api/v1/query_range"] = answer
    with pytest.raises(ScalerError, match="not JSON|matrix of series|not a number"):
        await scaler.read()


@pytest.mark.parametrize("written", ["2", "x", "2 h", "2h3", "999999999w", "1h" * 30])
async def test_a_span_needs_units(bench: Any, written: str) -> None:
    with pytest.raises(ConfigError, match="predictHorizon: .* is not a duration"):
        bench.scaler("predictkube", metadata("http://x", predictHorizon=written), auth={"apiKey": KEY})


async def test_a_long_history_leaves_the_loop_to_others() -> None:
    turns, ended = 0, False

    async def count() -> None:
        nonlocal turns
        while not ended:
            turns += 1
            await asyncio.sleep(0)

    history = [[1_700_000_000.0 + number, number / 2] for number in range(5_000)]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(count())
        sent = await request_of(history, 3, "m")
        ended = True
    request = _messages()["ReqGetPredictMetric"].FromString(sent)
    assert [[one.timestamp.seconds, one.value] for one in request.observations] == history
    assert {one.metric_name for one in request.observations} == {"m"}
    assert turns >= 20
