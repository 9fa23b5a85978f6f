"""A RabbitMQ with its management interface; it speaks AMQP with TLS too, and takes a client certificate for a user."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.certificates import Authority
from tests.servers import LOOPBACK, binary, free_port, running, wait_ready

_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


@dataclass(frozen=True, slots=True, kw_only=True)
class RabbitMQ:
    """Ports, and the authority of its certificate."""

    amqp: int
    amqps: int
    http: int
    authority: Authority


@contextmanager
def rabbitmq(folder: Path) -> Iterator[RabbitMQ]:
    """User guest, vhost /; the user `keda` may log in by certificate."""
    if not _SERVER.exists():
        pytest.skip("needs rabbitmq-server: apt-get install rabbitmq-server")
    ours = RabbitMQ(amqp=free_port(), amqps=free_port(), http=free_port(), authority=Authority())
    names, erlang = free_port(), free_port()
    _write(folder, ours)
    settings = {
        "HOME": folder,
        "RABBITMQ_NODENAME": f"keda{ours.amqp}@localhost",
        "RABBITMQ_CONFIG_FILE": folder / "conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins",
        "RABBITMQ_MNESIA_BASE": folder / "mnesia",
        "RABBITMQ_LOG_BASE": folder / "log",
        "RABBITMQ_DIST_PORT": erlang,
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_PID_FILE": folder / "pid",
        "RABBITMQ_GENERATED_CONFIG_DIR": folder / "generated",
        "RABBITMQ_SCHEMA_DIR": folder / "schema",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none -setcookie keda",
        "ERL_EPMD_PORT": names,
        "ERL_EPMD_ADDRESS": LOOPBACK,
    }
    with ExitStack() as stack:
        # A daemon that Erlang would start, and leave behind, otherwise.
        epmd = [binary("epmd", "erlang-base"), "-port", str(names), "-address", LOOPBACK]
        stack.enter_context(running(epmd, names, folder / "epmd.log"))
        command = ["env", *(f"{name}={value}" for name, value in settings.items()), str(_SERVER)]
        stack.enter_context(running(command, ours.amqp, folder / "out", seconds=120))
        wait_ready(f"http://guest:guest@{LOOPBACK}:{ours.http}/api/overview")
        yield ours


def _write(folder: Path, ours: RabbitMQ) -> None:
    leaf = ours.authority.leaf("rabbitmq")
    for name, text in {"ca": ours.authority.cert, "cert": leaf.cert, "key": leaf.key}.items():
        (folder / name).write_text(text)
    (folder / "plugins").write_text("[rabbitmq_management,rabbitmq_auth_mechanism_ssl].\n")
    (folder / "definitions.json").write_text(
        '{"vhosts":[{"name":"/"}],"users":['
        '{"name":"guest","password":"guest","tags":"administrator"},{"name":"keda","password":"s3cret","tags":""}],'
        '"permissions":['
        '{"user":"guest","vhost":"/","configure":".*","write":".*","read":".*"},'
        '{"user":"keda","vhost":"/","configure":".*","write":".*","read":".*"}]}'
    )
    lines = {
        "listeners.tcp.1": f"{LOOPBACK}:{ours.amqp}",
        "listeners.ssl.1": f"{LOOPBACK}:{ours.amqps}",
        "ssl_options.cacertfile": folder / "ca",
        "ssl_options.certfile": folder / "cert",
        "ssl_options.keyfile": folder / "key",
        "ssl_options.verify": "verify_peer",
        "ssl_cert_login_from": "common_name",
        "auth_mechanisms.1": "PLAIN",
        "auth_mechanisms.2": "EXTERNAL",
        "management.tcp.ip": LOOPBACK,
        "management.tcp.port": ours.http,
        "load_definitions": folder / "definitions.json",
        "loopback_users": "none",
        "collect_statistics_interval": 1000,
    }
    (folder / "conf").write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
