"""NATS servers with JetStream, one alone or some as a cluster; the account SHOP has a user."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers import binary, free_port, running, wait_ready

_CONFIGURATION = """\
server_name: "{name}"
listen: "{host}:{port}"
http: "{host}:{monitoring}"
client_advertise: "{host}:{port}"
jetstream: {{store_dir: "{folder}"}}
accounts: {{SHOP: {{users: [{{user: shop, password: s3cret}}], jetstream: enabled}}, SYS: {{users: [{{user: admin, password: s3cret}}]}}}}
system_account: SYS
"""
_CLUSTER = 'cluster: {{name: shops, listen: "{host}:{routes}", routes: [{others}]}}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Nats:
    """Addresses for clients and for monitoring; servers of a cluster differ in the host alone."""

    url: str
    monitoring: str


@contextmanager
def nats(
    folder: Path, size: int = 1, more: str = "", ports: tuple[int, int, int] | None = None
) -> Iterator[list[Nats]]:
    """Server n is called `n<n>` and is at 127.0.0.n; with `more` in its configuration, and perhaps on known ports."""
    program = binary("nats-server", "nats-server")
    port, monitoring, routes = ports or (free_port(), free_port(), free_port())
    hosts = [f"127.0.0.{number}" for number in range(1, size + 1)]
    others = ", ".join(f'"nats://{host}:{routes}"' for host in hosts)
    with ExitStack() as stack:
        for number, host in enumerate(hosts, 1):
            own = folder / f"n{number}"
            own.mkdir(exist_ok=True)
            text = _CONFIGURATION + (_CLUSTER if size > 1 else "")
            known = {"name": f"n{number}", "host": host, "port": port, "monitoring": monitoring, "folder": own}
            (own / "conf").write_text(text.format(**known, routes=routes, others=others) + more)
            stack.enter_context(running([program, "-c", str(own / "conf")], port, own / "log"))
        for host in hosts:
            wait_ready(f"http://{host}:{monitoring}/healthz")
        yield [Nats(url=f"nats://{host}:{port}", monitoring=f"{host}:{monitoring}") for host in hosts]
