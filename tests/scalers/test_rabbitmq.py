"""`rabbitmq` against a real RabbitMQ, by its management interface and by AMQP."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from aiohttp import web

from keda_py.apis.scaled_object import ScaledObject
from keda_py.auth.resolver import Resolved
from keda_py.clock import SystemClock
from keda_py.core.spec import TriggersSpec, build_spec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, ScalerError
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.registry import build
from keda_py.testing import EngineContext, check_scaler, shared_context
from scalers.rabbitmq import RabbitMQScaler
from tests.http_server import http_server
from tests.scalers.servers.rabbitmq import RabbitMQ, rabbitmq
from tests.waiting import eventually

ASK_AGAIN_SECONDS = 0.25
"""Between two looks at a server, which works in real time."""

SECONDS = 30


class NoAuthentication:
    """A resolver for triggers that say everything themselves."""

    async def resolve(self, spec: TriggersSpec, trigger_index: int) -> Resolved:
        return Resolved()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    with rabbitmq(tmp_path_factory.mktemp("rabbitmq")) as server:
        yield server


@pytest.fixture
async def api(server: RabbitMQ) -> AsyncIterator[httpx.AsyncClient]:
    base = f"http://127.0.0.1:{server.http}/api"
    async with httpx.AsyncClient(base_url=base, auth=("guest", "guest"), trust_env=False, verify=False) as client:
        yield client


async def put(api: httpx.AsyncClient, queue: str, messages: int, vhost: str = "/") -> None:
    vhost = quote(vhost, safe="")
    (await api.put(f"/queues/{vhost}/{quote(queue, safe='')}", json={})).raise_for_status()
    for _ in range(messages):
        message = {"properties": {}, "routing_key": queue, "payload": "x", "payload_encoding": "string"}
        (await api.post(f"/exchanges/{vhost}/amq.default/publish", json=message)).raise_for_status()


def by_http(server: RabbitMQ, queue: str, **more: str) -> dict[str, str]:
    host = f"http://guest:guest@127.0.0.1:{server.http}/"
    return {"host": host, "queueName": queue, "mode": "QueueLength", "value": "5", **more}


def by_amqp(server: RabbitMQ, queue: str, **more: str) -> dict[str, str]:
    return {**by_http(server, queue), "host": f"amqp://guest:guest@127.0.0.1:{server.amqp}/", **more}


async def told(scaler: Any, value: float) -> None:
    """The management interface learns of messages a second or more after they came."""
    async with asyncio.timeout(SECONDS):
        while (await scaler.read()).value != value:
            await asyncio.sleep(ASK_AGAIN_SECONDS)


async def test_the_length_of_a_queue_by_both_protocols(bench: Any, server: RabbitMQ, api: httpx.AsyncClient) -> None:
    await put(api, "orders", 3)
    http, amqp = [await bench.opened("rabbitmq", by(server, "orders")) for by in (by_http, by_amqp)]
    assert (await amqp.read()).value == 3
    await told(http, 3)
    assert (await http.read()).active is True


async def test_names_with_spaces_slashes_and_dots_are_found(
    bench: Any, server: RabbitMQ, api: httpx.AsyncClient
) -> None:
    (await api.put("/vhosts/a%20b", json={})).raise_for_status()
    permissions = {"configure": ".*", "write": ".*", "read": ".*"}
    (await api.put("/permissions/a%20b/guest", json=permissions)).raise_for_status()
    for name in ("a b/c+d", "x.*"):
        await put(api, name, 1, "a b")
    for by in (by_http, by_amqp):
        scalers = [await bench.opened("rabbitmq", by(server, n, vhostName="a b")) for n in ("a b/c+d", "x.*")]
        for scaler in scalers:
            await told(scaler, 1)
        assert [one.value for one in await scalers[0].read_batch(scalers)] == [1, 1]


async def test_by_amqp_all_behind_the_first_slash_names_the_vhost(
    bench: Any, server: RabbitMQ, api: httpx.AsyncClient
) -> None:
    permissions = {"configure": ".*", "write": ".*", "read": ".*"}
    counts = {"shop": 1, "shop/": 2, "/shop": 3, "a/b": 4}
    for vhost, count in counts.items():
        (await api.put(f"/vhosts/{quote(vhost, safe='')}", json={})).raise_for_status()
        (await api.put(f"/permissions/{quote(vhost, safe='')}/guest", json=permissions)).raise_for_status()
        await put(api, "jobs", count, vhost)
    for written, vhost in {**{vhost: vhost for vhost in counts}, "shop%2F": "shop/", "%2Fshop": "/shop"}.items():
        trigger = by_amqp(server, "jobs")
        scaler = await bench.opened("rabbitmq", {**trigger, "host": trigger["host"].rstrip("/") + f"/{written}"})
        assert (await scaler.read()).value == counts[vhost]


@pytest.mark.parametrize("by", [by_http, by_amqp])
async def test_a_missing_queue_is_an_error_of_its_own(
    bench: Any, server: RabbitMQ, api: httpx.AsyncClient, by: Any
) -> None:
    await put(api, "here", 0)
    scalers = [await bench.opened("rabbitmq", by(server, name)) for name in ("here", "gone", "here")]
    with pytest.raises(ScalerError, match="gone|404"):
        await scalers[1].read()
    first, missing, last = await scalers[0].read_batch(scalers)
    assert (first.value, last.value) == (0, 0)
    assert isinstance(missing, ScalerError)
    assert "gone" in str(missing)


async def test_a_hundred_queues_are_one_batch(bench: Any, server: RabbitMQ, api: httpx.AsyncClient) -> None:
    names = [f"a-queue-whose-name-is-rather-long-so-that-not-all-fit-a-question-{number}" for number in range(100)]
    for name in names:
        await put(api, name, name.endswith("-7"))
    for by in (by_http, by_amqp):
        scalers = [await bench.opened("rabbitmq", by(server, name)) for name in names]
        assert len({scaler.batch_key for scaler in scalers}) == 1
        await told(scalers[7], 1)
        readings = await scalers[0].read_batch(scalers)
        assert [one.value for one in readings] == [float(number == 7) for number in range(100)]


async def test_a_thousand_queues_with_short_names_fit_the_pages_of_a_batch(bench: Any) -> None:
    asked = []

    async def page(request: web.Request) -> web.Response:
        names = request.query["name"].removeprefix("^(").removesuffix(")$").split("|")
        asked.append(len(names))
        pages = -(-len(names) // int(request.query["page_size"]))
        items = [{"name": name, "messages": int(name)} for name in names]
        return web.json_response({"page_count": pages, "items": items})

    async with http_server() as fake:
        fake.answers["/api/queues//"] = page
        host = f"{fake.url}/%2F"
        scalers = [
            await bench.opened("rabbitmq", {"queueName": str(name), "host": host, "mode": "QueueLength", "value": "5"})
            for name in range(1000)
        ]
        readings = await scalers[0].read_batch(scalers)
    assert [reading.value for reading in readings] == list(range(1000))
    assert asked == [500, 500]


async def test_a_pattern_sums_all_queues_that_match(bench: Any, server: RabbitMQ, api: httpx.AsyncClient) -> None:
    for number, name in enumerate(("evt-a", "evt-b", "other")):
        await put(api, name, number + 1)
    metadata = by_http(server, "^evt-", useRegex="true")
    scaler = await bench.opened("rabbitmq", metadata)
    await told(scaler, 3)
    assert scaler.batch_key is None
    highest = await bench.opened("rabbitmq", {**metadata, "operation": "max"})
    assert (await highest.read()).value == 2
    none = await bench.opened("rabbitmq", by_http(server, "^nothing", useRegex="true"))
    assert (await none.read()).value == 0


@pytest.mark.parametrize("by", [by_http, by_amqp])
async def test_a_wrong_password_is_an_error_that_does_not_tell_it(bench: Any, server: RabbitMQ, by: Any) -> None:
    metadata = by(server, "orders")
    metadata["host"] = metadata["host"].replace("guest:guest", "guest:hunter2")
    scaler = await bench.opened("rabbitmq", metadata)
    with pytest.raises(ScalerError, match="401|ACCESS_REFUSED") as wrong:
        await scaler.read()
    assert "hunter2" not in str(wrong.value)
    right = await bench.opened("rabbitmq", metadata, auth={"username": "guest", "password": "guest"})
    assert right.batch_key != scaler.batch_key


async def test_a_client_certificate_logs_in_over_tls(bench: Any, server: RabbitMQ, api: httpx.AsyncClient) -> None:
    await put(api, "secured", 2)
    client = server.authority.leaf("keda")
    metadata = by_amqp(server, "secured", host=f"amqps://127.0.0.1:{server.amqps}/")
    auth = {"tls": "enable", "ca": server.authority.cert, "cert": client.cert, "key": client.key}
    scaler = await bench.opened("rabbitmq", metadata, auth=auth)
    assert (await scaler.read()).value == 2
    unknown = await bench.opened("rabbitmq", metadata)
    with pytest.raises(ScalerError, match="certificate verify failed"):
        await unknown.read()


async def test_a_lost_connection_is_made_again(bench: Any, server: RabbitMQ, api: httpx.AsyncClient) -> None:
    await put(api, "kept", 1)
    scaler = await bench.opened("rabbitmq", by_amqp(server, "kept"))
    assert (await scaler.read()).value == 1
    async with asyncio.timeout(SECONDS):
        while not (known := [c["name"] for c in (await api.get("/connections")).json()]):
            await asyncio.sleep(ASK_AGAIN_SECONDS)
    for name in known:
        await api.delete(f"/connections/{quote(name, safe='')}")
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                assert (await scaler.read()).value == 1
                return
            except ScalerError:
                await asyncio.sleep(ASK_AGAIN_SECONDS)


async def test_a_server_that_never_answers_is_given_up(bench: Any, silent_port: int) -> None:
    metadata = {"host": f"amqp://127.0.0.1:{silent_port}/", "queueName": "orders"}
    scaler = await bench.opened("rabbitmq", metadata, timeout=0.2)
    with pytest.raises(ScalerError, match=f"rabbitmq connection to 127.0.0.1:{silent_port}"):
        await scaler.read()


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\n\r\n", b"\x01\x00\x00\xff\xff\xff\xff" + b"x" * 100_000])
async def test_a_server_that_speaks_no_amqp_is_an_error(bench: Any, said: bytes) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        scaler = await bench.opened("rabbitmq", {"host": f"amqp://127.0.0.1:{port}/", "queueName": "orders"})
        with pytest.raises(ScalerError, match="error establishing rabbitmq connection"):
            await scaler.read()


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"protocol": "amqp"}, "protocol amqp is not what the scheme of host says (http): use auto"),
        ({"host": "amqp://h/", "timeout": "2s"}, "configure timeout together with mode only with HTTP protocol"),
        ({"host": "amqp://h/", "mode": "MessageRate"}, "must be HTTP to use trigger mode MessageRate"),
        ({"value": "-1"}, 'value: "-1" is no target'),
    ],
)
async def test_metadata_that_is_refused(bench: Any, metadata: dict[str, str], message: str) -> None:
    good = {"host": "http://guest:s3cret@h/", "queueName": "orders", "mode": "QueueLength", "value": "5"}
    with pytest.raises(ConfigError) as refused:
        bench.scaler("rabbitmq", {**good, **metadata})
    assert message in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("by", [by_http, by_amqp])
async def test_the_contract_is_kept(bench: Any, server: RabbitMQ, api: httpx.AsyncClient, by: Any) -> None:
    await put(api, "contract", 0)
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(RabbitMQScaler, Trigger(type="rabbitmq", metadata=by(server, "contract")), context)


@pytest.mark.parametrize(
    ("metadata", "often"),
    [
        ({"host": "amqp://guest:guest@h:5672/"}, True),
        ({"host": "http://guest:guest@h:15672/"}, False),
        ({"host": "http://guest:guest@h:15672/", "useRegex": "true"}, False),
    ],
)
async def test_only_what_is_counted_at_once_is_asked_often_at_zero(bench: Any, metadata: Any, often: bool) -> None:
    scaler = bench.scaler("rabbitmq", {"queueName": "jobs", "mode": "QueueLength", "value": "5", **metadata})
    assert scaler.asked_often_at_zero is often


async def test_a_message_is_told_of_long_before_the_next_poll(server: RabbitMQ, api: httpx.AsyncClient) -> None:
    """By the engine, while the object is idle; the other queue is missing, and spoils nothing."""
    await put(api, "sleepy", 0)
    told: list[ObjectKey] = []
    async with shared_context(clock=SystemClock()) as lent, asyncio.TaskGroup() as tasks:
        source = ScalerSource(shared_context=lent, build=build, resolver=NoAuthentication(), zero_polling_interval=0.1)
        readings = Readings(scalers=source, tasks=tasks, on_reading=told.append)
        with readings.listening():
            for queue in ("sleepy", "missing"):
                meta = {"name": queue, "namespace": "default", "uid": queue, "generation": 1}
                triggers = [{"type": "rabbitmq", "metadata": by_amqp(server, queue)}]
                body = {"scaleTargetRef": {"name": "app"}, "triggers": triggers, "pollingInterval": 3600}
                spec = build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))
                await readings.build(spec)
                readings.note_idle(spec.key, idle=True)
            await put(api, "sleepy", 1)
            await eventually(lambda: told)
        await readings.aclose()
    assert {key.name for key in told} == {"sleepy"}
