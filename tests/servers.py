"""Servers that scalers ask, as processes of this machine: a free port each, ended by their own handle."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import httpx
import pytest

STARTUP_SECONDS = 30
LOOPBACK = "127.0.0.1"


# Below what the kernel hands out for connections: there somebody else may get the port before it is listened on.
_PORTS_OF_A_WORKER = 1000
_FIRST = 20_000 + _PORTS_OF_A_WORKER * int(os.environ.get("PYTEST_XDIST_WORKER", "gw10").removeprefix("gw"))
_candidates = cycle(range(_FIRST, _FIRST + _PORTS_OF_A_WORKER))


def free_port() -> int:
    """Each worker has its own, and takes the next one each time."""
    return next(port for port in _candidates if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _answers(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), 0.3).close()
    except OSError:
        return False
    return True


@contextmanager
def running(command: Sequence[str], port: int, log: Path) -> Iterator[None]:
    """A server process that answers on its port; ended by its own handle."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            deadline = time.monotonic() + STARTUP_SECONDS
            while not _answers(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, f"{command[0]} does not listen: {log.read_text()}"
                time.sleep(0.02)
            yield
        finally:
            process.terminate()
            process.wait(10)


def wait_ready(url: str) -> None:
    """Until a GET is answered by 200: a server that listens may have to read what it knows first."""
    deadline = time.monotonic() + STARTUP_SECONDS
    while httpx.get(url, trust_env=False).status_code != 200:
        assert time.monotonic() < deadline, f"{url} is not ready"
        time.sleep(0.02)


def binary(name: str, package: str) -> str:
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.skip(f"needs {name}: apt-get install {package}")
    return path


def redis_command(port: int, folder: Path, *options: str) -> list[str]:
    server = binary("redis-server", "redis-server")
    return [server, "--port", str(port), "--bind", LOOPBACK, "--dir", str(folder), "--save", "", *options]


def prometheus_command(port: int, folder: Path) -> list[str]:
    """With the configuration `prometheus.yml` of that folder."""
    return [
        binary("prometheus", "prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address={LOOPBACK}:{port}",
    ]
