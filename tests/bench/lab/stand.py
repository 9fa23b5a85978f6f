"""A Redis, a cluster and an operator, each a process, for as long as a bench runs."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from keda_py.clock import SystemClock
from keda_py.errors import NotFound
from keda_py.external_metrics.discovery import APIS
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import (
    API_SERVICES,
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    NAMESPACES,
    SCALED_OBJECTS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Obj,
)
from tests.bench.lab.options import Options
from tests.bench.lab.processes import LOOPBACK, START_SECONDS, free_port, keda_py, said, start_process, until
from tests.builders import a_namespace, bare_scaled_object, deployment

NAMESPACE, WEBHOOKS = "bench", "keda-admission"
STARTED = "operator started", START_SECONDS
_LATENESS, _READ = "keda_internal_scale_loop_latency_seconds", "keda_scaler_active{"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """What a bench talks to, and the process that it measures."""

    client: KubeClient
    redis: Redis
    redis_port: int
    kubeconfig: Path
    operator: int
    secure_port: int
    metrics_port: int
    webhook_port: int

    async def add_deployments(self, count: int) -> None:
        await self.client.create(NAMESPACES, a_namespace(NAMESPACE))
        await each(count, lambda i: self.client.create(DEPLOYMENTS, deployment(f"d{i}", namespace=NAMESPACE)))

    async def add_scaled_objects(self, count: int, interval: int, trigger: Obj | None = None) -> None:
        """`trigger` None: each has a Redis list of its own."""
        await each(count, lambda i: self.add_scaled_object(i, interval, trigger))

    async def add_scaled_object(self, index: int, interval: int, trigger: Obj | None = None) -> None:
        body = _scaled_object(index, interval, trigger or self.list_trigger(index, self.redis_port))
        await self.client.create(SCALED_OBJECTS, body)

    def list_trigger(self, index: int, port: int) -> Obj:
        """On the list of that object, asked for at a port of the loopback."""
        return {
            "type": "redis",
            "metadata": {"address": f"{LOOPBACK}:{port}", "listName": f"q{index}", "listLength": "5"},
        }

    async def until_ready(self, count: int, is_done: Callable[[Obj], bool] | None = None) -> None:
        """Until so many ScaledObjects are Ready, or `is_done`, and have their HPA.

        Both are watched: lists of all objects every half second cost more the more objects there are and the longer
        they take, on the cores that are measured.
        """
        done, judge = set[str](), is_done or is_ready
        scaled_objects, hpas = (
            Informer(self.client, InformerSpec(resource=one, namespaces=(NAMESPACE,)))
            for one in (SCALED_OBJECTS, HORIZONTAL_POD_AUTOSCALERS)
        )

        def note(old: Obj | None, new: Obj | None) -> None:
            name = (new or old or {})["metadata"]["name"]
            (done.add if new is not None and judge(new) else done.discard)(name)

        async def all_done() -> bool:
            return min(len(done), len(hpas)) >= count

        scaled_objects.subscribe(note)
        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(one.run()) for one in (scaled_objects, hpas)]
            await until(all_done, f"{count} ScaledObjects", 1800.0)
            for task in following:
                task.cancel()

    async def count_ready(self) -> int:
        """ScaledObjects that are Ready and have their HPA, the fewer of both."""
        found = await self.client.list(SCALED_OBJECTS, NAMESPACE)
        hpas = await self.client.list(HORIZONTAL_POD_AUTOSCALERS, NAMESPACE)
        return min(sum(map(is_ready, found)), len(hpas))

    async def metric_names(self) -> list[tuple[str, str]]:
        """(ScaledObject, metric) as the HPA controller asks for them."""
        found = await self.client.list(SCALED_OBJECTS, NAMESPACE)
        return [(one["metadata"]["name"], one["status"]["externalMetricNames"][0]) for one in found]

    async def replicas(self, name: str) -> int:
        return int((await self.client.get(DEPLOYMENTS.named(NAMESPACE, name)))["spec"].get("replicas", 0))

    async def lateness(self) -> dict[str, float]:
        """Seconds that the last planned poll of each ScaledObject began too late, by name.

        A poll that was answered early, together with another object's, is not among them.
        """
        lines = "\n".join([line for line in await self._page() if _LATENESS in line]) + "\n"
        return {
            sample.labels["resource"]: sample.value
            for family in text_string_to_metric_families(lines)
            for sample in family.samples
        }

    async def count_seen(self) -> int:
        """ScaledObjects, of one trigger each, whose trigger the operator has read."""
        return sum(line.startswith(_READ) for line in await self._page())

    async def _page(self) -> list[str]:
        async with httpx.AsyncClient(trust_env=False, timeout=60.0) as client:
            page = await client.get(f"http://{LOOPBACK}:{self.metrics_port}/metrics")
        return page.text.splitlines()


@asynccontextmanager
async def build_stand(options: Options) -> AsyncIterator[Stand]:
    """Start everything; the operator comes last and has nothing to do yet. Raises RuntimeError.

    With `options.kubeconfig` the cluster is there already, with our CRDs and no other operator; the namespace of the
    bench is deleted at the end.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        kubeconfig = options.kubeconfig or await start_cluster(stack, folder)
        yield await build_stand_on(stack, folder, options, kubeconfig, kubeconfig)


async def build_stand_on(
    stack: AsyncExitStack,
    folder: Path,
    options: Options,
    kubeconfig: Path,
    operators: Path,
    more: Sequence[str] = (),
) -> Stand:
    """Redis and an operator beside a cluster that stands; `operators` is the kubeconfig that the operator goes by."""
    client = await stack.enter_async_context(KubeClient(SystemClock(), str(kubeconfig)))
    redis, redis_port = await _start_redis(stack, folder)
    secure_port, metrics_port, webhook_port = free_port(), free_port(), free_port()
    if options.kubeconfig:
        stack.push_async_callback(_forget_registration, client)
    operator = await start_operator(
        stack, folder, operators, (secure_port, metrics_port), (f"--webhook-port={webhook_port}", *more)
    )
    if options.kubeconfig:  # while the operator runs: each ScaledObject has its finalizer
        stack.push_async_callback(_forget_namespace, client)
    return Stand(
        client=client,
        redis=redis,
        redis_port=redis_port,
        kubeconfig=kubeconfig,
        operator=operator,
        secure_port=secure_port,
        metrics_port=metrics_port,
        webhook_port=webhook_port,
    )


async def start_cluster(stack: AsyncExitStack, folder: Path) -> Path:
    """`keda-py local --no-operator`, ready; its kubeconfig."""
    _, kubeconfig = await start_cluster_process(stack, folder)
    return kubeconfig


async def start_cluster_process(stack: AsyncExitStack, folder: Path) -> tuple[int, Path]:
    """The same with its pid, for a bench that tells the operator's CPU from the cluster's."""
    log, kubeconfig = folder / "local.log", folder / "kubeconfig"
    pid = await start_process(stack, log, *keda_py("local", "--no-operator", "--kubeconfig", str(kubeconfig)))
    await until(lambda: said(log, "embedded cluster is ready"), "the embedded cluster")
    return pid, kubeconfig


async def start_operator(
    stack: AsyncExitStack,
    folder: Path,
    kubeconfig: Path,
    ports: tuple[int, int],
    more: Sequence[str] = (),
    begun: tuple[str, float] = STARTED,
) -> int:
    """`keda-py operator` on that cluster, with `more` flags, its caches synced; its pid.

    `ports` are the one of its API and the one of its metrics. Raises RuntimeError if it does not say what `begun` has
    within so many seconds.
    """
    port, metrics_port = ports
    log = folder / f"operator-{port}.log"
    flags = [
        f"--kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--metrics-bind-address={LOOPBACK}:{metrics_port}",
        "--health-probe-bind-address=0",
        f"--register=https://{LOOPBACK}:{port}",
        "--zap-encoder=json",
        *more,
    ]
    pid = await start_process(stack, log, *keda_py("operator", *flags))
    words, seconds = begun
    await until(lambda: said(log, words), "the operator", seconds)
    return pid


async def each(count: int, work: Callable[[int], Awaitable[Any]], at_once: int = 32) -> None:
    """`work` for 0 to count - 1, so many at once."""
    gate = asyncio.Semaphore(at_once)

    async def one(index: int) -> None:
        async with gate:
            await work(index)

    await asyncio.gather(*map(one, range(count)))


async def _forget_namespace(client: KubeClient) -> None:
    async def gone() -> bool:
        try:
            await client.delete(NAMESPACES.named("", NAMESPACE))
        except NotFound:
            return True
        return False

    await until(gone, f"the end of namespace {NAMESPACE}", 600.0, pause=1.0)


async def _forget_registration(client: KubeClient) -> None:
    """The two APIs would hold up the deletion of any namespace where no operator answers for them."""
    for path in (
        *(API_SERVICES.named("", api.service_name) for api in APIS),
        VALIDATING_WEBHOOK_CONFIGURATIONS.named("", WEBHOOKS),
    ):
        with suppress(NotFound):
            await client.delete(path)


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


def is_ready(scaled_object: Obj) -> bool:
    """Whether condition Ready is True."""
    conditions = scaled_object.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def has_verdict(scaled_object: Obj) -> bool:
    """Whether the HPA has said whether it scales: condition HPAActive, the last that a new object gets."""
    return any(one["type"] == "HPAActive" for one in scaled_object.get("status", {}).get("conditions", []))


def _scaled_object(index: int, interval: int, trigger: Obj) -> Obj:
    spec: Obj = {"minReplicaCount": 0, "maxReplicaCount": 10, "pollingInterval": interval, "cooldownPeriod": 5}
    return bare_scaled_object(trigger, name=f"d{index}", namespace=NAMESPACE, **spec)
