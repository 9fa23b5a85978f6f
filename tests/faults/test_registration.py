"""What leads the API server to us: deleted, hijacked, given away; and an API server that is not ready to take it."""

import asyncio
import base64
from pathlib import Path
from typing import Any

from keda_py.kube.client import PatchKind
from keda_py.kube.resources import API_SERVICES, SERVICES, VALIDATING_WEBHOOK_CONFIGURATIONS, Obj, ObjectPath
from keda_py.operator.registration import OWNED
from tests.faults.faulty import refuses, writes
from tests.faults.ordeal import Ordeal, go_through, ordeal
from tests.servers import free_port
from tests.worlds.world import World

METRICS = API_SERVICES.named("", "v1beta1.external.metrics.k8s.io")
INSIGHT = API_SERVICES.named("", "v1alpha1.insight.keda-py.dev")
WEBHOOKS = VALIDATING_WEBHOOK_CONFIGURATIONS.named("", "keda-admission")
SERVICE = SERVICES.named("keda", "keda-metrics-apiserver")
SERVED = {"metrics": METRICS, "insight": INSIGHT, "service": SERVICE}
PATHS = {**SERVED, "webhooks": WEBHOOKS}

OTHER_CA = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n").decode()
CHANGES: dict[str, tuple[ObjectPath, Any]] = {
    "another service": (METRICS, {"spec": {"service": {"namespace": "datadog", "name": "adapter"}}}),
    "another port": (METRICS, {"spec": {"service": {"port": 1}}}),
    "no verification": (METRICS, {"spec": {"caBundle": None, "insecureSkipTLSVerify": True}}),
    "another address": (SERVICE, {"spec": {"externalName": "elsewhere.example"}}),
    "no webhooks": (WEBHOOKS, {"webhooks": []}),
}
WITHOUT_LABEL = {"metadata": {"labels": {next(iter(OWNED)): "Helm"}}}
ELSEWHERE = {"spec": {"service": {"namespace": "datadog", "name": "adapter"}}}


def content(world: World, path: ObjectPath) -> Obj | None:
    """What counts of it; None where there is none."""
    kind = next(r for r in (API_SERVICES, SERVICES, VALIDATING_WEBHOOK_CONFIGURATIONS) if r.plural in path.path)
    found = world.find(kind, path.path.rpartition("/")[2], "keda")
    return None if found is None else {key: found.get(key) for key in ("spec", "webhooks")}


def test_what_somebody_deleted_is_there_again(tmp_path: Path) -> None:
    async def scenario(one: Ordeal) -> None:
        for name, path in PATHS.items():
            before = content(one.world, path)
            assert before is not None, name
            await one.world.client.delete(path)
            assert content(one.world, path) != before, name
            assert await seconds_until(one, path, before) <= 2, name
        assert one.shouts.records == []

    go_through(scenario, tmp_path, {"webhook-port": str(free_port())})


def test_what_somebody_changed_is_taken_back(tmp_path: Path) -> None:
    async def scenario(one: Ordeal) -> None:
        for name, (path, change) in CHANGES.items():
            before = content(one.world, path)
            await one.world.client.patch(path, change, PatchKind.MERGE)
            assert content(one.world, path) != before, name
            assert await seconds_until(one, path, before) <= 2, name

    go_through(scenario, tmp_path, {"webhook-port": str(free_port())})


async def seconds_until(one: Ordeal, path: ObjectPath, wanted: Obj | None) -> float:
    return await one.until(lambda: content(one.world, path) == wanted)


@ordeal
async def test_what_was_given_to_somebody_else_is_left_to_him_and_that_is_said_once(one: Ordeal) -> None:
    before = content(one.world, METRICS)
    await one.world.client.patch(METRICS, ELSEWHERE | WITHOUT_LABEL, PatchKind.MERGE)
    after = content(one.world, METRICS)
    await one.live(30)
    assert content(one.world, METRICS) == after
    (said,) = one.shouts.records
    error = said.__dict__["error"]
    assert said.levelname == "ERROR"
    assert "metadata.labels[app.kubernetes.io/managed-by] is 'Helm'" in error
    assert "set it to 'keda-py' to have it put right" in error
    await one.world.client.patch(METRICS, {"metadata": {"labels": OWNED}}, PatchKind.MERGE)
    assert await one.until(lambda: content(one.world, METRICS) == before) <= 2


@ordeal
async def test_a_start_takes_over_what_keda_left(one: Ordeal) -> None:
    await one.world.operator.stop()
    before = content(one.world, METRICS)
    await one.world.client.patch(METRICS, ELSEWHERE | WITHOUT_LABEL, PatchKind.MERGE)
    await one.world.operator.start()
    after = content(one.world, METRICS)
    assert before is not None
    assert after is not None
    assert after["spec"]["service"]["name"] == before["spec"]["service"]["name"]


@ordeal
async def test_a_start_waits_for_an_api_server_that_takes_no_writes_yet(one: Ordeal) -> None:
    await one.world.operator.stop()
    for path in SERVED.values():
        await one.world.client.delete(path)
    async with asyncio.TaskGroup() as tasks:
        with one.api.failing(refuses(503, "ServiceUnavailable"), writes):
            starting = tasks.create_task(one.world.operator.start())
            await one.live(10)
            assert not starting.done()
    assert content(one.world, METRICS) is not None
    assert len(one.shouts.said("cannot register yet")) == 1
