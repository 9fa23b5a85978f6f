"""Sessions of exec and port-forward, as a Prometheus that the administrator names tells them, keep an Environment awake."""

from typing import Any

import orjson
import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.operator.environments.known.sessions import read_sessions
from keda_py.settings.settings import load_settings
from tests.builders import a_namespace, deployment, environment
from tests.http_server import HttpServer
from tests.operator.environments.builders import status, until
from tests.worlds.world import World

ALWAYS: dict[str, Any] = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
QUERY = "sum by (namespace) (increase(audit_sessions_total[10m]))"


class Sessions:
    """A Prometheus with one series for each namespace in `values`; without `values` it is broken."""

    def __init__(self, server: HttpServer) -> None:
        self.values: dict[str, str] | None = {"default": "0", "shop": "0"}
        self.asked: list[str] = []
        server.answers["/api/v1/query"] = self._answer

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.query["query"])
        if self.values is None:
            return web.Response(status=503)
        result = [{"metric": {"namespace": name}, "value": [0, value]} for name, value in self.values.items()]
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": result}})


@pytest.fixture
async def sessions(quiet_world: World, server: HttpServer) -> Sessions:
    """A Prometheus that the operator asks, and an Environment that sleeps after two hours without use."""
    quiet_world.operator.flags |= {"idle-prometheus": server.url, "idle-query": QUERY}
    prometheus = Sessions(server)
    await quiet_world.operator.start()
    await quiet_world.create(deployment("web", 2), environment(calendar=ALWAYS, idleAfter="2h"))
    return prometheus


def signal(world: World) -> tuple[str, str]:
    (found,) = (one for one in status(world)["idle"]["signals"] if one["name"] == "ExecAndPortForward")
    return found["use"], found.get("because", "")


async def test_a_session_keeps_it_awake_and_the_time_runs_from_its_end(quiet_world: World, sessions: Sessions) -> None:
    world = quiet_world
    await until(world, 20, "13:30")
    assert signal(world) == ("Quiet", "")
    sessions.values = {"default": "1.2", "shop": "0"}
    await until(world, 20, "14:30")
    assert (signal(world), world.replicas("web")) == (("Active", ""), 2)
    sessions.values = {"default": "0"}
    await until(world, 20, "16:25")
    assert world.replicas("web") == 2
    await until(world, 20, "16:35")
    assert (signal(world), world.replicas("web")) == (("Quiet", ""), 0)


async def test_one_question_a_minute_serves_all_namespaces(quiet_world: World, sessions: Sessions) -> None:
    world = quiet_world
    for name in ("shop", "blog"):
        await world.create(a_namespace(name), environment("dev", name, calendar=ALWAYS, idleAfter="2h"))
    await until(world, 20, "13:00")
    assert set(sessions.asked) == {QUERY}
    assert 55 <= len(sessions.asked) <= 62


async def test_a_namespace_without_a_series_and_a_broken_source_are_not_idle(
    quiet_world: World, sessions: Sessions
) -> None:
    world = quiet_world
    sessions.values = {"shop": "0"}
    await until(world, 20, "15:00")
    assert (signal(world), world.replicas("web")) == (("Unknown", "--idle-query has no series of the namespace"), 2)
    sessions.values = None
    await until(world, 20, "18:00")
    assert world.replicas("web") == 2
    assert signal(world) == ("Unknown", "the Prometheus of --idle-prometheus answered with status 503")


async def test_an_answer_that_fails_for_some_minutes_changes_nothing(quiet_world: World, sessions: Sessions) -> None:
    world = quiet_world
    await until(world, 20, "13:00")
    sessions.values = None
    await until(world, 20, "13:04")
    sessions.values = {"default": "0"}
    await until(world, 20, "14:05")
    assert world.replicas("web") == 0


async def test_a_source_that_breaks_at_night_wakes_nothing(quiet_world: World, sessions: Sessions) -> None:
    world = quiet_world
    await until(world, 20, "14:05")
    assert world.replicas("web") == 0
    sessions.values = None
    await until(world, 20, "18:00")
    assert (signal(world)[0], world.replicas("web"), status(world)["phase"]) == ("Unknown", 0, "Asleep")


async def test_a_new_operator_goes_on_counting_and_begins_no_sleep_before_the_first_answer(
    quiet_world: World, sessions: Sessions
) -> None:
    world = quiet_world
    await until(world, 20, "13:00")
    await world.operator.stop()
    await world.operator.start()
    await until(world, 20, "13:59")
    await world.operator.stop()
    await until(world, 20, "14:02")
    sessions.values = {"default": "1"}
    await world.operator.start()
    await until(world, 20, "14:20")
    assert (signal(world), world.replicas("web")) == (("Active", ""), 2)


async def test_without_a_source_the_signal_says_that_it_is_not_watched(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=ALWAYS, idleAfter="2h"))
    await until(world, 20, "12:10")
    assert signal(world) == ("NotWatched", "")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"<html>", "cannot be read"),
        (b"[" * 20_000, "cannot be read"),
        (b'{"data":{"resultType":"scalar","result":[0,"1"]}}', "write sum by (namespace)"),
        (b'{"data":{"resultType":"vector","result":[{"metric":{},"value":[0,"1"]}]}}', "no label namespace"),
    ],
    ids=["no JSON", "deep JSON", "a scalar", "no namespace"],
)
def test_an_answer_that_does_not_tell_of_namespaces_is_refused(answer: bytes, text: str) -> None:
    with pytest.raises(ScalerError) as refused:
        read_sessions(answer)
    assert text in str(refused.value)


def test_a_value_that_is_not_a_number_is_left_out() -> None:
    values = {"a": "NaN", "b": "0", "c": "0.1", "d": "+Inf", "e": "much"}
    result = [{"metric": {"namespace": name}, "value": [0, value]} for name, value in values.items()]
    two = [*result, {"metric": {"namespace": "b", "pod": "x"}, "value": [0, "1"]}, {"metric": {"namespace": "f"}}]
    assert read_sessions(orjson.dumps({"data": {"resultType": "vector", "result": two}})) == {"b": True, "c": True}


def test_a_prometheus_without_a_query_is_refused_by_the_flag_that_is_missing() -> None:
    with pytest.raises(ConfigError, match="--idle-prometheus.*--idle-query"):
        load_settings({"idle-prometheus": ["http://prometheus.monitoring.svc:9090"]}, {})
