"""azure-eventhub: checkpoints in a real Azurite, and a hub that a test writes; no server of the hub's own is to be had."""

import asyncio
import json
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from azure.eventhub import TransportType
from azure.eventhub.aio import EventHubConsumerClient
from azure.eventhub.exceptions import ConnectError

from keda_py.errors import ScalerError
from keda_py.net.tls import TlsContexts, TlsSettings
from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.scaler import Reading
from keda_py.testing import check_scaler, shared_context
from scalers.azure_eventhub import AzureEventHubScaler, behind
from scalers.shared.azure.event_hub import AmqpEventHub, EventHub, Partition, by_signature
from tests.certificates import Authority
from tests.scalers.conftest import Bench
from tests.scalers.servers.azurite import Azurite
from tests.scalers.triggers import trigger_of

HUB = "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=r;SharedAccessKey=c2VjcmV0;EntityPath=clicks"
BLOB = "shop.servicebus.windows.net/clicks"


class WrittenHub:
    def __init__(self, partitions: Sequence[Partition]) -> None:
        self._partitions = partitions

    async def partitions(self, context: ScalerContext) -> Sequence[Partition]:
        return self._partitions


class OfWrittenHub(AzureEventHubScaler):
    """Its hub holds 100 events in the one partition and none in the other."""

    partitions: Sequence[Partition] = (
        Partition(name="0", first=1, last=100),
        Partition(name="1", first=0, last=-1),
    )

    async def open_hub(self) -> EventHub:
        return WrittenHub(self.partitions)


class HubOfLibrary:
    """A client as the library has it, with what it was asked; only the first partition exists."""

    def __init__(self, partitions: int) -> None:
        self._names = [str(number) for number in range(partitions)]
        self.asked: list[str] = []

    async def get_eventhub_properties(self) -> dict[str, object]:
        return {"partition_ids": self._names}

    async def get_partition_properties(self, name: str) -> dict[str, object]:
        self.asked.append(name)
        if name != "0":
            raise ConnectError("gone")
        return {"beginning_sequence_number": 1, "last_enqueued_sequence_number": 2}


async def test_a_partition_that_cannot_be_asked_ends_the_questions(lent: SharedContext) -> None:
    context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
    client, before = HubOfLibrary(100), asyncio.all_tasks()
    with pytest.raises(ScalerError, match="event hubs: ConnectError: gone"):
        await AmqpEventHub(cast(EventHubConsumerClient, client)).partitions(context)
    assert asyncio.all_tasks() == before
    assert len(client.asked) < 10


async def test_a_hub_of_more_partitions_than_there_can_be_is_an_error(lent: SharedContext) -> None:
    context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
    client = HubOfLibrary(5000)
    with pytest.raises(ScalerError, match="event hubs: 5000 partitions are more than 2048"):
        await AmqpEventHub(cast(EventHubConsumerClient, client)).partitions(context)
    assert not client.asked


async def read(lent: SharedContext, azurite: Azurite, metadata: Mapping[str, str]) -> Reading:
    auth = {"connection": HUB, "storageConnection": azurite.connection()}
    trigger = trigger_of("azure-eventhub", dict(metadata), auth=auth)
    context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
    scaler = OfWrittenHub(OfWrittenHub.metadata_model.parse(trigger.metadata, trigger.env, trigger.auth), context)
    await scaler.open()
    return await scaler.read()


@pytest.mark.parametrize(
    ("strategy", "container", "blob", "content"),
    [
        ("goSdk", "gosdk", "0", {"checkpoint": {"sequenceNumber": 90, "offset": "1"}, "partitionId": "0"}),
        ("dapr", "dapr", "dapr-clicks-Readers-0", {"checkpoint": {"sequenceNumber": 90}, "partitionID": "0"}),
        ("azureFunction", "", f"{BLOB}/Readers/0", {"SequenceNumber": 90, "PartitionId": "0"}),
        ("", "", f"{BLOB}/Readers/0", {"SequenceNumber": 90, "PartitionId": "0"}),
        ("", "older", "Readers/0", {"SequenceNumber": 90, "PartitionId": "0"}),
        ("", "python", "Readers/0", {"sequence_number": 90, "partition_id": "0"}),
    ],
)
async def test_each_form_of_checkpoint_is_read(
    lent: SharedContext, azurite: Azurite, strategy: str, container: str, blob: str, content: Mapping[str, object]
) -> None:
    azurite.create_container(container or "azure-webjobs-eventhub")
    azurite.put_blob(f"{container or 'azure-webjobs-eventhub'}/{blob}", json.dumps(content).encode())
    keys = {"consumerGroup": "Readers", "checkpointStrategy": strategy, "blobContainer": container}
    assert await read(lent, azurite, keys) == Reading(value=10.0, active=True)


async def test_a_checkpoint_in_the_metadata_of_a_blob_is_read(lent: SharedContext, azurite: Azurite) -> None:
    azurite.create_container("bymetadata")
    azurite.put_blob(f"bymetadata/{BLOB}/readers/checkpoint/0", b"", sequencenumber="75", offset="9")
    keys = {"consumerGroup": "Readers", "checkpointStrategy": "blobMetadata", "blobContainer": "bymetadata"}
    assert (await read(lent, azurite, keys)).value == 25


async def test_without_a_checkpoint_all_events_count_up_to_a_threshold_for_each_partition(
    lent: SharedContext, azurite: Azurite
) -> None:
    keys = {"blobContainer": "nowhere", "unprocessedEventThreshold": "20"}
    assert await read(lent, azurite, keys) == Reading(value=40.0, active=True)
    assert await read(lent, azurite, {"blobContainer": "nowhere"}) == Reading(value=100.0, active=True)
    above = {"blobContainer": "nowhere", "activationUnprocessedEventThreshold": "100"}
    assert await read(lent, azurite, above) == Reading(value=100.0, active=False)


async def test_a_checkpoint_of_another_form_is_an_error_that_says_so(lent: SharedContext, azurite: Azurite) -> None:
    azurite.create_container("mistaken", "0")
    with pytest.raises(ScalerError, match="checkpointStrategy"):
        await read(lent, azurite, {"checkpointStrategy": "goSdk", "blobContainer": "mistaken"})


@pytest.mark.parametrize(
    ("last", "checkpoint", "events"),
    [(10, 4, 6), (10, 10, 0), (4, 10, 0), (10, 2**63 - 100_001, 100_010), (2**63 - 1, 0, 0)],
)
def test_numbers_begin_anew_and_a_newer_checkpoint_means_no_events(last: int, checkpoint: int, events: int) -> None:
    assert behind(last, checkpoint, 10_000) == events


@pytest.mark.parametrize(("first", "last", "events"), [(0, -1, 0), (0, 0, 1), (1, 100, 100), (7, 7, 0)])
def test_a_partition_knows_what_it_holds(first: int, last: int, events: int) -> None:
    assert Partition(name="0", first=first, last=last).events == events


async def test_a_hub_that_cannot_be_reached_is_an_error(bench: Bench) -> None:
    auth = {"connection": HUB.replace("shop.servicebus.windows.net", "127.0.0.1"), "storageConnection": ""}
    auth["storageConnection"] = "AccountName=a;AccountKey=c2VjcmV0"
    scaler = await bench.opened("azure-eventhub", {}, auth=auth, timeout=2)
    with pytest.raises(ScalerError, match="event hubs: ConnectError"):
        await scaler.read()


SASL = b"AMQP\x03\x01\x00\x00"
FRAME_OF_3_GB = struct.pack(">IBBH", 3 * 2**30, 2, 1, 0)
EMPTY_FRAMES = struct.pack(">IBBH", 8, 2, 1, 0) * 2**13


@pytest.mark.parametrize(
    ("says", "then", "message"),
    [
        (SASL + FRAME_OF_3_GB, bytes(2**16), "announces a frame of more than 65536 bytes"),
        (SASL + b"\0\0\0\7\2\1\0\0", b"", "or none of AMQP"),
    ],
)
async def test_a_hub_sends_no_more_than_its_answer(tmp_path: Path, says: bytes, then: bytes, message: str) -> None:
    sent, authority = list[int](), Authority()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.read(8)
            writer.write(says)
            while then:
                writer.write(then)
                await writer.drain()
                sent.append(len(then))
            await reader.read()
        writer.transport.abort()

    (tmp_path / "ca.pem").write_text(authority.cert)
    tls = authority.server_context(tmp_path, pair=authority.leaf("hub", hosts=("127.0.0.1",)))
    contexts = TlsContexts(ca_dirs=[str(tmp_path)])
    async with (
        await asyncio.start_server(listen, "127.0.0.1", 0, ssl=tls) as server,
        shared_context(tls=contexts) as lent,
    ):
        context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
        client = EventHubConsumerClient(
            "127.0.0.1",
            "clicks",
            "$Default",
            by_signature(lambda address: f"signature of {address}", lambda: 0.0),  # type: ignore[arg-type]
            custom_endpoint_address=f"sb://127.0.0.1:{server.sockets[0].getsockname()[1]}",
            transport_type=TransportType.Amqp,
            retry_total=0,
            ssl_context=context.tls_context(TlsSettings()),
        )
        hub = AmqpEventHub(client)
        with pytest.raises(ScalerError, match=message):
            await hub.partitions(context)
        await hub.aclose()
    assert sum(sent) < 32 * 2**20


async def test_the_contract_of_scalers_holds(lent: SharedContext) -> None:
    auth = {"connection": HUB, "storageConnection": "AccountName=a;AccountKey=c2VjcmV0"}
    context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(AzureEventHubScaler, trigger_of("azure-eventhub", {}, auth=auth), context)
