"""Servers that scalers ask, as processes of this machine: a free port each, ended by their own handle."""

import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.waiting import PAUSE

STARTUP_SECONDS = 120
LOOPBACK = "127.0.0.1"


_PORTS_OF_A_PROCESS = 200
_BLOCKS = range(20_000, 32_000, _PORTS_OF_A_PROCESS)
"""Below what the kernel hands out for connections: there another process may get the port before it is listened on."""


def free_port() -> int:
    """Each process has its own, beside other workers and other suites on this machine, and takes the next one."""
    return next(port for port in _candidates(os.getpid()) if _is_free(port))


@cache
def _candidates(_process: int) -> Iterator[int]:
    """The ports of the first block that no other process has locked; the lock ends with this process."""
    for first in _BLOCKS:
        lock = os.open(Path(tempfile.gettempdir(), f"keda-py-tests-{first}"), os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return cycle(range(first, first + _PORTS_OF_A_PROCESS))
    raise RuntimeError("every block of ports is in use by another test process")


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
def running(
    command: Sequence[str],
    port: int,
    log: Path,
    end: signal.Signals = signal.SIGTERM,
    *,
    seconds: float = STARTUP_SECONDS,
    **options: Any,
) -> Iterator[None]:
    """A server process that answers on its port; ended by its own handle. `options` are those of Popen."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, **options) as process:
        try:
            deadline = time.monotonic() + seconds
            while not _answers(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, f"{command[0]} does not listen: {log.read_text()}"
                time.sleep(PAUSE)
            yield
        finally:
            process.send_signal(end)
            process.wait(60)


def wait_ready(url: str) -> None:
    """Until a GET over plain HTTP is answered by 200: a server that listens may have to read what it knows first.

    To verify no certificate, of which there is none here, spares 14 ms of reading authorities.
    """
    deadline = time.monotonic() + STARTUP_SECONDS
    while httpx.get(url, trust_env=False, verify=False).status_code != 200:
        assert time.monotonic() < deadline, f"{url} is not ready"
        time.sleep(PAUSE)


def binary(name: str, package: str) -> str:
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.skip(f"needs {name}: apt-get install {package}")
    return path


@contextmanager
def unprivileged() -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder, and the options of Popen for a server that refuses to be run by root: "nobody" has both."""
    with tempfile.TemporaryDirectory(prefix="keda-py-") as name:
        folder, options = Path(name), dict[str, Any](cwd=name)
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        yield folder, options


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
