"""One source and its sink: order, patience, what is lost and what is not."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from keda_py.clock import FakeClock
from keda_py.core.cloud_events import Origin
from keda_py.core.values.object_key import ObjectKey
from keda_py.net.http import HttpClientSpec, http_client
from keda_py.net.tls import TlsContexts
from keda_py.operator.cloud_events.delivery import LANES, LAST_PAUSE_SECONDS, QUEUE_LIMIT, Delivery
from keda_py.operator.cloud_events.sinks import EventGridSink, HttpSink, SinkError
from keda_py.telemetry.cloud_event_metrics import CloudEventMetrics
from tests.http_server import HttpServer, http_server
from tests.operator.cloud_events.receiver import NOON, Receiver, event
from tests.waiting import eventually

HOME = Origin(cluster="test-cluster", namespace="keda")
KEY = ObjectKey("CloudEventSource", "shop", "sink")
FIVE_ATTEMPTS_SECONDS = 7.5


class Line:
    """A delivery on virtual time; `changes` are the failures that it told of, "" for the end of one."""

    def __init__(self, http: httpx.AsyncClient, clock: FakeClock) -> None:
        self._http, self.clock, self._registry = http, clock, CollectorRegistry()
        self.changes: list[str] = []
        metrics = CloudEventMetrics(self._registry)
        self.delivery = Delivery(KEY, clock, metrics, lambda: self.changes.append(self.delivery.failure))

    def connect(self, uri: str) -> None:
        self.delivery.connect(HttpSink(http=self._http, uri=uri, origin=HOME))

    async def put(self, *numbers: int) -> None:
        for number in numbers:
            self.delivery.put(event(number))
        await self.clock.settle()

    def count(self, state: str) -> float:
        labels = {"namespace": "shop", "cloudeventsource": "sink", "eventsink": "http", "state": state}
        return self._registry.get_sample_value("keda_cloudeventsource_events_emitted_total", labels) or 0.0

    @property
    def queued(self) -> float | None:
        return self._registry.get_sample_value("keda_cloudeventsource_events_queued", {"namespace": "shop"})


@pytest.fixture
async def idle(server: HttpServer) -> AsyncIterator[Line]:
    """Its `run` is left to the test."""
    clock = FakeClock(NOON)
    async with http_client(HttpClientSpec(), clock, TlsContexts()) as client:
        yield Line(client, clock)


@pytest.fixture
async def line(idle: Line) -> AsyncIterator[Line]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(idle.delivery.run())
        yield idle
        running.cancel()


@pytest.fixture
def receiver(server: HttpServer, line: Line) -> Receiver:
    receiver = Receiver(server)
    line.connect(receiver.url)
    return receiver


async def test_events_arrive_in_the_order_in_which_things_happened(line: Line, receiver: Receiver) -> None:
    await line.put(*range(50))
    assert receiver.ids == [str(number) for number in range(50)]
    assert (line.count("emitted"), line.count("failed"), line.queued) == (50, 0, 0)


async def test_a_slow_sink_is_given_several_at_once_but_only_one_of_each_object(idle: Line, server: HttpServer) -> None:
    receiver = Receiver(server)
    idle.connect(receiver.url)
    receiver.open.clear()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(idle.delivery.run())
        for number in range(200):
            idle.delivery.put(event(number, f"object-{number % 50}"))
        await eventually(lambda: receiver.asked == LANES)
        receiver.open.set()
        await eventually(lambda: len(receiver.got) == 200)
        running.cancel()
    of_one = [headers["ce-id"] for headers, _ in receiver.got if headers["ce-subject"].endswith("/object-7")]
    assert of_one == ["7", "57", "107", "157"]


async def test_an_event_is_tried_again_and_keeps_its_id(line: Line, receiver: Receiver) -> None:
    receiver.statuses = [503, 500]
    await line.put(1, 2)
    assert (receiver.asked, receiver.ids) == (1, [])
    await line.clock.advance(0.5 + 1)
    assert (receiver.asked, receiver.ids) == (4, ["1", "2"])
    assert (line.count("emitted"), line.count("failed"), line.changes) == (2, 2, [])


async def test_new_events_do_not_hurry_a_sink_that_is_in_trouble(line: Line, receiver: Receiver) -> None:
    receiver.status = 503
    await line.put(*range(100))
    await line.clock.advance(0.4)
    await line.put(*range(100))
    assert receiver.asked == 1


async def test_after_five_failures_it_is_failing_and_asks_seldom(line: Line, receiver: Receiver) -> None:
    receiver.status = 503
    await line.put(1, 2)
    await line.clock.advance(FIVE_ATTEMPTS_SECONDS)
    assert (receiver.asked, line.changes, line.count("failed"), line.queued) == (5, ["status 503"], 5, 2)
    await line.clock.advance(600)
    assert receiver.asked == 5 + 600 / LAST_PAUSE_SECONDS
    assert line.changes == ["status 503"]


async def test_nothing_is_lost_when_a_dead_sink_comes_back(line: Line, receiver: Receiver) -> None:
    receiver.status = 503
    await line.put(*range(20))
    await line.clock.advance(3600)
    receiver.status = 200
    await line.clock.advance(LAST_PAUSE_SECONDS)
    assert receiver.ids == [str(number) for number in range(20)]
    assert (line.changes, line.queued) == (["status 503", ""], 0)


async def test_a_sink_that_is_not_there_says_so_without_the_secret_in_its_address(line: Line) -> None:
    line.connect("http://127.0.0.1:1/?token=secret")
    await line.put(1)
    await line.clock.advance(FIVE_ATTEMPTS_SECONDS)
    assert line.changes == ["no answer: Connection refused"]


async def test_an_event_that_is_refused_five_times_makes_way(line: Line, receiver: Receiver) -> None:
    receiver.statuses = [400] * 5
    await line.put(1, 2, 3)
    await line.clock.advance(FIVE_ATTEMPTS_SECONDS)
    assert (receiver.ids, line.changes) == (["2", "3"], ["status 400", ""])


@pytest.mark.parametrize("status", [408, 425, 429])
async def test_a_sink_that_has_no_time_now_is_not_refusing(line: Line, receiver: Receiver, status: int) -> None:
    receiver.statuses = [status] * 5
    await line.put(1)
    await line.clock.advance(FIVE_ATTEMPTS_SECONDS + LAST_PAUSE_SECONDS)
    assert receiver.ids == ["1"]


async def test_what_waits_goes_to_another_destination_at_once(
    line: Line, receiver: Receiver, server: HttpServer
) -> None:
    receiver.status = 503
    await line.put(1, 2)
    await line.clock.advance(FIVE_ATTEMPTS_SECONDS)
    other = Receiver(server, "/other")
    line.connect(other.url)
    assert line.delivery.failure == ""
    await line.clock.settle()
    assert (receiver.ids, other.ids) == ([], ["1", "2"])


async def test_events_wait_for_a_destination(line: Line, server: HttpServer) -> None:
    await line.put(1, 2)
    receiver = Receiver(server)
    line.connect(receiver.url)
    await line.clock.settle()
    assert receiver.ids == ["1", "2"]


async def test_the_oldest_makes_way_in_a_full_queue_and_is_told_once(
    line: Line, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 503
    await line.put(0)
    await line.put(*range(1, QUEUE_LIMIT + 6))
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        "cloudevents are lost, the queue is full"
    ]
    assert (len(line.delivery), line.count("failed")) == (QUEUE_LIMIT, 1 + 6)


async def test_a_redirect_is_followed_only_if_the_event_goes_with_it(
    line: Line, receiver: Receiver, server: HttpServer
) -> None:
    async def moved(request: web.Request) -> web.Response:
        return web.Response(status=int(request.query["as"]), headers={"Location": receiver.path})

    server.answers["/moved"] = moved
    line.connect(f"{server.url}/moved?as=308")
    await line.put(1)
    assert receiver.ids == ["1"]

    async def read(request: web.Request) -> web.Response:
        return web.Response(text="a page")

    server.answers[receiver.path] = read
    line.connect(f"{server.url}/moved?as=302")
    await line.put(2)
    await line.clock.advance(FIVE_ATTEMPTS_SECONDS)
    assert line.changes == ["the event was redirected to where it cannot be posted"]


async def test_an_event_follows_to_another_origin_and_an_access_key_does_not(line: Line, server: HttpServer) -> None:
    async def moved(request: web.Request) -> web.Response:
        return web.Response(status=308, headers={"Location": f"{other.url}/events"})

    server.answers["/moved"] = server.answers["/"] = moved
    async with http_server() as other:
        receiver = Receiver(other)
        line.connect(f"{server.url}/moved")
        await line.put(1)
        assert receiver.ids == ["1"]
        async with http_client(HttpClientSpec(), line.clock, TlsContexts()) as client:
            topic = EventGridSink(http=client, endpoint=server.url, access_key="s3cret", origin=HOME)
            with pytest.raises(
                SinkError, match="no answer: redirected to .*, another origin, where the header aeg-sas-key"
            ):
                await topic.send(event(2))
        assert receiver.asked == 1


async def test_what_was_on_its_way_when_running_ended_is_sent_by_the_drain(idle: Line, server: HttpServer) -> None:
    receiver = Receiver(server)
    idle.connect(receiver.url)
    receiver.open.clear()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(idle.delivery.run())
        for number in (1, 2):
            idle.delivery.put(event(number))
        await eventually(lambda: receiver.asked == 1)
        running.cancel()
    assert len(idle.delivery) == 2
    receiver.open.set()
    await idle.delivery.drain()
    assert (receiver.ids[-2:], len(idle.delivery)) == (["1", "2"], 0)


async def test_a_drain_gives_up_at_the_first_failure(idle: Line, server: HttpServer) -> None:
    receiver = Receiver(server, status=503)
    idle.connect(receiver.url)
    for number in range(100):
        idle.delivery.put(event(number))
    await idle.delivery.drain()
    assert (receiver.asked, len(idle.delivery)) == (1, 100)


async def test_nothing_is_left_on_the_metrics_page_of_a_source_that_is_gone(line: Line, receiver: Receiver) -> None:
    receiver.statuses = [503]
    await line.put(1)
    line.delivery.close()
    assert (line.count("failed"), line.queued) == (0, None)
