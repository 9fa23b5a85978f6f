"""Server that misbehaves on demand, and a client that talks to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from tests.kube.faulty_server import FaultyServer, serving, write_kubeconfig


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with serving(FaultyServer()) as faulty:
        yield faulty


@pytest.fixture
def kubeconfig(server: FaultyServer, tmp_path: Path) -> str:
    return write_kubeconfig(tmp_path / "kubeconfig", server.url)


@pytest.fixture
async def client(kubeconfig: str) -> AsyncIterator[KubeClient]:
    async with KubeClient(SystemClock(), kubeconfig) as opened:
        yield opened
