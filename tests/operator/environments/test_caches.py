"""Without their CRDs environments are off: one log line, and the operator does all else."""

import asyncio
import logging
from pathlib import Path

import pytest

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from keda_py.operator.environments.known.caches import EnvironmentCaches
from tests.builders import deployment, metrics_api, scaled_object
from tests.definitions import DEFINITIONS
from tests.kube.faulty_server import write_kubeconfig
from tests.servers import LOOPBACK, free_port
from tests.worlds.world import World


async def test_without_its_definitions_it_says_so_once_and_scales_as_ever(
    quiet_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world = quiet_world
    for definition in DEFINITIONS:
        if definition["spec"]["group"] == "keda-py.dev":
            await world.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])
    with caplog.at_level(logging.INFO):
        await world.operator.start()
        world.jobs(10)
        await world.create(deployment(), scaled_object(metrics_api(world.url)))
        await world.seconds(30)
    assert world.replicas() >= 1
    assert [one for one in caplog.messages if "environments are off" in one] == [
        "environments are off: their crds are not installed; `keda-py crds` prints them"
    ]
    assert "watch failing" not in caplog.messages


async def test_what_leads_does_not_wait_for_an_answer_that_does_not_come(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", f"http://{LOOPBACK}:{free_port()}")
    async with KubeClient(SystemClock(), kubeconfig) as client, asyncio.TaskGroup() as tasks:
        caches = EnvironmentCaches(client, ())
        running = tasks.create_task(caches.run())
        async with asyncio.timeout(10):
            await caches.tried()
        assert not caches.installed
        running.cancel()
