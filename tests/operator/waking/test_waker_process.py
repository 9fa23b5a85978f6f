"""Wakers as processes of their own, killed by SIGKILL: what they held ends, and no slice leads to them any more."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from keda_py.kube.resources import ENVIRONMENTS
from tests.builders import deployment, environment, override
from tests.certificates import Authority
from tests.operator.replicas import Replicas
from tests.operator.waking.proxy import ServiceProxy
from tests.operator.waking.stand_in import SERVICE, StandInWaker, our_slices, service, waker_address, waker_slice
from tests.servers import free_port
from tests.waiting import eventually

ADDRESS = "127.96.0.20"
START_SECONDS = 120.0
"""For a process that starts beside five others, and for what is seen of its death: no bound of the product."""


@asynccontextmanager
async def waker_process(
    folder: Path, kubeconfig: Path, name: str, address: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A waker as the image runs it, once it follows the slices. The operator cannot be called; nothing here wakes."""
    health = free_port()
    flags = {
        "kubeconfig": kubeconfig,
        "operator-url": "https://127.0.0.1:1",
        "operator-ca-file": folder / "ca.crt",
        "bind-address": address,
        "metrics-bind-address": "0",
        "health-probe-bind-address": f"{address}:{health}",
    }
    command = (sys.executable, "-m", "keda_py", "waker", *(f"--{flag}={value}" for flag, value in flags.items()))
    env = {**os.environ, "POD_NAME": name, "POD_IP": address}
    process = await asyncio.create_subprocess_exec(*command, env=env)
    try:
        await eventually(lambda: _answers(address, health), START_SECONDS)
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _answers(host: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    return True


@dataclass
class Clients:
    """Clients of a database: they connect, say nothing, and wait for the server's greeting."""

    tasks: asyncio.TaskGroup
    begun: int = 0
    ended: int = 0

    async def connect(self, host: str, port: int) -> None:
        """Open one more."""
        reader, writer = await asyncio.open_connection(host, port)
        self.begun += 1
        self.tasks.create_task(self._wait(reader, writer))

    async def _wait(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.read()
        self.ended += 1
        writer.close()


def shown(replicas: Replicas) -> set[str]:
    """The addresses to which our slices lead."""
    return {one["addresses"][0] for live in our_slices(replicas) for one in live.get("endpoints") or ()}


async def test_what_a_killed_waker_held_ends_and_new_connections_go_to_the_other_one(
    tmp_path: Path, replicas: Replicas
) -> None:
    (tmp_path / "ca.crt").write_text(Authority().cert)
    port = free_port()
    first, second = waker_address(1), waker_address(2)
    await replicas.start("one", waker_service=SERVICE)
    async with (
        waker_process(tmp_path, replicas.kubeconfig, "waker-1", first) as doomed,
        waker_process(tmp_path, replicas.kubeconfig, "waker-2", second) as other,
        asyncio.TaskGroup() as tasks,
    ):
        proxy, clients = ServiceProxy(replicas.client), Clients(tasks)
        proxying = tasks.create_task(proxy.run())
        await replicas.apply(waker_slice([StandInWaker("waker-1", first), StandInWaker("waker-2", second)]))
        ports = [{"name": "database", "port": port, "targetPort": 3306}]
        # With Confirm a connection is held and wakes nothing, so that there is time to kill.
        wakes = environment(wakeOnRequest={"page": "Confirm"})
        await replicas.create(deployment("web", 1), service(address=ADDRESS, ports=ports), wakes)
        await replicas.create(override(state="Asleep", target={"kind": "Environment", "name": "dev"}))
        await eventually(lambda: replicas.replicas("web") == 0 and shown(replicas) == {first, second}, START_SECONDS)
        await eventually(lambda: len(proxy.targets("default", "web")) == 2)

        (live,) = our_slices(replicas)
        for address in (first, first, first, second, second):
            await clients.connect(address, live["ports"][0]["port"])

        doomed.kill()
        await eventually(lambda: shown(replicas) == {second}, START_SECONDS)
        await eventually(lambda: clients.ended == 3)
        await eventually(lambda: {host for host, _ in proxy.targets("default", "web")} == {second})
        await clients.connect(ADDRESS, port)
        await eventually(lambda: proxy.open == 1)
        assert (clients.ended, clients.begun) == (3, 6)

        other.kill()  # none is left, and their pods still count as ready
        await eventually(lambda: shown(replicas) == set(), START_SECONDS)
        await eventually(lambda: [one["reason"] for one in not_woken(replicas)] == ["NoWaker"])
        await eventually(lambda: clients.ended == clients.begun)
        proxying.cancel()


def not_woken(replicas: Replicas) -> list[dict[str, str]]:
    """What the status of the Environment says about Services that no request wakes."""
    status = replicas.get(ENVIRONMENTS, "dev").get("status") or {}
    found: list[dict[str, str]] = (status.get("wakeOnRequest") or {}).get("notWoken") or []
    return found
