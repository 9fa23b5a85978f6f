"""`aws-dynamodb` and `aws-dynamodb-streams` against moto's server."""

from typing import Any

import orjson
import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from tests.http_server import http_server

QUERY = {
    "keyConditionExpression": "#p = :v",
    "expressionAttributeNames": '{"#p": "park"}',
    "expressionAttributeValues": '{":v": {"S": "north"}}',
    "targetValue": "4",
}


async def make_table(aws: Any, name: str, *, items: int = 0, stream: bool = False) -> None:
    async with aws("dynamodb") as dynamodb:
        await dynamodb.create_table(
            TableName=name,
            KeySchema=[
                {"AttributeName": "park", "KeyType": "HASH"},
                {"AttributeName": "number", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "park", "AttributeType": "S"},
                {"AttributeName": "number", "AttributeType": "N"},
            ],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": stream, **({"StreamViewType": "KEYS_ONLY"} if stream else {})},
        )
        for number in range(items):
            item = {"park": {"S": "north"}, "number": {"N": str(number)}, "fruit": {"S": "x" * 40_000}}
            await dynamodb.put_item(TableName=name, Item=item)


async def test_the_items_that_a_query_finds_count_however_long_they_are(
    bench: Any, aws: Any, place: Any, keys: Any, name: str
) -> None:
    await make_table(aws, name, items=5)
    scaler = await bench.opened("aws-dynamodb", {**place, **QUERY, "tableName": name}, auth=keys)
    assert (await scaler.read()).value == 5
    assert (scaler.metric_name, scaler.target) == (f"aws-dynamodb-{name}", 4)


async def test_a_filter_narrows_the_count(bench: Any, aws: Any, place: Any, keys: Any, name: str) -> None:
    await make_table(aws, name, items=5)
    narrow = {
        "filterExpression": "attribute_exists(#f)",
        "keyConditionExpression": "#p = :v AND #n >= :from",
        "expressionAttributeNames": '{"#p": "park", "#n": "number", "#f": "fruit"}',
        "expressionAttributeValues": '{":v": {"S": "north"}, ":from": {"N": "2"}}',
    }
    scaler = await bench.opened("aws-dynamodb", {**place, **QUERY, **narrow, "tableName": name}, auth=keys)
    assert (await scaler.read()).value == 3


async def test_a_table_that_does_not_exist_is_an_error(bench: Any, place: Any, keys: Any) -> None:
    scaler = await bench.opened("aws-dynamodb", {**place, **QUERY, "tableName": "nothing"}, auth=keys)
    with pytest.raises(ScalerError, match=r"DynamoDB table nothing: .*ResourceNotFoundException"):
        await scaler.read()
    with pytest.raises(ScalerError, match=r"DynamoDB table nothing: .*ResourceNotFoundException"):
        await bench.opened("aws-dynamodb-streams", {**place, "tableName": "nothing"}, auth=keys)


async def test_values_reach_the_table_as_they_were_written(bench: Any, place: Any, keys: Any) -> None:
    values = (
        '{":a":{"N":"1.5"},":b":{"BOOL":false},":c":{"NULL":true},":d":{"L":[{"M":{"k":{"S":"z"}}}]},":e":{"B":"YWJj"}}'
    )
    async with http_server() as server:
        asked = []

        async def answer(request: web.Request) -> web.Response:
            asked.append(orjson.loads(await request.read()))
            return web.json_response({"Count": 2})

        server.answers["/"] = answer
        metadata = {**place, **QUERY, "awsEndpoint": server.url, "tableName": "t", "expressionAttributeValues": values}
        scaler = await bench.opened("aws-dynamodb", metadata, auth=keys)
        assert (await scaler.read()).value == 2
    assert asked[0]["ExpressionAttributeValues"] == orjson.loads(values)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("expressionAttributeValues", '{":v":{"SS":["a"]}}'),
        ("expressionAttributeValues", '{":v":{"S":"a","N":"1"}}'),
        ("expressionAttributeValues", '{":v":{"B":"%"}}'),
        ("expressionAttributeValues", '{":v":' + '{"L":[' * 40 + "]}" * 40 + "}"),
        ("expressionAttributeValues", '{":v":' + "[" * 2000 + "]" * 2000 + "}"),
        ("expressionAttributeNames", "{}"),
        ("expressionAttributeNames", '{"#p":1}'),
        ("targetValue", "0"),
    ],
)
async def test_metadata_that_is_refused(bench: Any, place: Any, keys: Any, key: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: "):
        bench.scaler("aws-dynamodb", {**place, **QUERY, "tableName": "t", key: text}, auth=keys)


@pytest.mark.parametrize("answer", ["", "<html>", '{"Items": []}', '{"Count": "4"}'])
async def test_an_answer_without_a_count_is_an_error(bench: Any, place: Any, keys: Any, answer: str) -> None:
    async with http_server() as server:
        server.answers["/"] = answer
        metadata = {**place, **QUERY, "awsEndpoint": server.url, "tableName": "t"}
        scaler = await bench.opened("aws-dynamodb", metadata, auth=keys)
        with pytest.raises(ScalerError, match="DynamoDB table t: "):
            await scaler.read()


async def test_the_shards_of_the_newest_stream_count(bench: Any, aws: Any, place: Any, keys: Any, name: str) -> None:
    await make_table(aws, name, stream=True)
    scaler = await bench.opened("aws-dynamodb-streams", {**place, "tableName": name}, auth=keys)
    assert (await scaler.read()).value >= 1
    assert (scaler.metric_name, scaler.target) == (f"aws-dynamodb-streams-{name}", 2)


async def test_a_table_that_is_made_anew_is_found_after_one_error(
    bench: Any, aws: Any, place: Any, keys: Any, name: str
) -> None:
    await make_table(aws, name, stream=True)
    scaler = await bench.opened("aws-dynamodb-streams", {**place, "tableName": name}, auth=keys)
    async with aws("dynamodb") as dynamodb:
        await dynamodb.delete_table(TableName=name)
    with pytest.raises(ScalerError, match=name):
        await scaler.read()
    await make_table(aws, name, stream=True)
    assert (await scaler.read()).value >= 1


async def test_a_table_without_a_stream_is_refused(bench: Any, aws: Any, place: Any, keys: Any, name: str) -> None:
    await make_table(aws, name)
    with pytest.raises(ConfigError, match="has no stream: enable one"):
        await bench.opened("aws-dynamodb-streams", {**place, "tableName": name}, auth=keys)


async def test_shards_on_many_pages_are_an_error_where_they_never_end(bench: Any, place: Any, keys: Any) -> None:
    async with http_server() as server:
        server.answers["/"] = (
            '{"Table":{"LatestStreamArn":"a"},"StreamDescription":{"Shards":[{}],"LastEvaluatedShardId":"s"}}'
        )
        metadata = {**place, "awsEndpoint": server.url, "tableName": "t"}
        scaler = await bench.opened("aws-dynamodb-streams", metadata, auth=keys)
        with pytest.raises(ScalerError, match="more than 100 pages"):
            await scaler.read()
