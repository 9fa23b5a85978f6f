"""Policy: a ClusterEnvironment over n namespaces of 20 Deployments; seconds until all are asleep, and cost while idle.

The namespaces fall asleep and wake because the hours in its template are changed, so that the times include the writes of
all Environments. Idle are all that sleep; the figures are those of the operator with all processes that it started.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CLUSTER_ENVIRONMENTS, DEPLOYMENTS, NAMESPACES, Obj
from tests.bench.lab.figures import Row, cpu_seconds, shared_mb
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import free_port, until
from tests.bench.lab.stand import each, start_cluster, start_operator
from tests.builders import a_namespace, obj, usage, workload

NAME, MEMBERS = "bench", 20
LONGEST_SECONDS = 1200.0
SETTLE_SECONDS = 5.0
"""Until the last status of a namespace has been summed up."""
LABELS = {"bench": "policy"}
OPEN = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
CLOSED = {**OPEN, "exceptions": [{"dates": ["2026-01-01/2027-12-31"], "closed": True, "reason": "bench"}]}


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """Measure on an embedded cluster of its own."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        kubeconfig = await start_cluster(stack, folder)
        client = await stack.enter_async_context(KubeClient(SystemClock(), str(kubeconfig)))
        say(f"{options.namespaces} namespaces")
        await each(options.namespaces, lambda index: _populate(client, f"n{index}"))
        flags = ("--cluster-environments=true", f"--webhook-port={free_port()}", "--activations-per-second=0")
        operator = await start_operator(stack, folder, kubeconfig, (free_port(), free_port()), flags)
        yield {"namespaces": options.namespaces, "members": MEMBERS, **await _measure(client, operator, options, say)}


async def _measure(client: KubeClient, operator: int, options: Options, say: Say) -> Row:
    say("until all are covered")
    began = time.perf_counter()
    await client.create(CLUSTER_ENVIRONMENTS, _policy())
    await _until(client, options, "awake", 1)
    covered = time.perf_counter() - began
    say("until all are asleep")
    asleep = await _change(client, options, CLOSED, "asleep", 0)
    say(f"asleep, {options.steady:g} s")
    await asyncio.sleep(SETTLE_SECONDS)
    used = cpu_seconds(operator)
    await asyncio.sleep(options.steady)
    idle = (cpu_seconds(operator) - used) * 60 / options.steady
    memory = shared_mb(operator)
    say("until all are awake")
    awake = await _change(client, options, OPEN, "awake", 1)
    return {
        "covered_s": round(covered, 1),
        "asleep_s": round(asleep, 1),
        "awake_s": round(awake, 1),
        "idle_cpu_s_a_minute": round(idle, 2),
        "pss_mb": round(memory, 1),
    }


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


async def _change(client: KubeClient, options: Options, calendar: Obj, phase: str, replicas: int) -> float:
    """Change the hours; return the seconds until all namespaces are in that phase."""
    began = time.perf_counter()
    template = {"calendar": {"exceptions": None, **calendar}}
    await client.patch(CLUSTER_ENVIRONMENTS.named("", NAME), {"spec": {"template": template}})
    await _until(client, options, phase, replicas)
    return time.perf_counter() - began


async def _until(client: KubeClient, options: Options, phase: str, replicas: int) -> None:
    """Wait until the status counts every namespace there, and every Deployment has that count."""

    async def reached() -> bool:
        live = await client.get(CLUSTER_ENVIRONMENTS.named("", NAME))
        counts = (live.get("status") or {}).get("namespaces") or {}
        if counts.get(phase) != options.namespaces:
            return False
        return all(one["spec"].get("replicas", 1) == replicas for one in await client.list(DEPLOYMENTS))

    await until(reached, f"{options.namespaces} namespaces {phase}", LONGEST_SECONDS, pause=0.5)
