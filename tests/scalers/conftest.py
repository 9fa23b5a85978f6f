"""Real servers for the scalers' tests: one of each per session, on a free port, in a temporary directory."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from keda_py.net.secret_texts import as_secrets
from keda_py.sdk.advanced import PodIdentity, Trigger
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.registry import AnyScaler, build
from keda_py.testing import shared_context
from tests.servers import free_port, prometheus_command, redis_command, running, wait_ready


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port, folder = free_port(), tmp_path_factory.mktemp("redis")
    with running(redis_command(port, folder), port, folder / "log"):
        yield port


@pytest.fixture(scope="session")
def run_redis(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., AbstractContextManager[int]]:
    """A Redis of one's own, with options of one's own (PORT: its port, with TLS only); `port` brings one back."""

    @contextmanager
    def run(*options: str, port: int | None = None) -> Iterator[int]:
        port, folder = port or free_port(), tmp_path_factory.mktemp("redis")
        tls = "--tls-port" in options
        command = redis_command(
            0 if tls else port, folder, *(str(port) if item == "PORT" else item for item in options)
        )
        with running(command, port, folder / "log"):
            yield port

    return run


@pytest.fixture(scope="session")
def prometheus_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, folder = free_port(), tmp_path_factory.mktemp("prometheus")
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    with running(prometheus_command(port, folder), port, folder / "log"):
        wait_ready(f"http://127.0.0.1:{port}/-/ready")
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def aws_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """moto's server of SQS and STS."""
    port, folder = free_port(), tmp_path_factory.mktemp("moto")
    with running([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port, folder / "log"):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
async def lent() -> AsyncIterator[SharedContext]:
    """A shared context on a FakeClock and a cluster without objects."""
    async with shared_context() as lent:
        yield lent


@pytest.fixture
async def silent_port() -> AsyncIterator[int]:
    """A server that accepts and says nothing until the client hangs up."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.read()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


class Bench:
    """Builds scalers as the engine does, and gives back what they took."""

    def __init__(self, lent: SharedContext) -> None:
        self.lent = lent
        self._opened: list[tuple[AnyScaler, EngineContext]] = []

    def scaler(
        self, trigger_type: str, metadata: dict[str, str], *, auth: dict[str, str] | None = None, **context: Any
    ) -> AnyScaler:
        """Built, not opened. `context` may hold namespace, env, timeout, identities, pod_identity, metric_type..."""
        env = context.pop("env", {})
        lent = replace(
            self.lent,
            http_timeout=context.pop("timeout", self.lent.http_timeout),
            identities=context.pop("identities", self.lent.identities),
        )
        namespace = context.pop("namespace", "default")
        own = EngineContext(shared_context=lent, namespace=namespace, scaled_object="app", trigger_index=0, **context)
        scaler = build(
            Trigger(type=trigger_type, metadata=metadata, env=as_secrets(env), auth=as_secrets(auth or {})), own
        )
        self._opened.append((scaler, own))
        return scaler

    async def opened(self, trigger_type: str, metadata: dict[str, str], **options: Any) -> AnyScaler:
        scaler = self.scaler(trigger_type, metadata, **options)
        await scaler.open()
        return scaler

    async def aclose(self) -> None:
        for scaler, context in self._opened:
            await scaler.aclose()
            await context.aclose()


@pytest.fixture
async def bench(lent: SharedContext) -> AsyncIterator[Bench]:
    bench = Bench(lent)
    yield bench
    await bench.aclose()


@pytest.fixture
def aws_pod_identity() -> PodIdentity:
    return PodIdentity(provider="aws")
