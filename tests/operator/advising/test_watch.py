"""Hours that no longer fit are told once a month: a status field and an Event, from a Prometheus that is asked."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.kube.resources import ENVIRONMENTS, EVENTS
from tests.builders import deployment, environment
from tests.http_server import HttpServer
from tests.operator.environments.builders import events, status
from tests.worlds.world import World

HOUR = 3700.0
METRIC = "istio_requests_total"
LABELS = {"destination_workload_namespace": "default", "destination_workload": "web"}


def counted(server: HttpServer, used: Callable[[datetime], bool]) -> None:
    """A Prometheus that has requests of Deployment web at these moments, and nothing else."""

    async def query(_: web.Request) -> web.Response:
        now = SystemClock().now().timestamp()
        return web.json_response({"status": "success", "data": {"resultType": "scalar", "result": [now, str(now)]}})

    async def series(request: web.Request) -> web.Response:
        found = [{"__name__": METRIC}] if request.query["match[]"] == METRIC else []
        return web.json_response({"status": "success", "data": found})

    async def query_range(request: web.Request) -> web.Response:
        first, last, step = (int(float(request.query[name])) for name in ("start", "end", "step"))
        moments = ((at, datetime.fromtimestamp(at - step, UTC)) for at in range(first, last + 1, step))
        values = [[at, "3" if used(moment) else "0"] for at, moment in moments]
        result = [{"metric": LABELS, "values": values}]
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": result}})

    server.answers |= {"/api/v1/query": query, "/api/v1/series": series, "/api/v1/query_range": query_range}


def weekdays(first: int, last: int) -> Callable[[datetime], bool]:
    return lambda at: at.weekday() < 5 and first <= at.hour < last


@pytest.fixture
async def asking(quiet_world: World, server: HttpServer) -> World:
    """Environment dev is open on weekdays from 08:00 to 18:00 UTC."""
    quiet_world.operator.flags["advise-prometheus"] = server.url
    await quiet_world.operator.start()
    await quiet_world.create(deployment("web", 3), environment())
    return quiet_world


def advice(world: World) -> dict[str, Any]:
    found: dict[str, Any] = status(world).get("advice") or {}
    return found


def notes(world: World) -> list[str]:
    told = (one for one in world.all(EVENTS) if one["reason"] == "HoursDoNotFit")
    return [one.get("note") or one.get("message") for one in told]


async def test_hours_that_are_too_long_are_told_once_and_again_after_a_month(asking: World, server: HttpServer) -> None:
    counted(server, weekdays(10, 14))
    told = events(asking)
    await asking.seconds(HOUR)
    assert advice(asking)["fits"] == "False"
    message = advice(asking)["message"]
    assert "your hours Mon-Fri 08:00-18:00 (Environment dev); used Mon-Fri 10:00-14:00 on 100% of the days" in message
    assert "proposed: Mon-Fri 10:00-14:00" in message
    assert told.count(("Normal", "HoursDoNotFit")) == 1
    await asking.operator.stop()
    await asking.operator.start()
    await asking.seconds(3 * HOUR)
    assert told.count(("Normal", "HoursDoNotFit")) == 1, "a restart repeats nothing"
    assert advice(asking)["message"] == message, "looks at the Environment leave it as it is"
    long_ago = (asking.clock.now() - timedelta(days=31)).isoformat()
    await asking.client.patch(
        ENVIRONMENTS.named("default", "dev", "status"), {"status": {"advice": {"checkedAt": long_ago}}}
    )
    await asking.seconds(HOUR)
    assert told.count(("Normal", "HoursDoNotFit")) == 2


async def test_hours_that_fit_have_a_status_and_no_event(asking: World, server: HttpServer) -> None:
    counted(server, weekdays(8, 18))
    told = events(asking)
    await asking.seconds(HOUR)
    assert advice(asking)["fits"] == "True"
    assert "your hours Mon-Fri 08:00-18:00 (Environment dev) fit" in advice(asking)["message"]
    assert ("Normal", "HoursDoNotFit") not in told


async def test_a_prometheus_that_cannot_be_asked_gives_no_advice_and_is_asked_again_the_next_day(
    asking: World, server: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    await asking.seconds(3 * HOUR)
    assert advice(asking) == {}
    warned = [one for one in caplog.records if one.getMessage() == "whether the hours fit is not known"]
    assert len(warned) == 1
    assert server.url in warned[0].__dict__["error"]
    counted(server, weekdays(8, 18))
    await asking.seconds(timedelta(days=1).total_seconds())
    assert advice(asking)["fits"] == "True"


async def test_nothing_is_asked_without_a_prometheus(quiet_world: World) -> None:
    await quiet_world.operator.start()
    await quiet_world.create(deployment("web", 3), environment())
    await quiet_world.seconds(2 * HOUR)
    assert advice(quiet_world) == {}


async def test_a_time_in_the_future_that_somebody_wrote_delays_nothing(asking: World, server: HttpServer) -> None:
    counted(server, weekdays(8, 18))
    future = {"checkedAt": "2999-01-01T00:00:00Z", "fits": "True", "message": "all is well"}
    await asking.seconds(60)
    await asking.client.patch(ENVIRONMENTS.named("default", "dev", "status"), {"status": {"advice": future}})
    await asking.seconds(HOUR)
    assert "your hours" in advice(asking)["message"]
