"""Redis servers as a cluster, and as a master with a replica that sentinels watch."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from tests.servers import LOOPBACK, STARTUP_SECONDS, binary, free_port, redis_command, running

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""

PASSWORD, SENTINEL_PASSWORD = "s3cret", "watchm3n"


@contextmanager
def redis_cluster(folder: Path, *more: str) -> Iterator[list[int]]:
    """Ports of three nodes, which have all slots and a password."""
    ports = [free_port() for _ in range(3)]
    with ExitStack() as stack:
        for port in ports:
            (own := folder / str(port)).mkdir()
            options = ["--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--requirepass", PASSWORD, *more]
            stack.enter_context(running(redis_command(port, own, *options), port, own / "log"))
        nodes = [f"{LOOPBACK}:{port}" for port in ports]
        program = binary("redis-cli", "redis-tools")
        create = [program, "-a", PASSWORD, "--cluster", "create", *nodes, "--cluster-yes"]
        subprocess.run(create, check=True, capture_output=True, timeout=240)
        yield ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Ports; the master of `shop` is the first server until it fails."""

    sentinel: int
    servers: tuple[int, int]


@contextmanager
def redis_sentinel(folder: Path) -> Iterator[Watched]:
    """One sentinel is enough to agree."""
    ours = Watched(sentinel=free_port(), servers=(free_port(), free_port()))
    first, second = ours.servers
    known = ["--requirepass", PASSWORD, "--masterauth", PASSWORD, "--repl-diskless-sync-delay", "0"]
    conf = folder / "sentinel.conf"
    conf.write_text(
        f"port {ours.sentinel}\nbind {LOOPBACK}\ndir {folder}\nrequirepass {SENTINEL_PASSWORD}\n"
        f"sentinel monitor shop {LOOPBACK} {first} 1\nsentinel auth-pass shop {PASSWORD}\n"
        "sentinel down-after-milliseconds shop 60000\n"
    )
    with ExitStack() as stack:
        for port, options in {first: known, second: [*known, "--replicaof", f"{LOOPBACK} {first}"]}.items():
            (own := folder / str(port)).mkdir()
            stack.enter_context(running(redis_command(port, own, *options), port, own / "log"))
        _wait_for_replica(second)
        server = binary("redis-server", "redis-server")
        stack.enter_context(running([server, str(conf), "--sentinel"], ours.sentinel, folder / "log"))
        yield ours


def _wait_for_replica(port: int) -> None:
    """A sentinel that starts later knows it from the first moment."""
    deadline = time.monotonic() + STARTUP_SECONDS
    with Redis(port=port, password=PASSWORD) as replica:
        while replica.info("replication")["master_link_status"] != "up":
            assert time.monotonic() < deadline, "the replica does not join"
            time.sleep(ASK_AGAIN_SECONDS)
