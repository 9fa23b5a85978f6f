"""web-service: as many pods as the requests in flight need, as a real Prometheus has scraped them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from keda_py.clock import SystemClock
from tests.examples.play import Play, play
from tests.http_server import HttpServer, http_server
from tests.localkube.kubectl import needs_kubectl
from tests.servers import free_port, prometheus_command, running, wait_ready
from tests.waiting import PAUSE

QUERY = 'sum(http_requests_in_flight{app="web"})'


@pytest.fixture
async def pods() -> AsyncIterator[HttpServer]:
    """What the pods' /metrics say, all on one page."""
    async with http_server() as server:
        yield server


@pytest.fixture
async def prometheus(tmp_path: Path, pods: HttpServer) -> AsyncIterator[str]:
    port = free_port()
    config = (
        f"{{job_name: web, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{{targets: ['{pods.url[7:]}']}}]}}"
    )
    (tmp_path / "prometheus.yml").write_text(f"scrape_configs: [{config}]\n")
    with running([*prometheus_command(port, tmp_path), "--query.lookback-delta=1h"], port, tmp_path / "prometheus.log"):
        wait_ready(f"http://127.0.0.1:{port}/-/ready")
        yield f"http://127.0.0.1:{port}"


async def in_flight(requests: int, pods: HttpServer, prometheus: str) -> None:
    """The pods are asked so much; return once Prometheus knows it."""
    pods.answers["/metrics"] = f'http_requests_in_flight{{app="web"}} {requests}\n'
    async with httpx.AsyncClient(base_url=prometheus) as client, asyncio.timeout(120):
        while True:
            found = (await client.get("/api/v1/query", params={"query": QUERY})).json()["data"]["result"]
            if found and float(found[0]["value"][1]) == requests:
                return
            await asyncio.sleep(PAUSE)


def synchronise(at: Play) -> None:
    """The operator asks for the value of its own now, which then runs ahead of the time that Prometheus lives in."""
    real = SystemClock().now().replace(microsecond=0)
    at.world.clock.step(real - at.world.clock.now())


@needs_kubectl
async def test_pods_follow_the_requests_in_flight_up_at_once_and_slowly_down(
    tmp_path: Path, pods: HttpServer, prometheus: str
) -> None:
    await in_flight(8, pods, prometheus)
    async with play(tmp_path, "web-service", {"http://prometheus.monitoring.svc:9090": prometheus}) as at:
        synchronise(at)
        await at.apply()
        await at.seconds(30)
        assert at.replicas("web") == 2
        await in_flight(75, pods, prometheus)
        await at.seconds(45)
        assert at.replicas("web") == 8, "one for every ten"
        await at.shows()
        await in_flight(8, pods, prometheus)
        await at.seconds(100)
        assert at.replicas("web") == 8, "the busiest moment of two minutes still counts"
        await at.seconds(60)
        assert 2 < at.replicas("web") < 8, "a quarter a minute"
        await at.seconds(300)
        assert at.replicas("web") == 2
