"""ActiveMQ behind Jolokia, and beans with the names of Artemis, in one JVM."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers import binary, free_port, running

USER, PASSWORD = "admin", "s3cret"
_JARS = ("jolokia-core", "json-simple")


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker: its address for questions, and its port for messages."""

    http: int
    stomp: int


@contextmanager
def jolokia(folder: Path) -> Iterator[Broker]:
    """Skips where a package is missing."""
    java = binary("javac", "openjdk-17-jdk-headless").removesuffix("javac") + "java"  # it compiles the source
    jars = [Path(f"/usr/share/java/{name}.jar") for name in _JARS]
    broker_jars = sorted(Path("/usr/share/activemq/lib").glob("*.jar"))
    if not broker_jars or not all(jar.exists() for jar in jars):
        pytest.skip("needs ActiveMQ and Jolokia: apt-get install activemq libjolokia-core-java")
    broker = Broker(http=free_port(), stomp=free_port())
    source = Path(__file__).with_name("Jolokia.java")
    path = ":".join(map(str, [*broker_jars, *jars]))
    small = ["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command = [java, *small, "-cp", path, str(source), str(broker.http), str(broker.stomp), USER, PASSWORD]
    with running(command, broker.http, folder / "log"):
        yield broker
