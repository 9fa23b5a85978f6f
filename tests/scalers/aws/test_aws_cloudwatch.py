"""`aws-cloudwatch` against moto's server, and against answers that moto does not give."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from tests.http_server import http_server

TYPE = "aws-cloudwatch"
METRIC = {"namespace": "Shop", "metricName": "depth", "dimensionName": "queue", "targetMetricValue": "5"}


def on(place: dict[str, str], queue: str, **metadata: str) -> dict[str, str]:
    return {**place, **METRIC, "dimensionValue": queue, "minMetricValue": "1.5", **metadata}


async def put(aws: Any, now: datetime, **depths: float) -> None:
    """One value for each queue, in the period that has just ended."""
    at = datetime.fromtimestamp(now.timestamp() // 300 * 300 - 60, UTC)
    async with aws("cloudwatch") as cloudwatch:
        for queue, depth in depths.items():
            dimensions = [{"Name": "queue", "Value": queue}]
            data = {"MetricName": "depth", "Dimensions": dimensions, "Timestamp": at, "Value": depth}
            await cloudwatch.put_metric_data(Namespace="Shop", MetricData=[data])


async def test_the_newest_value_counts(bench: Any, aws: Any, place: Any, keys: Any, name: str) -> None:
    await put(aws, bench.lent.clock.now(), **{name: 7.5})
    scaler = await bench.opened(TYPE, on(place, name, activationTargetMetricValue="2"), auth=keys)
    assert (await scaler.read()).value == 7.5
    assert (scaler.metric_name, scaler.target, scaler.activation) == ("aws-cloudwatch", 5.0, 2.0)


async def test_no_value_counts_as_the_least(bench: Any, place: Any, keys: Any) -> None:
    reading = await (await bench.opened(TYPE, on(place, "nothing"), auth=keys)).read()
    assert (reading.value, reading.empty) == (1.5, True)
    scaler = await bench.opened(TYPE, on(place, "nothing", ignoreNullValues="false"), auth=keys)
    with pytest.raises(ScalerError, match="ignoreNullValues is false"):
        await scaler.read()


async def test_metrics_of_one_window_are_one_question(bench: Any, aws: Any, place: Any, keys: Any, name: str) -> None:
    await put(aws, bench.lent.clock.now(), **{name: 7, f"{name}-b": 9})
    queues = (name, "nothing", f"{name}-b")
    scalers = [await bench.opened(TYPE, on(place, queue), auth=keys) for queue in queues]
    assert len({scaler.batch_key for scaler in scalers}) == 1
    assert [reading.value for reading in await scalers[0].read_batch(scalers)] == [7, 1.5, 9]


async def test_what_may_not_share_a_question_does_not(bench: Any, place: Any, keys: Any) -> None:
    one = bench.scaler(TYPE, on(place, "q"), auth=keys)
    others = [
        bench.scaler(TYPE, on(place, "q", metricCollectionTime="600"), auth=keys),
        bench.scaler(TYPE, on(place, "q", metricEndTimeOffset="60"), auth=keys),
        bench.scaler(TYPE, on(place, "q", awsRegion="eu-west-2"), auth=keys),
        bench.scaler(TYPE, on(place, "q"), auth={**keys, "awsSecretAccessKey": "other"}),
        bench.scaler(TYPE, on(place, "q"), auth=keys, namespace="other"),
    ]
    assert len({one.batch_key, *(other.batch_key for other in others)}) == 6
    assert bench.scaler(TYPE, on(place, "q", expression="METRICS()"), auth=keys).batch_key is None


async def test_a_hundred_and_twenty_metrics_are_three_questions(bench: Any, place: Any, keys: Any) -> None:
    async with http_server() as server:
        sizes = []

        async def answer(request: web.Request) -> web.Response:
            sizes.append(len((orjson.loads(await request.read()))["MetricDataQueries"]))
            results = [{"Id": f"c{number}", "Values": [number]} for number in range(1, 51)]
            return web.json_response({"MetricDataResults": results})

        server.answers["/"] = answer
        metadata = on({**place, "awsEndpoint": server.url}, "q")
        scalers = [await bench.opened(TYPE, metadata, auth=keys) for _ in range(120)]
        readings = await scalers[0].read_batch(scalers)
    assert sizes == [50, 50, 20]
    assert [readings[index].value for index in (0, 49, 50, 119)] == [1, 50, 1, 20]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("", "not complete"),
        ("<html>", "not complete"),
        ('{"MetricDataResults": 5}', "not one of AWS"),
        ('{"MetricDataResults": "a"}', "not one of AWS"),
        ('{"MetricDataResults": [{"Id": "c1", "Values": [], "StatusCode": "Forbidden"}]}', "not read: Forbidden"),
        ('{"MetricDataResults": [{"Id": "c1", "Values": ["many"]}]}', "no number"),
    ],
)
async def test_an_answer_that_does_not_tell_is_an_error(
    bench: Any, place: Any, keys: Any, answer: str, message: str
) -> None:
    async with http_server() as server:
        server.answers["/"] = answer
        scaler = await bench.opened(TYPE, on({**place, "awsEndpoint": server.url}, "q"), auth=keys)
        with pytest.raises(ScalerError, match=message):
            await scaler.read()


async def test_of_several_series_of_an_expression_the_first_counts(bench: Any, place: Any, keys: Any) -> None:
    async with http_server() as server:
        series = [{"Id": "c1", "Label": name, "Values": [value]} for name, value in (("a", 7), ("b", 1))]
        server.answers["/"] = orjson.dumps({"MetricDataResults": series}).decode()
        metadata = on({**place, "awsEndpoint": server.url}, "q", expression="SEARCH('{Shop,queue}', 'Average')")
        assert (await (await bench.opened(TYPE, metadata, auth=keys)).read()).value == 7


@pytest.mark.parametrize(
    "answer",
    [
        '{"MetricDataResults": [{"Id": "c1", "Values": [1]}, {"Id": "c2", "Values": []}], "NextToken": "more"}',
        '{"MetricDataResults": [{"Id": "c1", "Values": [1]}]}',
    ],
    ids=["cut into pages", "without one of them"],
)
async def test_an_answer_that_is_not_complete_is_no_answer_to_many(
    bench: Any, place: Any, keys: Any, answer: str
) -> None:
    async with http_server() as server:
        server.answers["/"] = answer
        scalers = [await bench.opened(TYPE, on({**place, "awsEndpoint": server.url}, "q"), auth=keys) for _ in range(2)]
        with pytest.raises(ScalerError, match="not complete"):
            await scalers[0].read_batch(scalers)
        assert (await scalers[0].read()).value == 1


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"namespace": ""}, "namespace not given"),
        ({"dimensionName": "a;b"}, "not matching in size"),
        ({"metricUnit": "bananas"}, "metricUnit 'bananas' is not one of"),
        ({"metricStatPeriod": "45"}, "metricStatPeriod: 45"),
        ({"metricCollectionTime": "100"}, "metricCollectionTime: 100"),
        ({"targetMetricValue": "0"}, "is no target"),
    ],
)
async def test_metadata_that_is_refused(bench: Any, place: Any, keys: Any, metadata: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        bench.scaler(TYPE, {**on(place, "q"), **metadata}, auth=keys)
