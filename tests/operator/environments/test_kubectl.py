"""What people and pipelines call on an Environment: the real kubectl."""

import asyncio
from pathlib import Path

import pytest

from tests.builders import environment, override
from tests.localkube.kubectl import Kubectl, needs_kubectl
from tests.operator.environments.builders import starting, until
from tests.worlds.world import World

pytestmark = [pytest.mark.kubectl, needs_kubectl]


@pytest.fixture
def kubectl(world: World, tmp_path: Path) -> Kubectl:
    return Kubectl(kubeconfig=world.kubeconfig, cache=tmp_path / "cache")


async def test_a_pipeline_waits_until_a_sleeping_environment_is_ready(world: World, kubectl: Kubectl) -> None:
    await world.create(starting("web", 2, 5), environment())
    await until(world, 20, "18:05")
    wait = ("wait", "--for=condition=Ready", "environment/dev")
    early = await kubectl.try_run(*wait, "--timeout=1s")
    assert (early.code, "timed out waiting" in early.err) == (1, True)
    async with kubectl.started(*wait, "--timeout=10m") as waiting, asyncio.timeout(kubectl.timeout):
        await world.create(override(state="Awake", **{"for": "1h"}))
        await world.seconds(4)
        assert waiting.returncode is None
        await world.seconds(6)
        out, err = await waiting.communicate()
    assert (waiting.returncode, out, err) == (0, b"environment.keda-py.dev/dev condition met\n", b"")
