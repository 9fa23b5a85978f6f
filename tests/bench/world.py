"""A Redis, an embedded cluster and an operator, each a process, for as long as a bench runs."""

import asyncio
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, NAMESPACES, SCALED_OBJECTS, Obj
from tests.builders import a_namespace, bare_scaled_object, deployment

NAMESPACE = "bench"
LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a bench talks to, and the process that it measures."""

    client: KubeClient
    redis: Redis
    redis_port: int
    kubeconfig: Path
    operator: int
    secure_port: int
    page: int = 0
    """The port of its own metrics."""

    async def add_deployments(self, count: int) -> None:
        await self.client.create(NAMESPACES, a_namespace(NAMESPACE))
        await _each(count, lambda i: self.client.create(DEPLOYMENTS, deployment(f"d{i}", namespace=NAMESPACE)))

    async def add_scaled_objects(self, count: int, interval: int, trigger: dict[str, object] | None = None) -> None:
        """`trigger` None: each has a Redis list of its own."""

        async def add(index: int) -> None:
            await self.client.create(SCALED_OBJECTS, _scaled_object(index, interval, trigger or self._list(index)))

        await _each(count, add)

    def _list(self, index: int) -> dict[str, object]:
        address = f"{LOOPBACK}:{self.redis_port}"
        return {"type": "redis", "metadata": {"address": address, "listName": f"q{index}", "listLength": "5"}}

    async def count_ready(self) -> int:
        """ScaledObjects that are Ready and have their HPA, the fewer of both."""
        found = await self.client.list(SCALED_OBJECTS, NAMESPACE)
        hpas = await self.client.list(HORIZONTAL_POD_AUTOSCALERS, NAMESPACE)
        return min(sum(map(_is_ready, found)), len(hpas))

    async def metric_names(self) -> list[tuple[str, str]]:
        """(ScaledObject, metric) as the HPA controller asks for them."""
        found = await self.client.list(SCALED_OBJECTS, NAMESPACE)
        return [(one["metadata"]["name"], one["status"]["externalMetricNames"][0]) for one in found]

    async def replicas(self, name: str) -> int:
        return int((await self.client.get(DEPLOYMENTS.named(NAMESPACE, name)))["spec"].get("replicas", 0))


@asynccontextmanager
async def build_world() -> AsyncIterator[World]:
    """Start everything; the operator comes last and has nothing to do yet. Raises RuntimeError."""
    async with build_crew(1) as (world,):
        yield world


@asynccontextmanager
async def build_crew(count: int, *more: str) -> AsyncIterator[tuple[World, ...]]:
    """The same with so many operators, each given `more` flags: one world, as each of them sees it."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        redis, redis_port = await _start_redis(stack, folder)
        kubeconfig, ports = folder / "kubeconfig", [free_port() for _ in range(count)]
        pages = [free_port() for _ in range(count)]
        await start_cluster(stack, folder, kubeconfig)
        flags = [(f"--metrics-bind-address={LOOPBACK}:{page}", *more) if more else () for page in pages]
        starts = [start_operator(stack, folder, kubeconfig, port, *flags[i]) for i, port in enumerate(ports)]
        operators = await asyncio.gather(*starts)
        client = await stack.enter_async_context(KubeClient(SystemClock(), str(kubeconfig)))
        yield tuple(
            World(
                client=client,
                redis=redis,
                redis_port=redis_port,
                kubeconfig=kubeconfig,
                operator=operator,
                secure_port=port,
                page=page,
            )
            for operator, port, page in zip(operators, ports, pages, strict=True)
        )


async def start_cluster(stack: AsyncExitStack, folder: Path, kubeconfig: Path) -> None:
    """`keda-py local --no-operator`, ready."""
    log = folder / "local.log"
    await start_process(stack, log, *keda_py("local", "--no-operator", "--kubeconfig", str(kubeconfig)))
    await until(lambda: _said(log, "embedded cluster is ready"), "the embedded cluster")


async def start_operator(stack: AsyncExitStack, folder: Path, kubeconfig: Path, port: int, *more: str) -> int:
    """`keda-py operator` on that cluster, with `more` flags, its caches synced; its pid."""
    log = folder / f"operator-{port}.log"
    flags = [
        f"--kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        "--webhook-port=0",
        *(() if any(flag.startswith("--metrics-bind") for flag in more) else ("--metrics-bind-address=0",)),
        "--health-probe-bind-address=0",
        f"--register=https://{LOOPBACK}:{port}",
        "--zap-encoder=json",
        *more,
    ]
    pid = await start_process(stack, log, *keda_py("operator", *flags))
    await until(lambda: _said(log, "operator started"), "the operator")
    return pid


def keda_py(*arguments: str) -> tuple[str, ...]:
    """The command line of this very checkout."""
    return (sys.executable, "-m", "keda_py", *arguments)


async def start_process(stack: AsyncExitStack, log: Path, *command: str) -> int:
    """Run until the stack ends, output into `log`; its pid."""
    output = stack.enter_context(log.open("wb"))
    process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output)

    async def stop() -> None:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()

    stack.push_async_callback(stop)
    return process.pid


async def until(
    holds: Callable[[], Awaitable[bool]], what: str, seconds: float = START_SECONDS, pause: float = 0.1
) -> None:
    """Wait for a condition. Raises RuntimeError that names what did not come."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():
                await asyncio.sleep(pause)
    except TimeoutError:
        raise RuntimeError(f"{what} was not ready within {seconds:g} s") from None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


async def _start_redis(stack: AsyncExitStack, folder: Path) -> tuple[Redis, int]:
    if which("redis-server") is None:
        raise RuntimeError("redis-server is not installed (apt: redis-server)")
    port = free_port()
    flags = ("--port", str(port), "--save", "", "--dir", str(folder))
    await start_process(stack, folder / "redis.log", "redis-server", *flags)
    client = Redis(host=LOOPBACK, port=port)
    stack.push_async_callback(client.aclose)

    async def answers() -> bool:
        try:
            return bool(await client.ping())
        except RedisConnectionError:
            return False

    await until(answers, "redis-server")
    return client, port


async def _said(log: Path, text: str) -> bool:
    return text in await asyncio.to_thread(log.read_text, errors="replace")


async def _each(count: int, work: Callable[[int], Awaitable[Any]], at_once: int = 32) -> None:
    gate = asyncio.Semaphore(at_once)

    async def one(index: int) -> None:
        async with gate:
            await work(index)

    await asyncio.gather(*map(one, range(count)))


def _is_ready(scaled_object: dict[str, Any]) -> bool:
    conditions = scaled_object.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _scaled_object(index: int, interval: int, trigger: dict[str, object]) -> Obj:
    spec = {"minReplicaCount": 0, "maxReplicaCount": 10, "pollingInterval": interval, "cooldownPeriod": 5}
    return bare_scaled_object(trigger, name=f"d{index}", namespace=NAMESPACE, **spec)
