"""A shadow beside another autoscaler, on virtual time: it agrees with an autoscaler like it, and reports where another differs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
import pytest

from keda_py.cli.planning.shadow import run as shadow_command
from keda_py.core.shadow.comparison import Matter
from keda_py.errors import ConfigError, Unavailable
from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, JOBS, SCALED_JOBS, SCALED_OBJECTS
from keda_py.operator.shadow.app import Shadow, run_shadow
from keda_py.settings.settings import load_settings
from tests.builders import authentication, cpu, deployment, hpa, metrics_api, scaled_job, scaled_object
from tests.http_server import HttpServer
from tests.programs.client import run
from tests.worlds.world import World

FLAGS = {
    "shadow": "true",
    "metrics-bind-address": "0",
    "health-probe-bind-address": "0",
    "shadow-report-address": "127.0.0.1:0",
}


LABEL = {"scaledjob.keda.sh/name": "work"}
WORK = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}


@asynccontextmanager
async def shadow_of(world: World) -> AsyncIterator[Shadow]:
    """A shadow at work while the block lasts, with the administrator's rights: what it does not write it may."""
    flags = {flag: [value] for flag, value in {**FLAGS, "kubeconfig": str(world.kubeconfig)}.items()}
    stopping, begun = asyncio.Event(), asyncio.get_running_loop().create_future()
    settings = load_settings(flags, {"KEDA_HTTP_DEFAULT_TIMEOUT": "3000"})
    task = world.operator.tasks.create_task(run_shadow(settings, world.clock, stopping, begun.set_result))
    try:
        async with asyncio.timeout(60):
            shadow = await begun
        yield shadow
    finally:
        stopping.set()
        await task


def matters(shadow: Shadow) -> list[Matter]:
    return [one.claim.matter for one in shadow.ledger.holding()]


def methods(shadow: Shadow) -> set[str]:
    """Return the method of every request that it sent to the API server."""
    samples = (one for family in shadow.parts.shared.instruments.registry.collect() for one in family.samples)
    return {one.labels["method"] for one in samples if "method" in one.labels}


async def do_as_keda(world: World, replicas: int, *, active: bool) -> None:
    """Write as the other side does: the count and the conditions."""
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": replicas}})
    conditions = [
        {"type": "Ready", "status": "True", "reason": "ScaledObjectReady", "message": ""},
        {"type": "Active", "status": str(active), "reason": "ScalerActive" if active else "ScalerNotActive"},
        {"type": "Fallback", "status": "False", "reason": "NoFallbackFound"},
    ]
    path = SCALED_OBJECTS.named("default", "app", "status")
    await world.client.patch(path, {"status": {"conditions": conditions, "hpaName": "keda-hpa-app"}})


async def be_keda(world: World, **spec: Any) -> None:
    """An object that the other side has taken up, with its HPA, asleep."""
    metric = {"name": "s0-metric-api-value", "selector": {"matchLabels": {"scaledobject.keda.sh/name": "app"}}}
    external = {"metric": metric, "target": {"type": "AverageValue", "averageValue": "5"}}
    autoscaler = hpa("keda-hpa-app", maxReplicas=5, metrics=[{"type": "External", "external": external}])
    wanted = scaled_object(metrics_api(world.url), pollingInterval=10, cooldownPeriod=60, **spec)
    await world.create(deployment(), wanted, autoscaler)
    await do_as_keda(world, 0, active=False)


async def test_beside_an_operator_like_itself_it_finds_nothing_and_writes_nothing(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=10, cooldownPeriod=60))
    async with shadow_of(world) as shadow:
        await world.seconds(60)
        world.jobs(13)
        await world.seconds(120)
        assert world.replicas() == 3
        world.jobs(0)
        await world.seconds(240)
        assert world.replicas() == 0
        assert (shadow.ledger.compared, shadow.ledger.found) == (1, 0)
        assert methods(shadow) == {"GET"}


async def test_work_that_the_other_side_does_not_see_is_told_with_both_reasons(quiet_world: World) -> None:
    world = quiet_world
    await be_keda(world)
    heard = world.writes_of(SCALED_OBJECTS)
    async with shadow_of(world) as shadow:
        await world.seconds(30)
        assert matters(shadow) == []
        world.jobs(3)
        await world.seconds(30)
        assert matters(shadow) == []
        await world.seconds(30)
        assert matters(shadow) == [Matter.REPLICAS, Matter.ACTIVE]
        told = next(shadow.ledger.holding()).claim
        assert told.ours.value == "1 replicas"
        assert "s0-metric-api-value 3" in told.ours.why
        assert (told.theirs.value, told.theirs.why) == ("0 replicas", "ScalerNotActive")
        assert (heard, world.replicas()) == ([], 0)
        await do_as_keda(world, 1, active=True)
        await world.seconds(20)
        assert matters(shadow) == []
        assert len(shadow.ledger.ended()) == 2


async def test_work_of_a_moment_that_only_we_would_have_seen_goes_through_our_cooldown(quiet_world: World) -> None:
    world = quiet_world
    await be_keda(world)
    async with shadow_of(world) as shadow:
        world.jobs(3)
        await world.seconds(12)
        world.jobs(0)
        await world.seconds(50)
        assert matters(shadow) == [Matter.REPLICAS]
        await world.seconds(40)
        assert matters(shadow) == []


async def test_another_hpa_and_a_trigger_that_only_one_side_can_read_are_told(quiet_world: World) -> None:
    world = quiet_world
    await be_keda(world)
    await world.patch(HORIZONTAL_POD_AUTOSCALERS, {"spec": {"maxReplicas": 9}}, "keda-hpa-app")
    del world.server.answers["/jobs"]
    async with shadow_of(world) as shadow:
        await world.seconds(90)
        holding = {one.claim.matter: one.claim for one in shadow.ledger.holding()}
        assert holding.keys() == {Matter.HPA, Matter.READY}
        assert "1 to 5 replicas" in holding[Matter.HPA].ours.value
        assert "1 to 9 replicas" in holding[Matter.HPA].theirs.value
        assert "404" in holding[Matter.READY].ours.why


async def test_scaled_jobs_are_compared_with_the_jobs_that_there_are(quiet_world: World) -> None:
    world = quiet_world
    await world.create(scaled_job(metrics_api(world.url), pollingInterval=10))
    heard = world.writes_of(SCALED_JOBS)
    async with shadow_of(world) as shadow:
        await world.seconds(30)
        assert (shadow.ledger.compared, matters(shadow)) == (1, [])
        world.jobs(3)
        await world.seconds(80)
        (one,) = shadow.ledger.holding()
        assert (one.claim.matter, one.claim.ours.value) == (Matter.JOBS, "1 more Jobs")
        assert "s0-metric-api-value 3" in one.claim.ours.why
        code, text = await report(shadow)
        assert (code, "scaledjob/default/work" in text) == (1, True)
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "theirs", "labels": LABEL}, "spec": WORK}
        await world.create(job)
        await world.seconds(20)
        assert matters(shadow) == []
        assert (world.all(JOBS)[0]["metadata"]["name"], len(world.all(JOBS)), heard) == ("theirs", 1, [])
        assert methods(shadow) == {"GET"}
        code, text = await report(shadow, "-o", "trace", "--object", "scaledjob/default/work")
        assert (code, [line.partition(",")[2] for line in text.splitlines()]) == (0, ["s0-metric-api-value", "0", "3"])


async def test_cpu_and_values_are_compared_by_the_hpa_that_both_would_have(quiet_world: World) -> None:
    world = quiet_world
    await be_keda(world)
    triggers = [metrics_api(world.url) | {"metricType": "Value"}, cpu(60)]
    await world.patch(SCALED_OBJECTS, {"spec": {"triggers": triggers}})
    async with shadow_of(world) as shadow:
        await world.seconds(60)
        (one,) = [one for one in shadow.ledger.holding() if one.claim.matter is Matter.HPA]
        assert "s0-metric-api-value Value 5" in one.claim.ours.value
        assert "cpu Utilization 60" in one.claim.ours.value
        assert methods(shadow) == {"GET"}


async def test_a_token_that_would_have_to_be_made_is_not_asked_for_and_that_is_told(quiet_world: World) -> None:
    world = quiet_world
    await world.create(authentication(boundServiceAccountToken=[{"parameter": "token", "serviceAccountName": "work"}]))
    await be_keda(world)
    trigger = metrics_api(world.url, authenticationRef={"name": "auth"})
    trigger["metadata"]["authMode"] = "bearer"
    await world.patch(SCALED_OBJECTS, {"spec": {"triggers": [trigger]}})
    async with shadow_of(world) as shadow:
        await world.seconds(120)
        (one,) = shadow.ledger.holding()
        assert (one.claim.matter, one.claim.ours.value, one.claim.theirs.value) == (Matter.READY, "not ready", "ready")
        assert methods(shadow) == {"GET"}
        assert "serviceaccounts/work/token: not sent, a shadow writes nothing" in one.claim.ours.why


async def test_a_paused_object_is_not_compared_and_one_that_cannot_be_built_is(quiet_world: World) -> None:
    world = quiet_world
    await be_keda(world)
    await world.annotate({"autoscaling.keda.sh/paused": "true"})
    async with shadow_of(world) as shadow:
        await world.seconds(60)
        assert [one.name for one in shadow.ledger.why_not] == ["app"]
        broken = {"spec": {"triggers": [{"type": "metrics-api", "metadata": {"url": world.url}}]}}
        await world.patch(SCALED_OBJECTS, broken)
        await world.annotate({"autoscaling.keda.sh/paused": None})
        await world.seconds(1)
        assert shadow.ledger.why_not == {}
        await world.delete(SCALED_OBJECTS)
        await world.seconds(1)
        assert shadow.ledger.compared == 0


@pytest.mark.parametrize(
    ("host", "code"), [("127.0.0.1:1", 200), ("[::1]:1", 200), ("localhost", 200), ("evil.example", 403), ("", 403)]
)
async def test_the_report_is_for_this_machine_alone(host: str, code: int, quiet_world: World) -> None:
    async with shadow_of(quiet_world) as shadow, httpx.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{shadow.report_port}/report", headers={"Host": host})
        assert answer.status_code == code


async def test_the_command_prints_both_sides_and_says_by_its_exit_code_if_they_agree(quiet_world: World) -> None:
    world = quiet_world
    await be_keda(world)
    world.jobs(3)
    async with shadow_of(world) as shadow:
        code, text = await report(shadow)
        assert (code, "no disagreement" in text) == (0, True)
        await world.seconds(60)
        code, text = await report(shadow)
        assert code == 1
        assert "default/app" in text
        assert "1 replicas: Activ" in text
        assert "0 replicas: ScalerNotActive" in text
        code, text = await report(shadow, "-o", "json")
        assert [one["matter"] for one in orjson.loads(text)["holding"]] == ["Replicas", "Active"]


async def test_another_server_at_that_address_is_no_shadow_and_an_object_without_a_trace_is_named(
    server: HttpServer,
) -> None:
    server.answers["/report"] = "<html>"
    at = ["report", "--address", server.url.removeprefix("http://")]
    with pytest.raises(Unavailable, match="answers no report; is `keda-py operator --shadow` at work there"):
        await asyncio.to_thread(shadow_command, at)
    with pytest.raises(ConfigError, match="--object: nothing is recorded of 'shop/app'"):
        await asyncio.to_thread(shadow_command, [*at, "-o", "trace", "--object", "shop/app"])


async def report(shadow: Shadow, *flags: str) -> tuple[int, str]:
    address = f"127.0.0.1:{shadow.report_port}"
    done = await asyncio.to_thread(run, ["shadow", "report", "--address", address, *flags])
    return done.returncode, done.stdout + done.stderr
