"""`aws-sqs-queue` against moto's server."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from keda_py.cloud.aws import AmbientIdentity
from keda_py.cloud.aws_sessions import open_session
from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import PodIdentity
from keda_py.testing import IdentityRule
from tests.http_server import HttpServer, http_server

_NUMBERS = itertools.count()
ANYWHERE = IdentityRule(anywhere=True)
KEYS = {"awsAccessKeyID": "AKID", "awsSecretAccessKey": "s3cret"}


@pytest.fixture
async def sqs(aws_endpoint: str) -> AsyncIterator[Any]:
    session = open_session(AmbientIdentity(), "eu-west-1", 60)
    options = {"region_name": "eu-west-1", "endpoint_url": aws_endpoint}
    async with session.create_client("sqs", aws_access_key_id="a", aws_secret_access_key="b", **options) as client:
        yield client


async def make_queue(sqs: Any, *, waiting: int = 0, in_flight: int = 0, delayed: int = 0) -> str:
    url = (await sqs.create_queue(QueueName=f"jobs-{next(_NUMBERS)}"))["QueueUrl"]
    for _ in range(waiting + in_flight):
        await sqs.send_message(QueueUrl=url, MessageBody="x")
    for _ in range(in_flight):
        await sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1)
    for _ in range(delayed):
        await sqs.send_message(QueueUrl=url, MessageBody="x", DelaySeconds=600)
    return str(url)


@asynccontextmanager
async def queue_server(body: str) -> AsyncIterator[HttpServer]:
    """A server that answers every question with this."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/x-amz-json-1.0")

    async with http_server() as server:
        server.answers["/"] = answer
        yield server


def on(url: str, endpoint: str, **metadata: str) -> dict[str, str]:
    return {"queueURL": url, "awsRegion": "eu-west-1", "awsEndpoint": endpoint, **metadata}


async def test_waiting_and_in_flight_messages_count_and_delayed_ones_on_request(
    bench: Any, sqs: Any, aws_endpoint: str
) -> None:
    url = await make_queue(sqs, waiting=3, in_flight=2, delayed=4)
    values = {}
    for flags in ("true,false", "false,false", "true,true"):
        in_flight, delayed = flags.split(",")
        metadata = on(url, aws_endpoint, scaleOnInFlight=in_flight, scaleOnDelayed=delayed)
        values[flags] = (await (await bench.opened("aws-sqs-queue", metadata, auth=KEYS)).read()).value
    assert values == {"true,false": 5, "false,false": 3, "true,true": 9}


async def test_metric_target_and_activation(bench: Any) -> None:
    url = "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"
    metadata = on(url, "", queueLength="9", activationQueueLength="2")
    scaler = bench.scaler("aws-sqs-queue", metadata, auth=KEYS)
    (spec,) = await scaler.specs()
    assert (spec.name, spec.target, scaler.activation) == ("aws-sqs-jobs", 9, 2.0)
    assert bench.scaler("aws-sqs-queue", on("jobs", ""), auth=KEYS).metric_name == "aws-sqs-jobs"


async def test_triggers_with_one_identity_share_a_client(bench: Any, sqs: Any, aws_endpoint: str) -> None:
    url = await make_queue(sqs)
    one, two = [await bench.opened("aws-sqs-queue", on(url, aws_endpoint), auth=KEYS) for _ in range(2)]
    other = await bench.opened("aws-sqs-queue", on(url, aws_endpoint), auth={**KEYS, "awsAccessKeyID": "OTHER"})
    assert one._client is two._client
    assert one._client is not other._client


async def test_the_queue_and_the_keys_may_come_from_the_environment(bench: Any, sqs: Any, aws_endpoint: str) -> None:
    url = await make_queue(sqs, waiting=1)
    metadata = on(
        "", aws_endpoint, queueURLFromEnv="QUEUE", awsAccessKeyIDFromEnv="ID", awsSecretAccessKeyFromEnv="KEY"
    )
    scaler = await bench.opened("aws-sqs-queue", metadata, env={"QUEUE": url, "ID": "AKID", "KEY": "s3cret"})
    assert (await scaler.read()).value == 1


@pytest.mark.parametrize(
    ("auth", "pod_identity"),
    [
        ({"awsRoleArn": "arn:aws:iam::123456789012:role/reader"}, PodIdentity()),
        ({}, PodIdentity(provider="aws", role_arn="arn:aws:iam::123456789012:role/reader", external_id="x-1")),
        ({"awsRoleArn": "arn:aws:iam::123456789012:role/reader"}, PodIdentity(provider="aws")),
    ],
    ids=["awsRoleArn", "podIdentity", "podIdentity and awsRoleArn"],
)
async def test_a_role_is_assumed(
    bench: Any, aws_endpoint: str, monkeypatch: pytest.MonkeyPatch, auth: Any, pod_identity: PodIdentity
) -> None:
    own(monkeypatch, aws_endpoint)
    async with queue_server('{"Attributes":{"ApproximateNumberOfMessages":"2"}}') as server:
        metadata = on("jobs", server.url, scaleOnInFlight="false")
        scaler = await bench.opened(
            "aws-sqs-queue", metadata, auth=auth, pod_identity=pod_identity, identities=ANYWHERE
        )
        assert (await scaler.read()).value == 2
        headers = server.asked[0].headers
    assert "Credential=ASIA" in headers["Authorization"]  # the beginning of every temporary key
    assert headers["X-Amz-Security-Token"]


@pytest.mark.parametrize(
    ("metadata", "pod_identity"),
    [
        ({"identityOwner": "operator"}, PodIdentity()),
        ({"identityOwner": "keda"}, PodIdentity()),
        ({}, PodIdentity(provider="aws")),
    ],
    ids=["identityOwner operator", "any other identityOwner", "podIdentity aws without a role"],
)
async def test_the_operators_own_credentials(
    bench: Any,
    sqs: Any,
    aws_endpoint: str,
    monkeypatch: pytest.MonkeyPatch,
    metadata: dict[str, str],
    pod_identity: PodIdentity,
) -> None:
    own(monkeypatch, aws_endpoint)
    url = await make_queue(sqs, waiting=2)
    scaler = await bench.opened(
        "aws-sqs-queue", on(url, aws_endpoint, **metadata), pod_identity=pod_identity, identities=ANYWHERE
    )
    assert (await scaler.read()).value == 2


async def test_a_web_identity_is_used_first_where_the_operator_has_one(
    bench: Any, sqs: Any, aws_endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", aws_endpoint)
    (tmp_path / "token").write_text("ey.s3cret.x\n")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    url = await make_queue(sqs, waiting=2)
    role = PodIdentity(provider="aws", role_arn="arn:aws:iam::123456789012:role/reader")
    scaler = await bench.opened("aws-sqs-queue", on(url, aws_endpoint), pod_identity=role, identities=ANYWHERE)
    assert (await scaler.read()).value == 2


def own(monkeypatch: pytest.MonkeyPatch, aws_endpoint: str) -> None:
    """The operator's credentials, and STS where moto serves it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "OWN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "own")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", aws_endpoint)


async def test_a_queue_that_does_not_exist_is_an_error(bench: Any, aws_endpoint: str) -> None:
    metadata = on(f"{aws_endpoint}/123456789012/nothing", aws_endpoint)
    scaler = await bench.opened("aws-sqs-queue", metadata, auth=KEYS)
    with pytest.raises(ScalerError, match=r"SQS queue nothing: .*(does not exist|NonExistentQueue)") as missing:
        await scaler.read()
    assert "s3cret" not in str(missing.value)


async def test_an_endpoint_that_is_not_there_is_an_error(bench: Any) -> None:
    metadata = on("http://127.0.0.1:1/123456789012/jobs", "http://127.0.0.1:1")
    scaler = await bench.opened("aws-sqs-queue", metadata, auth=KEYS)
    with pytest.raises(ScalerError, match="SQS queue jobs: "):
        await scaler.read()


async def test_an_endpoint_that_hangs_is_given_up(bench: Any, silent_port: int) -> None:
    endpoint = f"http://127.0.0.1:{silent_port}"
    scaler = await bench.opened("aws-sqs-queue", on(f"{endpoint}/1/jobs", endpoint), auth=KEYS, timeout=0.2)
    with pytest.raises(ScalerError, match=r"(?i)timeout"):
        await scaler.read()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{}", "the answer has no ApproximateNumberOfMessages"),
        ('{"Attributes":{"ApproximateNumberOfMessages":"1"}}', "no ApproximateNumberOfMessagesNotVisible"),
        ('{"Attributes":{"ApproximateNumberOfMessages":"many"}}', "is not a number"),
    ],
)
async def test_an_answer_without_a_count_is_an_error(bench: Any, body: str, message: str) -> None:
    async with queue_server(body) as server:
        scaler = await bench.opened("aws-sqs-queue", on("jobs", server.url), auth=KEYS)
        with pytest.raises(ScalerError, match=message):
            await scaler.read()


@pytest.mark.parametrize(
    ("metadata", "auth", "message"),
    [
        ({"awsRegion": "r"}, KEYS, 'missing required parameter "queueURL" in [triggerMetadata resolvedEnv]'),
        ({"queueURL": "q"}, KEYS, 'missing required parameter "awsRegion" in [triggerMetadata authParams]'),
        (on("https://sqs/a/b/c", ""), KEYS, "cannot get queueName from queueURL"),
        (on("https://sqs/jobs", ""), KEYS, "cannot get queueName from queueURL"),
        (on("q", ""), {}, "'awsAccessKeyID' not found"),
        (on("q", ""), {"awsAccessKeyId": "AKID"}, "'awsSecretAccessKey' not found"),
        (on("q", "", queueLength="1.5"), KEYS, 'queueLength: "1.5" is not a whole number'),
    ],
)
async def test_metadata_that_is_refused(bench: Any, metadata: Any, auth: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("aws-sqs-queue", metadata, auth=auth)
    assert message in str(refused.value)
