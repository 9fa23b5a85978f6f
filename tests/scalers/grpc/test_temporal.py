"""`temporal` against Temporal's own server, and against answers of versions that it has none of."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.messages import declare
from scalers.shared.grpc import temporal_api as api
from tests.certificates import Authority
from tests.scalers.servers.temporal import temporal
from tests.servers import free_port

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""

_NUMBERS = itertools.count()
_METHODS = ("DescribeTaskQueue", "DescribeWorkerDeploymentVersion", "CountWorkflowExecutions")
_SELECTIONS = ("selectAllActive", "selectUnversioned")
_START = declare(
    "start",
    {
        "Named": {"name": (1, "string")},
        "StartWorkflowExecutionRequest": {
            "namespace": (1, "string"),
            "workflow_id": (2, "string"),
            "workflow_type": (3, "Named"),
            "task_queue": (4, "Named"),
            "request_id": (9, "string"),
        },
    },
)


@pytest.fixture(scope="session")
def temporal_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with temporal(free_port(), tmp_path_factory.mktemp("temporal")) as port:
        yield port


def on(port: int, queue: str, **metadata: str) -> dict[str, str]:
    return {"endpoint": f"127.0.0.1:{port}", "taskQueue": queue, **metadata}


async def start(port: int, queue: str, count: int) -> None:
    """Workflows that no worker takes; the server is not ready as soon as it listens."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel, asyncio.timeout(30):
        ask = channel.unary_unary(f"{api.SERVICE}/StartWorkflowExecution")
        for number in range(count):
            id, kind, named = f"{queue}-{number}", {"name": "work"}, {"name": queue}
            request = _START["StartWorkflowExecutionRequest"](
                namespace="default", workflow_id=id, workflow_type=kind, task_queue=named, request_id=id
            )
            while True:
                try:
                    await ask(request.SerializeToString())
                    break
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(ASK_AGAIN_SECONDS)


async def test_the_backlog_of_a_queue(bench: Any, temporal_port: int) -> None:
    queue = f"queue-{next(_NUMBERS)}"
    await start(temporal_port, queue, 4)
    scaler = await bench.opened("temporal", on(temporal_port, queue))
    async with asyncio.timeout(20):
        while (value := (await scaler.read()).value) < 4:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
    assert value == 4
    assert (scaler.metric_name, scaler.target) == (f"temporal-default-{queue}", 5)
    activities = await bench.opened("temporal", on(temporal_port, queue, queueTypes="activity"))
    assert (await activities.read()).value == 0


async def test_a_namespace_that_does_not_exist_is_an_error(bench: Any, temporal_port: int) -> None:
    await start(temporal_port, f"any-{next(_NUMBERS)}", 1)
    scaler = await bench.opened("temporal", on(temporal_port, "q", namespace="nothing"))
    with pytest.raises(ScalerError, match=r"DescribeTaskQueue: NOT_FOUND: .*nothing"):
        await scaler.read()


async def test_a_deployment_that_does_not_exist_is_an_error(bench: Any, temporal_port: int) -> None:
    await start(temporal_port, f"any-{next(_NUMBERS)}", 1)
    metadata = on(temporal_port, "q", workerDeploymentName="ship", workerDeploymentBuildId="b1")
    scaler = await bench.opened("temporal", metadata)
    with pytest.raises(ScalerError, match="DescribeWorkerDeploymentVersion: NOT_FOUND"):
        await scaler.read()


@asynccontextmanager
async def scripted(answers: dict[str, Any], credentials: Any = None) -> AsyncIterator[tuple[int, list[Any], list[Any]]]:
    """Port, what it was asked, and with which headers."""
    asked: list[Any] = []
    headers: list[Any] = []

    def method(name: str) -> Any:
        async def answer(question: Any, context: Any) -> bytes:
            asked.append(question)
            if name not in answers:
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many questions")
            headers.append(dict(context.invocation_metadata()))
            return bytes(answers[name].SerializeToString())

        parse = api.messages()[f"{name}Request"].FromString
        return grpc.unary_unary_rpc_method_handler(answer, request_deserializer=parse)

    server = grpc.aio.server()
    methods = {name: method(name) for name in _METHODS}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(api.SERVICE[1:], methods),))
    place = "127.0.0.1:0"
    port = server.add_secure_port(place, credentials) if credentials else server.add_insecure_port(place)
    await server.start()
    try:
        yield port, asked, headers
    finally:
        await server.stop(None)


def stats(count: int) -> dict[str, Any]:
    return {"stats": {"approximate_backlog_count": count}}


async def test_versions_by_build_id_are_added_up(bench: Any) -> None:
    kinds = [{"key": 1, "value": stats(3)}, {"key": 2, "value": stats(4)}]
    versions = [{"key": "v1", "value": {"types_info": kinds}}, {"key": "", "value": {"types_info": kinds[:1]}}]
    answer = api.messages()["DescribeTaskQueueResponse"](versions_info=versions)
    async with scripted({"DescribeTaskQueue": answer}) as (port, asked, _):
        scaler = await bench.opened("temporal", on(port, "q", buildId="v1", selectUnversioned="true"))
        assert (await scaler.read()).value == 10
    (question,) = asked
    assert (question.api_mode, list(question.task_queue_types)) == (api.ENHANCED, [1, 2, 3])
    assert (list(question.versions.build_ids), question.versions.unversioned) == (["v1"], True)


async def test_workers_without_a_version_count_where_a_selection_names_no_build_id(
    bench: Any, temporal_port: int
) -> None:
    queue = f"queue-{next(_NUMBERS)}"
    await start(temporal_port, queue, 4)
    everything = await bench.opened("temporal", on(temporal_port, queue))
    selected = [await bench.opened("temporal", on(temporal_port, queue, **{key: "true"})) for key in _SELECTIONS]
    async with asyncio.timeout(20):
        while (await everything.read()).value < 4:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
    assert [(await scaler.read()).value for scaler in selected] == [4, 4]


async def test_of_a_deployment_the_queue_of_the_trigger_counts(bench: Any) -> None:
    queues = [
        {"name": "q", "type": 1, **stats(3)},
        {"name": "q", "type": 2, **stats(4)},
        {"name": "other", "type": 1, **stats(100)},
    ]
    answer = api.messages()["DescribeWorkerDeploymentVersionResponse"](version_task_queues=queues)
    async with scripted({"DescribeWorkerDeploymentVersion": answer}) as (port, asked, _):
        metadata = on(port, "q", workerDeploymentName="ship", workerDeploymentBuildId="b1")
        assert (await (await bench.opened("temporal", metadata)).read()).value == 7
        few = await bench.opened("temporal", {**metadata, "queueTypes": "activity"})
        assert (await few.read()).value == 4
    assert asked[0].deployment_version.deployment_name == "ship"
    assert few.metric_name == "temporal-default-q-ship-b1"


async def test_running_workflows_keep_a_queue_without_enough_backlog_active(bench: Any, temporal_port: int) -> None:
    queue = f"queue-{next(_NUMBERS)}"
    await start(temporal_port, queue, 2)
    enough = {"activationTargetQueueSize": "10", "includeRunningWorkflowCount": "true"}
    busy = await bench.opened("temporal", on(temporal_port, queue, **enough))
    activities = on(temporal_port, f"{queue}-activities", **enough, workflowTaskQueueForCount=queue)
    of_another_queue = await bench.opened("temporal", activities)
    async with asyncio.timeout(30):  # the index of workflows is behind
        while not (await busy.read()).active:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
    reading = await of_another_queue.read()
    assert (reading.value, reading.active) == (0, True)
    idle = await bench.opened("temporal", on(temporal_port, "idle", **enough))
    assert (await idle.read()).active is False
    assert (await (await bench.opened("temporal", on(temporal_port, queue))).read()).active is None


@pytest.mark.parametrize(
    ("status", "count", "active", "asked"),
    [
        pytest.param(4, 0, True, 1, id="draining"),
        pytest.param(5, 7, None, 1, id="drained"),
        pytest.param(1, 7, None, 1, id="inactive"),
        pytest.param(6, 7, None, 1, id="created"),
        pytest.param(2, 7, True, 2, id="current and busy"),
        pytest.param(3, 0, False, 2, id="ramping and idle"),
        pytest.param(0, 7, True, 2, id="of a server that tells no status"),
    ],
)
async def test_the_status_of_a_version_tells_whether_its_workflows_are_counted(
    bench: Any, status: int, count: int, active: bool | None, asked: int
) -> None:
    version = api.messages()["DescribeWorkerDeploymentVersionResponse"](
        worker_deployment_version_info={"status": status}
    )
    counted = api.messages()["CountWorkflowExecutionsResponse"](count=count)
    answers = {"DescribeWorkerDeploymentVersion": version, "CountWorkflowExecutions": counted}
    async with scripted(answers) as (port, questions, _):
        metadata = on(port, "q", workerDeploymentName="ship", workerDeploymentBuildId="b1")
        scaler = await bench.opened("temporal", {**metadata, "includeRunningWorkflowCount": "true"})
        reading = await scaler.read()
    assert (reading.value, reading.active, len(questions)) == (0, active, asked)
    if asked == 2:
        here = "ExecutionStatus = 'Running' AND TaskQueue = 'q'"
        assert questions[1].query == f"{here} AND TemporalWorkerDeploymentVersion = 'ship:b1'"


async def test_workflows_that_cannot_be_counted_are_an_error_and_not_none(bench: Any) -> None:
    idle = {name: api.messages()[f"{name}Response"]() for name in ("DescribeTaskQueue",)}
    async with scripted(idle) as (port, questions, _):
        scaler = await bench.opened("temporal", on(port, "q", includeRunningWorkflowCount="true"))
        with pytest.raises(ScalerError, match="CountWorkflowExecutions: RESOURCE_EXHAUSTED"):
            await scaler.read()
    assert questions[-1].query.endswith(" AND TemporalWorkerDeploymentVersion is null")


async def test_an_api_key_goes_in_plain_text_where_tls_is_switched_off(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = api.messages()["DescribeTaskQueueResponse"](stats={"approximate_backlog_count": 2})
    async with scripted({"DescribeTaskQueue": answer}) as (port, _, headers):
        metadata = on(port, "q", queueTypes="workflow", enableTLS="false")
        scaler = await bench.opened("temporal", metadata, auth={"apiKey": "s3cret"})
        assert (await scaler.read()).value == 2
    assert headers[0]["authorization"] == "Bearer s3cret"
    assert "sent in plain text" in caplog.text
    assert "s3cret" not in caplog.text
    leaf = Authority().leaf("keda")
    pair = {"apiKey": "s3cret", "cert": leaf.cert, "key": leaf.key}
    assert bench.scaler("temporal", metadata, auth=pair)._server.tls is not None


async def test_an_api_key_goes_over_tls_with_the_namespace(bench: Any) -> None:
    ours = Authority()
    leaf, client = ours.leaf("temporal", hosts=("temporal.shop",)), ours.leaf("keda", password="hidden")
    pair = [(leaf.key.encode(), leaf.cert.encode())]
    credentials = grpc.ssl_server_credentials(pair, ours.cert.encode(), require_client_auth=True)
    answer = api.messages()["DescribeTaskQueueResponse"](stats={"approximate_backlog_count": 2})
    auth = {"apiKey": "s3cret", "ca": ours.cert, "cert": client.cert, "key": client.key, "keyPassword": "hidden"}
    async with scripted({"DescribeTaskQueue": answer}, credentials) as (port, _, headers):
        metadata = on(port, "q", queueTypes="workflow", namespace="shop", tlsServerName="temporal.shop")
        scaler = await bench.opened("temporal", metadata, auth=auth)
        assert (await scaler.read()).value == 2
        assert headers[0]["authorization"] == "Bearer s3cret"
        assert headers[0]["temporal-namespace"] == "shop"
        wrong = await bench.opened("temporal", metadata, auth={"apiKey": "s3cret"})
        with pytest.raises(ScalerError, match="UNAVAILABLE") as refused:
            await wrong.read()
    assert "s3cret" not in str(refused.value)


async def test_types_of_queues_that_do_not_exist_are_told_and_never_read_as_empty(bench: Any) -> None:
    scaler = await bench.opened("temporal", on(1, "q", queueTypes="dream"))
    assert scaler.cautions == ("queueTypes: dream: write workflow, activity or nexus",)
    with pytest.raises(ScalerError, match="names no type of queue"):
        await scaler.read()


@pytest.mark.parametrize(
    ("metadata", "auth", "message"),
    [
        ({"endpoint": "unix:/x"}, {}, "endpoint: "),
        ({"workerDeploymentName": "a"}, {}, "must both be set"),
        ({}, {"cert": "c"}, "both cert and key"),
        ({"minConnectTimeout": "-1"}, {}, "minConnectTimeout"),
        ({"workflowTaskQueueForCount": "w"}, {}, "workflowTaskQueueForCount: has no effect unless"),
        ({"includeRunningWorkflowCount": "true", "taskQueue": "q' OR '1'='1"}, {}, "taskQueue: has characters"),
        (
            {"includeRunningWorkflowCount": "true", "workerDeploymentName": "a b", "workerDeploymentBuildId": "1"},
            {},
            "workerDeploymentName: has characters",
        ),
        ({"activationTargetQueueSize": "-1"}, {}, "activationTargetQueueSize must be a positive number"),
    ],
)
async def test_metadata_that_is_refused(bench: Any, metadata: Any, auth: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        bench.scaler("temporal", {**on(7233, "q"), **metadata}, auth=auth)
