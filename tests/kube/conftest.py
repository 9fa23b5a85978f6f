"""A server that misbehaves on demand, and a client that talks to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from tests.kube.faulty_server import FaultyServer, write_kubeconfig


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    faulty = FaultyServer()
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", faulty.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    faulty.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield faulty
    await runner.cleanup()


@pytest.fixture
def kubeconfig(server: FaultyServer, tmp_path: Path) -> str:
    return write_kubeconfig(tmp_path / "kubeconfig", server.url)


@pytest.fixture
async def client(kubeconfig: str) -> AsyncIterator[KubeClient]:
    async with KubeClient(SystemClock(), kubeconfig) as opened:
        yield opened
