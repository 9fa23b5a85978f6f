"""An object whose reading ends or hangs the process does so once; then it is held back, and the others are scaled.

Real processes, each started again as the kubelet does it: in its pod, where the journal of the one before still is.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS, Obj
from keda_py.operator.process.hang import EXIT_CODE
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.processes import STARTED, Process
from tests.hostile.poison import install
from tests.http_server import HttpServer, http_server
from tests.operator.replicas import FAST, Replicas, build_replicas
from tests.waiting import eventually

PATIENCE = 90.0
"""Seconds; the machine may be short of CPU, and what hangs is counted in CPU time."""


class Pods:
    """Pods of the operator by name, and two tenants: `app` is the ordinary one's, `poison` the other one's."""

    def __init__(self, replicas: Replicas, folder: Path) -> None:
        self.replicas = replicas
        self._folder = folder
        self._env = FAST | install(folder / "site")
        self.processes: dict[str, Process] = {}

    async def start(self, name: str) -> Process:
        """Start its container, for the first time or again."""
        env = self._env | {"KEDA_PY_STATE_DIR": str(self._folder / name)}
        process = self.processes[name] = await self.replicas.spawn(name, env)
        return process

    async def leads(self, name: str) -> None:
        await asyncio.to_thread(self.processes[name].wait_for, STARTED, PATIENCE)

    async def ended(self, name: str) -> int:
        """The exit code of one that ends by itself."""
        return await asyncio.to_thread(self.processes[name].wait, PATIENCE)

    async def create_app(self) -> None:
        app = scaled_object(metrics_api(self.replicas.url), pollingInterval=1, cooldownPeriod=1)
        await self.replicas.create(deployment(), app)
        await self.replicas.until_condition("Active", "False")

    async def create_poison(self, harm: str) -> None:
        trigger = {"type": "poison", "metadata": {"harm": harm}}
        await self.replicas.create(deployment("poison"), scaled_object(trigger, name="poison", cooldownPeriod=300))

    async def mend(self) -> None:
        change = {"spec": {"triggers": [{"type": "poison", "metadata": {}}]}}
        await self.replicas.client.patch(SCALED_OBJECTS.named("default", "poison"), change)

    async def ready(self) -> Obj:
        """The Ready condition of the poison."""
        live = await self.replicas.client.get(SCALED_OBJECTS.named("default", "poison"))
        listed = (live.get("status") or {}).get("conditions") or ()
        return next((one for one in listed if one["type"] == "Ready"), {})

    async def holds_it_back(self) -> str:
        """Return once that is said; the message."""

        async def is_said() -> bool:
            return (await self.ready()).get("reason") == "ScaledObjectHeldBack"

        await eventually(is_said, PATIENCE)
        return str((await self.ready())["message"])

    async def scales_the_other(self) -> None:
        """Up and down."""
        for count in (1, 0):
            self.replicas.jobs(count)
            await self.replicas.scaled_to(count, PATIENCE)

    async def poison_replicas(self) -> int:
        live = await self.replicas.client.get(DEPLOYMENTS.named("default", "poison"))
        return int(live["spec"]["replicas"])


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


@pytest.fixture
async def pods(tmp_path: Path, server: HttpServer) -> AsyncIterator[Pods]:
    async with build_replicas(tmp_path, server) as replicas:
        yield Pods(replicas, tmp_path)


HARMS: dict[str, tuple[str, int, str, list[str]]] = {
    "a fault in native code": ("fault", -signal.SIGSEGV, "once", ["Segmentation fault", "poison_scaler.py"]),
    "a loop without end": ("hang", EXIT_CODE, "2 times", ["the event loop hangs", "poison_scaler.py"]),
    "native code without end": ("native hang", signal.SIGPROF, "once", ["poison_scaler.py"]),
}


@pytest.mark.parametrize(("harm", "code", "times", "words"), HARMS.values(), ids=HARMS)
async def test_one_object_ends_one_process_and_the_other_tenant_is_scaled(
    pods: Pods, harm: str, code: int, times: str, words: list[str]
) -> None:
    first = await pods.start("one")
    await pods.leads("one")
    await pods.create_app()
    await pods.create_poison(harm)
    assert await pods.ended("one") == code
    for word in words:
        assert word in first.output()
    second = await pods.start("one")
    message = await pods.holds_it_back()
    assert message.startswith(f"held back: work on it has ended the operator's process {times}. It is tried again")
    await pods.scales_the_other()
    assert await pods.poison_replicas() == 0
    await pods.mend()
    await eventually(lambda: _is(pods.poison_replicas, 1), PATIENCE)
    assert second.alive


async def test_each_replica_dies_of_it_once_at_most(pods: Pods) -> None:
    """It hangs the leader; the one that takes over hangs as well; then both know."""
    for name in ("one", "two"):
        await pods.start(name)
    await eventually(pods.replicas.holder, PATIENCE)
    leader = pods.replicas.holder()
    follower = "two" if leader == "one" else "one"
    await pods.leads(leader)
    await pods.create_app()
    await pods.create_poison("hang")
    assert await pods.ended(leader) == EXIT_CODE
    assert await pods.ended(follower) == EXIT_CODE
    for name in (leader, follower):
        await pods.start(name)
    await pods.holds_it_back()
    await pods.scales_the_other()
    assert all(process.alive for process in pods.processes.values())


async def test_a_process_that_was_stopped_for_longer_than_its_lease_goes_on(pods: Pods) -> None:
    first = await pods.start("one")
    await pods.leads("one")
    await pods.create_app()
    first.freeze()
    second = await pods.start("two")
    await pods.leads("two")
    first.thaw()
    await asyncio.to_thread(second.end)
    await pods.replicas.held_by("one", PATIENCE)
    await pods.scales_the_other()
    assert first.alive
    assert "the event loop hangs" not in first.output()


async def _is(look: Any, wanted: object) -> bool:
    return bool(await look() == wanted)
