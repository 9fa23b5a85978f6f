"""A MariaDB with a user that has a password; it speaks TLS where it is given a certificate."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.certificates import Pair
from tests.scalers.servers.restartable import Restartable
from tests.servers import LOOPBACK, binary, free_port, unprivileged

USER, PASSWORD = "keda", "s3cret"


@contextmanager
def mariadb(tls: Pair) -> Iterator[Restartable]:
    """With the database `shop`."""
    server, install = binary("mariadbd", "mariadb-server"), binary("mariadb-install-db", "mariadb-server")
    with unprivileged() as (folder, options):
        data = f"--datadir={folder}/data"
        made = [install, "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run([*made, "--skip-name-resolve"], check=True, capture_output=True, **options)
        for name, text in {"server.crt": tls.cert, "server.key": tls.key}.items():
            (folder / name).write_text(text)
            if user := options.get("user"):
                os.chown(folder / name, user, user)
        (folder / "init.sql").write_text(
            "CREATE DATABASE IF NOT EXISTS shop;"
            f"\nCREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';"
            f"\nGRANT ALL ON shop.* TO '{USER}'@'%';\n"
        )
        (folder / "init.sql").chmod(0o644)
        port = free_port()
        command = [server, "--no-defaults", data, f"--port={port}", f"--bind-address={LOOPBACK}"]
        command += [f"--socket={folder}/s.sock", f"--pid-file={folder}/pid", f"--init-file={folder}/init.sql"]
        command += [f"--ssl-cert={folder}/server.crt", f"--ssl-key={folder}/server.key"]
        command += ["--skip-log-bin", "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0"]
        with Restartable(
            port, [*command, "--skip-name-resolve", "--performance-schema=OFF"], folder / "log", options
        ) as made_server:
            yield made_server
