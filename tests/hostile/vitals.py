"""What can be measured of the operator from outside: its processes, its pages, its log, its Lease."""

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from keda_py.kube.client import KubeClient
from keda_py.kube.resources import LEASES
from tests.hostile.installation import Installation
from tests.servers import LOOPBACK
from tests.waiting import PAUSE

FRESH_SECONDS = 5.0
LEASE = LEASES.named("keda", "operator.keda.sh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """Bytes and counts at one instant; `peak` since `forget_peak`. `children` is the memory of all of them together."""

    pid: int
    resident: int
    peak: int
    children: int
    descriptors: int
    page: int
    log_lines: int
    holder: str
    transitions: int
    cpu_seconds: float
    waited: float
    """Seconds for which its loop's thread wanted to run, and other processes ran instead."""


def forget_peak(pid: int) -> None:
    """From now on the peak is counted anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


async def measure(installation: Installation, client: KubeClient) -> Vitals:
    """Raises AssertionError when the process is gone, or does not answer."""
    process = installation.process
    assert process.alive, f"the operator has ended; the end of its log:\n{tail(process.lines)}"
    # First: what has ended is let go of meanwhile, as connections that were closed a moment ago.
    page_bytes = len(await fresh_page(installation.operator.metrics))
    lease: dict[str, Any] = (await client.get(LEASE))["spec"]
    return Vitals(
        pid=process.pid,
        resident=_status(process.pid, "VmRSS"),
        peak=_status(process.pid, "VmHWM"),
        children=sum(_status(child, "VmRSS") for child in _children(process.pid)),
        descriptors=len(os.listdir(f"/proc/{process.pid}/fd")),
        page=page_bytes,
        log_lines=len(process.lines),
        holder=str(lease.get("holderIdentity")),
        transitions=int(lease.get("leaseTransitions") or 0),
        cpu_seconds=_cpu_seconds(process.pid),
        waited=_waited(process.pid),
    )


async def page(port: int) -> bytes:
    """What /metrics answers."""
    timeout = aiohttp.ClientTimeout(total=30)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(f"http://{LOOPBACK}:{port}/metrics") as got,
    ):
        assert got.status == 200
        return await got.read()


async def fresh_page(port: int) -> bytes:
    """One that is rendered from now on: a page serves all who ask within ten times as long as its rendering took."""
    first = await page(port)
    deadline = time.monotonic() + FRESH_SECONDS
    while (now := await page(port)) == first and time.monotonic() < deadline:
        await asyncio.sleep(PAUSE)
    return now


def tail(lines: list[str], count: int = 15) -> str:
    return "".join(line[:500] for line in lines[-count:])


def _status(pid: int, field: str) -> int:
    """0 for a process that has just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)


def _children(pid: int) -> list[int]:
    """Of all generations."""
    try:
        direct = [
            int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()
        ]
    except OSError:
        return []
    return [*direct, *(below for one in direct for below in _children(one))]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _waited(pid: int) -> float:
    """0 where the kernel does not tell."""
    try:
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0
