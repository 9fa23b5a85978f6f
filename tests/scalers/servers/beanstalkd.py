"""A beanstalkd."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import LOOPBACK, binary, free_port, running


@contextmanager
def beanstalkd(folder: Path, port: int = 0) -> Iterator[int]:
    """`port` brings one back."""
    port = port or free_port()
    with running([binary("beanstalkd", "beanstalkd"), "-l", LOOPBACK, "-p", str(port)], port, folder / "log"):
        yield port
