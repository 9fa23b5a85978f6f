"""azure-queue and azure-blob against Azurite; KEDA's recordings judge the rest."""

import base64

import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import PodIdentity
from keda_py.sdk.context import SharedContext
from keda_py.sdk.registry import scaler_class
from keda_py.testing import EngineContext, check_scaler
from tests.http_server import http_server
from tests.scalers.conftest import Bench
from tests.scalers.servers.azurite import Azurite
from tests.scalers.triggers import trigger_of

OTHER_KEY = base64.b64encode(b"another key").decode()
WORKLOAD = PodIdentity(provider="azure-workload", identity_id="client", identity_tenant_id="tenant")


@pytest.fixture(scope="session")
def files(azurite: Azurite) -> str:
    """The name of a container."""
    azurite.create_container("files", "top.txt", "in/a.txt", "in/c.bin", "in/deep/b.txt", "other/x")
    return "files"


async def read(bench: Bench, trigger_type: str, metadata: dict[str, str], connection: str) -> float:
    scaler = await bench.opened(trigger_type, metadata, auth={"connection": connection})
    return (await scaler.read()).value


async def test_messages_of_a_queue_are_counted(bench: Bench, azurite: Azurite) -> None:
    azurite.create_queue("three", "a", "b", "c")
    assert await read(bench, "azure-queue", {"queueName": "three"}, azurite.connection()) == 3


async def test_an_empty_queue_has_no_messages(bench: Bench, azurite: Azurite) -> None:
    azurite.create_queue("empty")
    assert await read(bench, "azure-queue", {"queueName": "empty"}, azurite.connection()) == 0


async def test_only_visible_messages_are_counted_where_that_is_wanted(bench: Bench, azurite: Azurite) -> None:
    azurite.create_queue("hidden", "a", "b", "c")
    azurite.hide_message("hidden")
    visible = {"queueName": "hidden", "queueLengthStrategy": "visibleonly"}
    assert await read(bench, "azure-queue", visible, azurite.connection()) == 2
    assert await read(bench, "azure-queue", {"queueName": "hidden"}, azurite.connection()) == 3


async def test_a_peek_that_shows_as_many_as_it_can_gives_way_to_the_count(bench: Bench, azurite: Azurite) -> None:
    azurite.create_queue("long", *"x" * 33)
    visible = {"queueName": "long", "queueLengthStrategy": "visibleonly"}
    assert await read(bench, "azure-queue", visible, azurite.connection()) == 33


async def test_a_queue_that_is_missing_is_an_error(bench: Bench, azurite: Azurite) -> None:
    with pytest.raises(ScalerError, match="missing: status 404 QueueNotFound"):
        await read(bench, "azure-queue", {"queueName": "missing"}, azurite.connection())


@pytest.mark.parametrize(
    "trigger", [("azure-queue", {"queueName": "three"}), ("azure-blob", {"blobContainerName": "pictures"})]
)
async def test_a_wrong_key_is_an_error_that_does_not_show_it(
    bench: Bench, azurite: Azurite, trigger: tuple[str, dict[str, str]]
) -> None:
    with pytest.raises(ScalerError, match="status 403") as raised:
        await read(bench, *trigger, azurite.connection(OTHER_KEY))
    assert OTHER_KEY not in str(raised.value)


async def test_a_shared_access_signature_may_read(bench: Bench, azurite: Azurite) -> None:
    azurite.create_queue("granted", "a")
    azurite.create_container("granted", "a", "b")
    assert await read(bench, "azure-queue", {"queueName": "granted"}, azurite.signed("queue")) == 1
    assert await read(bench, "azure-blob", {"blobContainerName": "granted"}, azurite.signed("blob")) == 2


@pytest.mark.parametrize(
    ("keys", "count"),
    [
        ({}, 1),
        ({"recursive": "true"}, 5),
        ({"blobPrefix": "in"}, 2),
        ({"blobPrefix": "in", "recursive": "true"}, 3),
        ({"blobPrefix": "in/", "recursive": "true"}, 3),
        ({"blobPrefix": "in/d", "recursive": "true"}, 1),
        ({"blobPrefix": "in/", "recursive": "true", "globPattern": "*.txt"}, 2),
        ({"blobPrefix": "in", "globPattern": "*.txt"}, 2),
        ({"globPattern": "*.txt"}, 3),
        ({"globPattern": "in/*.txt"}, 2),
        ({"globPattern": "/in/{a,c}.*"}, 2),
        ({"globPattern": "[!i]*"}, 2),
        ({"blobPrefix": "nothing"}, 0),
    ],
    ids=str,
)
async def test_blobs_are_counted_below_a_prefix_or_by_a_pattern(
    bench: Bench, azurite: Azurite, files: str, keys: dict[str, str], count: int
) -> None:
    metadata = {"blobContainerName": files, **keys}
    assert await read(bench, "azure-blob", metadata, azurite.connection()) == count


async def test_a_container_that_is_missing_is_an_error(bench: Bench, azurite: Azurite) -> None:
    with pytest.raises(ScalerError, match="status 404 ContainerNotFound"):
        await read(bench, "azure-blob", {"blobContainerName": "missing"}, azurite.connection())


def page(blobs: int, marker: str = "") -> str:
    listed = "<Blob><Name>a</Name></Blob>" * blobs
    return f"<EnumerationResults><Blobs>{listed}</Blobs><NextMarker>{marker}</NextMarker></EnumerationResults>"


async def test_a_container_whose_list_is_too_long_is_listed_in_short_pages(bench: Bench) -> None:
    async def answer(request: web.Request) -> web.Response:
        if "maxresults" not in request.query:
            return web.Response(text=page(50_000))
        return web.Response(text=page(1) if "marker" in request.query else page(500, "more"))

    async with http_server() as server:
        server.answers["/a/many"] = answer
        connection = f"AccountName=a;AccountKey=c2VjcmV0;BlobEndpoint={server.url}/a"
        scaler = await bench.opened("azure-blob", {"blobContainerName": "many"}, auth={"connection": connection})
        assert [(await scaler.read()).value for _ in range(2)] == [501, 501]
        assert len(server.asked) == 5


async def test_an_endpoint_that_does_not_answer_is_an_error(bench: Bench, silent_port: int) -> None:
    connection = f"AccountName=a;AccountKey=c2VjcmV0;QueueEndpoint=http://127.0.0.1:{silent_port}/a"
    scaler = await bench.opened("azure-queue", {"queueName": "orders"}, auth={"connection": connection}, timeout=0.2)
    with pytest.raises(ScalerError, match=r"in time \(0.2 s\)"):
        await scaler.read()


async def test_the_operator_goes_to_no_storage_that_is_not_azures(bench: Bench) -> None:
    metadata = {
        "queueName": "orders",
        "accountName": "shop",
        "cloud": "Private",
        "endpointSuffix": "queue.evil.example",
    }
    scaler = bench.scaler("azure-queue", metadata, pod_identity=WORKLOAD)
    with pytest.raises(ConfigError, match=r"accountName: .*shop\.queue\.evil\.example"):
        await scaler.open()


@pytest.mark.parametrize("trigger_type", ["azure-queue", "azure-blob"])
async def test_the_contract_of_scalers_holds(trigger_type: str, lent: SharedContext) -> None:
    keys = {"azure-queue": {"queueName": "q"}, "azure-blob": {"blobContainerName": "c"}}[trigger_type]
    trigger = trigger_of(trigger_type, keys, auth={"connection": "AccountName=a;AccountKey=c2VjcmV0"})
    context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(scaler_class(trigger_type), trigger, context)
