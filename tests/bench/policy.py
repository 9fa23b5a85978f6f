"""Policy: a ClusterEnvironment over n namespaces of 20 Deployments; seconds until all are asleep, and cost while idle.

The namespaces fall asleep and wake because the hours in its template are changed, so that the times include the writes of
all Environments. Idle are all that sleep; the figures are those of the operator with all processes that it started.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CLUSTER_ENVIRONMENTS, DEPLOYMENTS, NAMESPACES, Obj
from tests.bench.lab.figures import Row, cpu_seconds, shared_mb
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import free_port, until
from tests.bench.lab.stand import each, start_cluster_process, start_operator
from tests.builders import a_namespace, obj, usage, workload

NAME, MEMBERS = "bench", 20
LONGEST_SECONDS = 1200.0
SETTLE_SECONDS = 5.0
"""Until the last status of a namespace has been summed up."""
LABELS = {"bench": "policy"}
OPEN = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
CLOSED = {**OPEN, "exceptions": [{"dates": ["2026-01-01/2027-12-31"], "closed": True, "reason": "bench"}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyStand:
    """A cluster and an operator, each a process, by their pids."""

    client: KubeClient
    cluster: int
    operator: int
    namespaces: int


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """Measure on an embedded cluster of its own."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        cluster, kubeconfig = await start_cluster_process(stack, folder)
        client = await stack.enter_async_context(KubeClient(SystemClock(), str(kubeconfig)))
        say(f"{options.namespaces} namespaces")
        await each(options.namespaces, lambda index: _populate(client, f"n{index}"))
        flags = ("--cluster-environments=true", f"--webhook-port={free_port()}", "--activations-per-second=0")
        operator = await start_operator(stack, folder, kubeconfig, (free_port(), free_port()), flags)
        stand = PolicyStand(client=client, cluster=cluster, operator=operator, namespaces=options.namespaces)
        yield {"namespaces": options.namespaces, "members": MEMBERS}
        async for row in _measure(stand, options, say):
            yield row


async def _measure(stand: PolicyStand, options: Options, say: Say) -> AsyncGenerator[Row, None]:
    say("until all are covered")
    yield await _timed(stand, "covered", stand.client.create(CLUSTER_ENVIRONMENTS, _policy()), ("awake", 1))
    say("until all are asleep")
    yield await _timed(stand, "asleep", _change(stand, CLOSED), ("asleep", 0))
    say(f"asleep, {options.steady:g} s")
    await asyncio.sleep(SETTLE_SECONDS)
    used = cpu_seconds(stand.operator)
    await asyncio.sleep(options.steady)
    idle = (cpu_seconds(stand.operator) - used) * 60 / options.steady
    yield {"idle_cpu_s_a_minute": round(idle, 2), "pss_mb": round(shared_mb(stand.operator), 1)}
    say("until all are awake")
    yield await _timed(stand, "awake", _change(stand, OPEN), ("awake", 1))


async def _timed(stand: PolicyStand, what: str, change: Awaitable[object], reached: tuple[str, int]) -> Row:
    """Make a change; return the seconds until it has reached all, and the CPU of operator and cluster for 1 000
    workloads, which holds on a busy machine, too.
    """
    began, before = time.perf_counter(), (cpu_seconds(stand.operator), cpu_seconds(stand.cluster))
    await change
    await _until(stand, *reached)
    took = time.perf_counter() - began
    workloads = stand.namespaces * MEMBERS / 1000
    operator, cluster = (
        round((cpu_seconds(pid) - used) / workloads, 2)
        for pid, used in zip((stand.operator, stand.cluster), before, strict=True)
    )
    return {f"{what}_s": round(took, 1), "operator_cpu_s_per_1000": operator, "cluster_cpu_s_per_1000": cluster}


async def _populate(client: KubeClient, name: str) -> None:
    namespace = a_namespace(name)
    namespace["metadata"]["labels"] = LABELS
    await client.create(NAMESPACES, namespace)
    pods = usage(startup_seconds="1")
    for index in range(MEMBERS):
        await client.create(DEPLOYMENTS, workload("Deployment", f"d{index}", 1, namespace=name, annotations=pods))


def _policy() -> Obj:
    template = {"calendar": OPEN, "grace": "0s", "maxParallel": MEMBERS}
    spec = {"namespaceSelector": {"matchLabels": LABELS}, "template": template}
    return obj("keda-py.dev/v1alpha1", "ClusterEnvironment", NAME, spec=spec)


async def _change(stand: PolicyStand, calendar: Obj) -> None:
    template = {"calendar": {"exceptions": None, **calendar}}
    await stand.client.patch(CLUSTER_ENVIRONMENTS.named("", NAME), {"spec": {"template": template}})


async def _until(stand: PolicyStand, phase: str, replicas: int) -> None:
    """Wait until the status counts every namespace there, and every Deployment has that count."""

    async def reached() -> bool:
        live = await stand.client.get(CLUSTER_ENVIRONMENTS.named("", NAME))
        counts = (live.get("status") or {}).get("namespaces") or {}
        if counts.get(phase) != stand.namespaces:
            return False
        return all(one["spec"].get("replicas", 1) == replicas for one in await stand.client.list(DEPLOYMENTS))

    await until(reached, f"{stand.namespaces} namespaces {phase}", LONGEST_SECONDS, pause=0.5)
