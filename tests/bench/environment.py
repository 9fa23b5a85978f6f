"""Environment: n Deployments are put to sleep by an Override and woken again; seconds for both, writes in between.

With --kubeconfig on a cluster of yours, with --running by the operator that runs there, else by one of ours. Where no
node runs pods, --imitate-kubelet makes them ready by their status, 5 s after they were made.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from keda_py.clock import SystemClock
from keda_py.core.values.times import parse_time, write_time
from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, NAMESPACES, OVERRIDES, PODS, Obj
from tests.bench.lab.figures import Row, cpu_seconds
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import free_port, until
from tests.bench.lab.stand import each, start_cluster, start_operator
from tests.builders import a_namespace, obj, usage, workload

NAMESPACE, NAME, NIGHT = "keda-py-bench", "bench", "night"
GROUP = "keda-py.dev/v1alpha1"
POD_SECONDS = 5
LONGEST_SECONDS = 300.0
KUBELET_SECONDS = 0.25
"""Between two looks of the imitated kubelet."""
OPEN_ALWAYS = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The cluster, and the operator's pid where it is ours."""

    client: KubeClient
    operator: int | None = None

    def cpu(self) -> float:
        return 0.0 if self.operator is None else cpu_seconds(self.operator)


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """The whole measurement; the namespace is gone afterwards."""
    async with _site(options) as site, asyncio.TaskGroup() as tasks:
        kubelet = tasks.create_task(_imitate_kubelet(site.client)) if options.imitate_kubelet else None
        try:
            await _populate(site.client, options, say)
            yield {"members": options.members, **await _measure(site, options, say)}
        finally:
            await _clear(site.client, say)
            if kubelet is not None:
                kubelet.cancel()


async def _measure(site: Site, options: Options, say: Say) -> Row:
    client, used = site.client, site.cpu()
    say("until all are asleep")
    began = time.perf_counter()
    tomorrow = write_time(SystemClock().now() + timedelta(days=1))
    target = {"kind": ENVIRONMENTS.kind, "name": NAME}
    night = {"target": target, "state": "Asleep", "until": tomorrow, "reason": "bench"}
    await client.create(OVERRIDES, obj(GROUP, "Override", NIGHT, NAMESPACE, spec=night))
    await until(lambda: _is(client, "Asleep"), f"{options.members} members asleep", LONGEST_SECONDS)
    asleep, slept = time.perf_counter() - began, site.cpu()
    say(f"asleep, {options.steady:g} s")
    await asyncio.sleep(POD_SECONDS)  # what fell asleep last is still told by its Deployment's controller
    before, idle = await _versions(client), site.cpu()
    await asyncio.sleep(options.steady)
    after, rested = await _versions(client), site.cpu()
    say("until all are awake and ready")
    began = time.perf_counter()
    await client.delete(OVERRIDES.named(NAMESPACE, NIGHT))
    await until(lambda: _is(client, "Ready"), f"{options.members} members awake", LONGEST_SECONDS)
    awake = time.perf_counter() - began
    row: Row = {
        "asleep_s": round(asleep, 1),
        "awake_s": round(awake, 1),
        "steady_s": options.steady,
        "steady_writes": sum(after.get(name) != version for name, version in before.items()),
    }
    if site.operator is None:
        return row
    cpu = {"asleep": slept - used, "steady": rested - idle, "awake": site.cpu() - rested}
    return {**row, "cpu_s": {name: round(seconds, 2) for name, seconds in cpu.items()}}


@asynccontextmanager
async def _site(options: Options) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        kubeconfig = options.kubeconfig or await start_cluster(stack, folder)
        operator = None
        if not (options.kubeconfig and options.running):
            operator = await start_operator(
                stack, folder, kubeconfig, (free_port(), free_port()), (f"--webhook-port={free_port()}",)
            )
        client = await stack.enter_async_context(KubeClient(SystemClock(), str(kubeconfig)))
        yield Site(client=client, operator=operator)


async def _populate(client: KubeClient, options: Options, say: Say) -> None:
    """An Environment that is awake, and all of its members ready."""
    say(f"{options.members} Deployments until all are ready")
    await client.create(NAMESPACES, a_namespace(NAMESPACE))
    pods = usage(startup_seconds=str(POD_SECONDS))

    async def add(index: int) -> None:
        await client.create(DEPLOYMENTS, workload("Deployment", f"d{index}", 1, namespace=NAMESPACE, annotations=pods))

    await each(options.members, add)
    spec = {"calendar": OPEN_ALWAYS, "grace": "0s"}
    await client.create(ENVIRONMENTS, obj(GROUP, "Environment", NAME, NAMESPACE, spec=spec))
    await until(lambda: _is(client, "Ready"), f"an Environment of {options.members}", LONGEST_SECONDS)


async def _is(client: KubeClient, condition: str) -> bool:
    """Whether the Environment says so, and of `Asleep` that no Deployment has a pod."""
    live = await client.get(ENVIRONMENTS.named(NAMESPACE, NAME))
    found = {one["type"]: one["status"] for one in (live.get("status") or {}).get("conditions") or ()}
    if found.get(condition) != "True":
        return False
    counts = [(one.get("status") or {}).get("replicas", 0) for one in await client.list(DEPLOYMENTS, NAMESPACE)]
    return condition != "Asleep" or not any(counts)


async def _versions(client: KubeClient) -> dict[str, str]:
    """resourceVersions: each write changes one."""
    found: dict[str, str] = {}
    for kind in (DEPLOYMENTS, ENVIRONMENTS, OVERRIDES):
        for live in await client.list(kind, NAMESPACE):
            found[f"{kind.kind}/{live['metadata']['name']}"] = live["metadata"]["resourceVersion"]
    return found


async def _imitate_kubelet(client: KubeClient) -> None:
    """Pods that have no node are ready some seconds after they were made; the API server lets them go at once."""
    while True:
        now = SystemClock().now()
        for pod in await client.list(PODS, NAMESPACE):
            made = parse_time(pod["metadata"]["creationTimestamp"], field="metadata.creationTimestamp")
            if not _is_ready(pod) and now >= made + timedelta(seconds=POD_SECONDS):
                ready = {"type": "Ready", "status": "True", "lastTransitionTime": write_time(now)}
                path = PODS.named(NAMESPACE, pod["metadata"]["name"], "status")
                try:
                    await client.patch(path, {"status": {"phase": "Running", "conditions": [ready]}})
                except NotFound:
                    continue  # deleted meanwhile
        await asyncio.sleep(KUBELET_SECONDS)


def _is_ready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


async def _clear(client: KubeClient, say: Say) -> None:
    """While the operator runs, which has to let the Environment go."""
    say("deleting the namespace")
    await client.delete(NAMESPACES.named("", NAMESPACE))

    async def gone() -> bool:
        try:
            await client.get(NAMESPACES.named("", NAMESPACE))
        except NotFound:
            return True
        return False

    await until(gone, "the end of the namespace", LONGEST_SECONDS, pause=0.5)
