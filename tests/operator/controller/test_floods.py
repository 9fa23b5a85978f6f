"""A live operator whose plain ports are flooded: the kubelet and Prometheus are answered all the same."""

import contextlib
import os
from pathlib import Path

import httpx
import pytest

from keda_py.clock import SystemClock
from tests.servers import LOOPBACK, free_port
from tests.serving.test_floods import ATTACKER, half_open
from tests.worlds.world import open_world


@pytest.mark.parametrize("source", [ATTACKER, LOOPBACK])
async def test_two_thousand_half_open_requests_on_the_plain_ports_keep_nobody_from_their_answers(
    tmp_path: Path, source: str
) -> None:
    metrics, health = free_port(), free_port()
    flags = {"metrics_bind_address": f"{LOOPBACK}:{metrics}", "health_probe_bind_address": f"{LOOPBACK}:{health}"}
    async with (
        open_world(tmp_path, clock=SystemClock(), tls=True) as world,
        world.operator.running(**flags),
        httpx.AsyncClient() as client,
    ):
        before = len(os.listdir("/proc/self/fd"))
        with contextlib.ExitStack() as flood:
            for _ in range(20):
                for port in (metrics, health):
                    flood.enter_context(half_open(port, 100, source))
                answer = await client.get(f"http://{LOOPBACK}:{health}/healthz", headers={"Connection": "close"})
                assert answer.text == "ok"
                page = await client.get(f"http://{LOOPBACK}:{metrics}/metrics", headers={"Connection": "close"})
                assert page.status_code == 200
            assert len(os.listdir("/proc/self/fd")) - before < 2 * 2000 + 600
