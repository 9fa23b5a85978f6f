"""Sources that push, or are asked often at zero, each on a server of its own: what a bench has to know of a type."""

import asyncio
import base64
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import httpx
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from keda_py.kube.resources import CONFIG_MAPS, PODS, SECRETS, TRIGGER_AUTHENTICATIONS, Obj
from keda_py.sdk import external_protocol as protocol
from tests.bench.lab.processes import LOOPBACK
from tests.bench.lab.stand import NAMESPACE, Stand
from tests.builders import authentication, config_map, from_key, metadata, secret
from tests.certificates import Authority
from tests.scalers.grpc.conftest import External, external_server
from tests.scalers.servers.etcd import etcd
from tests.scalers.servers.kafka import tansu
from tests.scalers.servers.nats import nats
from tests.scalers.servers.postgres import PASSWORD, USER, postgres
from tests.scalers.servers.rabbitmq import rabbitmq
from tests.servers import free_port

KAFKA_GROUP = "workers"
_OPEN = "no_auth_user: shop\n"
"""NATS tells of messages to clients without credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushing:
    """Triggers by number, and what gives the one of a number something to do."""

    trigger: Callable[[int], Obj]
    work: Callable[[int], Awaitable[object]]


Open: TypeAlias = Callable[[Stand, int], AbstractAsyncContextManager[Pushing]]
"""`open(stand, count)`: a server, ready for so many triggers without work. Raises pytest's Skipped where none is here."""


@asynccontextmanager
async def open_redis(stand: Stand, _: int) -> AsyncIterator[Pushing]:
    """Lists, on the Redis of the stand, which tells of its keys."""
    await stand.redis.config_set("notify-keyspace-events", "KA")
    keys = {"address": f"{LOOPBACK}:{stand.redis_port}", "listLength": "5"}
    yield Pushing(
        trigger=lambda number: {"type": "redis", "metadata": {**keys, "listName": f"push-{number}"}},
        work=lambda number: stand.redis.lpush(f"push-{number}", "x"),
    )


@asynccontextmanager
async def open_postgresql(stand: Stand, _: int) -> AsyncIterator[Pushing]:
    """A row in a table for each."""
    leaf = Authority().leaf("postgres")
    with postgres(leaf) as server:
        place = {"host": LOOPBACK, "port": str(server.port), "userName": USER, "dbName": "postgres"}
        await stand.client.create(SECRETS, secret("postgres", NAMESPACE, password=PASSWORD))
        reference = authentication("postgres", namespace=NAMESPACE, secretTargetRef=[from_key("password", "postgres")])
        await stand.client.create(TRIGGER_AUTHENTICATIONS, reference)
        connection = await asyncpg.connect(
            host=LOOPBACK, port=server.port, user=USER, password=PASSWORD, database="postgres", ssl=False
        )
        await connection.execute("CREATE TABLE jobs (number int)")

        def trigger(number: int) -> Obj:
            query = f"SELECT count(*) FROM jobs WHERE number = {number}"
            keys = {**place, "sslmode": "disable", "query": query, "targetQueryValue": "5"}
            trigger = {"type": "postgresql", "metadata": {**keys, "listenChannel": f"jobs_{number}"}}
            return {**trigger, "authenticationRef": {"name": "postgres"}}

        yield Pushing(
            trigger=trigger,
            work=lambda number: connection.execute(f"INSERT INTO jobs VALUES ({number}); NOTIFY jobs_{number}"),
        )
        await connection.close()


@asynccontextmanager
async def open_etcd(_: Stand, count: int) -> AsyncIterator[Pushing]:
    """A key for each."""
    with tempfile.TemporaryDirectory() as folder, etcd(Path(folder)) as url:
        async with httpx.AsyncClient(trust_env=False) as client:

            async def put(number: int, value: str = "1") -> None:
                pair = {"key": _coded(f"push-{number}"), "value": _coded(value)}
                (await client.post(f"{url}/v3/kv/put", json=pair)).raise_for_status()

            for number in range(count):
                await put(number, "0")
            keys = {"endpoints": url.partition("://")[2], "value": "5"}
            yield Pushing(
                trigger=lambda number: {"type": "etcd", "metadata": {**keys, "watchKey": f"push-{number}"}}, work=put
            )


@asynccontextmanager
async def open_nats(_: Stand, count: int) -> AsyncIterator[Pushing]:
    """A stream with a consumer for each."""
    import nats as client

    with tempfile.TemporaryDirectory() as folder, nats(Path(folder), more=_OPEN) as (server,):
        connection = await client.connect(server.url)
        streams = connection.jetstream(timeout=20)
        for number in range(count):
            await streams.add_stream(name=f"push-{number}", subjects=[f"push-{number}"])
            await streams.pull_subscribe(f"push-{number}", durable="work")

        def trigger(number: int) -> Obj:
            keys = {"natsServerMonitoringEndpoint": server.monitoring, "account": "SHOP", "consumer": "work"}
            return {"type": "nats-jetstream", "metadata": {**keys, "stream": f"push-{number}"}}

        yield Pushing(trigger=trigger, work=lambda number: streams.publish(f"push-{number}", b"x"))
        await connection.close()


@asynccontextmanager
async def open_workload(stand: Stand, _: int) -> AsyncIterator[Pushing]:
    """A pod with a label for each."""

    async def work(number: int) -> None:
        spec = {"nodeSelector": {"no": "such-node"}, "containers": [{"name": "app", "image": "app"}]}
        meta = metadata(f"push-{number}", NAMESPACE, labels={"push": str(number)})
        await stand.client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    def trigger(number: int) -> Obj:
        return {"type": "kubernetes-workload", "metadata": {"podSelector": f"push={number}", "value": "1"}}

    yield Pushing(trigger=trigger, work=work)


@asynccontextmanager
async def open_resource(stand: Stand, count: int) -> AsyncIterator[Pushing]:
    """A ConfigMap for each."""
    for number in range(count):
        await stand.client.create(CONFIG_MAPS, config_map(f"push-{number}", NAMESPACE, jobs="0"))
    keys = {"resourceKind": "ConfigMap", "key": "jobs", "targetValue": "5"}
    yield Pushing(
        trigger=lambda number: {"type": "kubernetes-resource", "metadata": {**keys, "resourceName": f"push-{number}"}},
        work=lambda number: stand.client.patch(CONFIG_MAPS.named(NAMESPACE, f"push-{number}"), {"data": {"jobs": "7"}}),
    )


@asynccontextmanager
async def open_rabbitmq(_: Stand, count: int) -> AsyncIterator[Pushing]:
    """A queue for each, asked by AMQP."""
    from aiormq import connect

    with tempfile.TemporaryDirectory() as folder, rabbitmq(Path(folder)) as server:
        address = f"amqp://guest:guest@{LOOPBACK}:{server.amqp}/"
        connection = await connect(address)
        channel = await connection.channel()
        for number in range(count):
            await channel.queue_declare(f"push-{number}")
        keys = {"host": address, "mode": "QueueLength", "value": "5"}
        yield Pushing(
            trigger=lambda number: {"type": "rabbitmq", "metadata": {**keys, "queueName": f"push-{number}"}},
            work=lambda number: channel.basic_publish(b"x", routing_key=f"push-{number}"),
        )
        await connection.close()


@asynccontextmanager
async def open_kafka(_: Stand, count: int) -> AsyncIterator[Pushing]:
    """A topic for each, which one group has read."""
    with tempfile.TemporaryDirectory() as folder, tansu(free_port(), Path(folder)) as port:
        server, topics = f"{LOOPBACK}:{port}", [f"push-{number}" for number in range(count)]
        admin = AIOKafkaAdminClient(bootstrap_servers=server)
        await admin.start()
        await admin.create_topics([NewTopic(topic, 1, 1) for topic in topics])
        await admin.close()
        async with AIOKafkaConsumer(
            bootstrap_servers=server, group_id=KAFKA_GROUP, enable_auto_commit=False
        ) as consumer:
            partitions = {TopicPartition(topic, 0): 0 for topic in topics}
            consumer.assign(list(partitions))
            await consumer.commit(partitions)
        keys = {"bootstrapServers": server, "consumerGroup": KAFKA_GROUP, "lagThreshold": "5"}
        async with AIOKafkaProducer(bootstrap_servers=server, linger_ms=0) as producer:
            yield Pushing(
                trigger=lambda number: {"type": "kafka", "metadata": {**keys, "topic": f"push-{number}"}},
                work=lambda number: producer.send_and_wait(f"push-{number}", b"x", partition=0),
            )


@dataclass
class _Numbers(External):
    """One server for all triggers: each names its number."""

    with_work: set[str] = field(default_factory=set)
    streams_of: dict[str, asyncio.Event] = field(default_factory=dict)

    async def answer(self, method: str, question: Any) -> bytes:
        """Active, with one piece of work, or neither."""
        reference = question.scaledObjectRef if method == protocol.GET_METRICS else question
        self.active = reference.scalerMetadata["number"] in self.with_work
        self.values = {"jobs": [{"metricValue": int(self.active)}]}
        return await super().answer(method, question)

    async def stream(self, question: Any, context: Any) -> AsyncIterator[bytes]:
        """True once there is work."""
        await self.streams_of.setdefault(question.scalerMetadata["number"], asyncio.Event()).wait()
        yield bytes(protocol.messages()["IsActiveResponse"](result=True).SerializeToString())
        await asyncio.get_running_loop().create_future()


@asynccontextmanager
async def open_external(_: Stand, __: int) -> AsyncIterator[Pushing]:
    """A stream for each, of one gRPC server."""
    async with external_server(external=_Numbers()) as external:
        assert isinstance(external, _Numbers)
        numbers = external

        async def work(number: int) -> None:
            numbers.with_work.add(str(number))
            numbers.streams_of.setdefault(str(number), asyncio.Event()).set()

        def trigger(number: int) -> Obj:
            keys = {"scalerAddress": numbers.address, "number": str(number)}
            return {"type": "external-push", "metadata": keys}

        yield Pushing(trigger=trigger, work=work)


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


OPEN: dict[str, Open] = {
    "redis": open_redis,
    "postgresql": open_postgresql,
    "etcd": open_etcd,
    "nats-jetstream": open_nats,
    "kubernetes-workload": open_workload,
    "kubernetes-resource": open_resource,
    "rabbitmq": open_rabbitmq,
    "kafka": open_kafka,
    "external-push": open_external,
}
