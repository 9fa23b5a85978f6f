"""Triggers on real servers of this machine, each with something to count: what `reads` reads again and again."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.structs import TopicPartition

from keda_py.net.secret_texts import as_secrets
from keda_py.sdk.advanced import Trigger
from tests.scalers.servers.etcd import etcd
from tests.scalers.servers.kafka import tansu
from tests.scalers.servers.osmem import osmem_command
from tests.scalers.servers.rabbitmq import rabbitmq
from tests.servers import LOOPBACK, STARTUP_SECONDS, free_port, running

PARTITIONS = 3

Source = Callable[[Path], AbstractAsyncContextManager[Trigger]]
"""Starts a server that keeps its files in a folder."""


def _trigger(kind: str, metadata: Mapping[str, str], auth: Mapping[str, str] | None = None) -> Trigger:
    return Trigger(type=kind, metadata=dict(metadata), auth=as_secrets(auth or {}))


def _client(url: str, auth: tuple[str, str] | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, trust_env=False, auth=auth, timeout=STARTUP_SECONDS)


@asynccontextmanager
async def _etcd(folder: Path) -> AsyncIterator[Trigger]:
    with etcd(folder) as url:
        async with _client(url) as client:
            (await client.post("/v3/kv/put", json={"key": "bG9hZA==", "value": "Nw=="})).raise_for_status()
        yield _trigger("etcd", {"endpoints": url.partition("://")[2], "watchKey": "load", "value": "5"})


@asynccontextmanager
async def _rabbitmq(folder: Path) -> AsyncIterator[Trigger]:
    with rabbitmq(folder) as server:
        async with _client(f"http://{LOOPBACK}:{server.http}", ("guest", "guest")) as client:
            (await client.put("/api/queues/%2F/jobs", json={})).raise_for_status()
        host = f"amqp://guest:guest@{LOOPBACK}:{server.amqp}/"
        yield _trigger("rabbitmq", {"host": host, "queueName": "jobs", "mode": "QueueLength", "value": "5"})


@asynccontextmanager
async def _kafka(folder: Path) -> AsyncIterator[Trigger]:
    with tansu(free_port(), folder) as port:
        place = f"{LOOPBACK}:{port}"
        admin = AIOKafkaAdminClient(bootstrap_servers=place)
        await admin.start()
        await admin.create_topics([NewTopic("jobs", PARTITIONS, 1)])
        await admin.close()
        async with AIOKafkaProducer(bootstrap_servers=place, linger_ms=0) as producer:
            for number in range(PARTITIONS):
                await producer.send_and_wait("jobs", b"x", partition=number)
        async with AIOKafkaConsumer(bootstrap_servers=place, group_id="g", enable_auto_commit=False) as consumer:
            offsets = {TopicPartition("jobs", number): 0 for number in range(PARTITIONS)}
            consumer.assign(list(offsets))
            await consumer.commit(offsets)
        yield _trigger("kafka", {"bootstrapServers": place, "consumerGroup": "g", "topic": "jobs", "lagThreshold": "5"})


@asynccontextmanager
async def _elasticsearch(folder: Path) -> AsyncIterator[Trigger]:
    port = free_port()
    with running(osmem_command(port), port, folder / "log"):
        url = f"http://{LOOPBACK}:{port}"
        async with _client(url) as client:
            for number in range(7):
                (await client.put(f"/jobs/_doc/{number}", json={"state": "open"})).raise_for_status()
            await client.post("/jobs/_refresh")
        query = '{"size": 0, "query": {"term": {"state": "open"}}}'
        place = {"addresses": url, "username": "ann", "index": "jobs", "query": query}
        wanted = {"valueLocation": "hits.total.value", "targetValue": "5"}
        yield _trigger("elasticsearch", {**place, **wanted}, {"password": "s3cret"})


SOURCES: Mapping[str, Source] = {
    "etcd": _etcd,
    "rabbitmq": _rabbitmq,
    "kafka": _kafka,
    "elasticsearch": _elasticsearch,
}
