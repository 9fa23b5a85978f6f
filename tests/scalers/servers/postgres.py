"""A PostgreSQL that asks for a password, and speaks TLS where it is given a certificate."""

import glob
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.certificates import Pair
from tests.scalers.servers.restartable import Restartable
from tests.servers import LOOPBACK, binary, free_port, unprivileged

USER, PASSWORD = "keda", "s3cret"


@contextmanager
def postgres(tls: Pair) -> Iterator[Restartable]:
    """Without fsync, for tests."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], *folders])
    server, initdb = binary("postgres", "postgresql"), binary("initdb", "postgresql")
    with unprivileged() as (folder, options):
        (folder / "password").write_text(f"{PASSWORD}\n")
        (folder / "password").chmod(0o644)
        made = [initdb, "-D", f"{folder}/data", "-U", USER, "--auth=scram-sha-256", f"--pwfile={folder}/password"]
        subprocess.run([*made, "--no-sync", "-E", "UTF8"], check=True, capture_output=True, **options)
        for name, text in {"server.crt": tls.cert, "server.key": tls.key}.items():
            file = folder / "data" / name
            file.write_text(text)
            file.chmod(0o600)
            if user := options.get("user"):
                os.chown(file, user, user)
        port = free_port()
        settings = {
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "full_page_writes": "off",
            "ssl": "on",
        }
        command = [server, "-D", f"{folder}/data", "-p", str(port)]
        command += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        asked = [f"{folders[-1]}/pg_isready", "-q", "-h", LOOPBACK, "-p", str(port)]
        with Restartable(
            port, command, folder / "log", options, signal.SIGINT, lambda: subprocess.call(asked) == 0
        ) as made_server:
            yield made_server
