"""`aws-kinesis-stream` against moto's server."""

from typing import Any

import pytest

from keda_py.errors import ScalerError
from tests.http_server import http_server

TYPE = "aws-kinesis-stream"


async def test_the_open_shards_of_a_stream_count(bench: Any, aws: Any, place: Any, keys: Any, name: str) -> None:
    async with aws("kinesis") as kinesis:
        await kinesis.create_stream(StreamName=name, ShardCount=3)
    scaler = await bench.opened(TYPE, {**place, "streamName": name, "activationShardCount": "2"}, auth=keys)
    assert (await scaler.read()).value == 3
    assert (scaler.metric_name, scaler.target, scaler.activation) == (f"aws-kinesis-{name}", 2, 2.0)


async def test_a_stream_that_does_not_exist_is_an_error(bench: Any, place: Any, keys: Any) -> None:
    scaler = await bench.opened(TYPE, {**place, "streamName": "nothing"}, auth=keys)
    with pytest.raises(ScalerError, match=r"Kinesis stream nothing: .*not found") as missing:
        await scaler.read()
    assert "s3cret" not in str(missing.value)


@pytest.mark.parametrize(
    "answer", ["", "<html>", "{}", '{"StreamDescriptionSummary":{"OpenShardCount":true}}', "[" * 60_000]
)
async def test_an_answer_without_a_count_is_an_error(bench: Any, place: Any, keys: Any, answer: str) -> None:
    async with http_server() as server:
        server.answers["/"] = answer
        metadata = {**place, "awsEndpoint": server.url, "streamName": "jobs"}
        scaler = await bench.opened(TYPE, metadata, auth=keys)
        with pytest.raises(ScalerError, match="Kinesis stream jobs: "):
            await scaler.read()
