"""What triggers read of the cluster by name: as many names as a tenant may think of are one watch, and it ends."""

import asyncio
from pathlib import Path

import pytest

from keda_py.clock import FakeClock
from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import Discovery
from keda_py.kube.informers.named_watches import NAMES_LIMIT
from keda_py.localkube.cluster import LocalCluster
from keda_py.operator.cluster.reader import IDLE_SECONDS, ClusterReader
from keda_py.testing import A_SATURDAY
from tests.builders import config_map
from tests.waiting import eventually

MANY = 120


async def test_a_hundred_names_in_a_namespace_are_one_watch(tmp_path: Path) -> None:
    clock, kubeconfig = FakeClock(A_SATURDAY), tmp_path / "kubeconfig"
    async with LocalCluster(clock) as cluster:
        kubeconfig.write_text(cluster.kubeconfig(), encoding="utf-8")
        await cluster.apply([config_map("there", value="1")])
        async with KubeClient(clock, str(kubeconfig)) as client, asyncio.TaskGroup() as tasks:
            reader = ClusterReader(client, Discovery(client), clock)
            running = tasks.create_task(reader.run())
            await asyncio.sleep(0)

            async def ask(name: str) -> None:
                with pytest.raises(NotFound, match=f'configmaps "{name}" not found'):
                    await reader.get("configmaps", "default", name)

            async with asyncio.TaskGroup() as asking:
                for number in range(MANY):
                    asking.create_task(ask(f"missing-{number}"))
            assert (await reader.get("configmaps", "default", "there"))["data"] == {"value": "1"}
            assert reader.watches.open <= NAMES_LIMIT + 1
            await eventually(lambda: reader.watches.open == 1)
            await clock.advance(2 * IDLE_SECONDS)
            reader.end_idle()
            assert reader.watches.open == 0
            running.cancel()
