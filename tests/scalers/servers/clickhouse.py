"""A ClickHouse with a user `ann`, on ports for its native protocol and for HTTP, and on both with TLS."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.certificates import Pair
from tests.servers import LOOPBACK, binary, free_port, running, wait_ready

USER, PASSWORD = "ann", "pa'ss wörd"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickHouse:
    """Its ports."""

    native: int
    http: int
    native_tls: int
    https: int

    def run(self, statement: str) -> str:
        """What a statement of the user answers, as text."""
        url, user = f"http://{LOOPBACK}:{self.http}/", httpx.BasicAuth(USER, PASSWORD)
        answer = httpx.post(url, content=statement, auth=user, trust_env=False, verify=False)
        assert answer.status_code == 200, answer.text
        return answer.text


@contextmanager
def clickhouse(pair: Pair, folder: Path) -> Iterator[ClickHouse]:
    """Until the block ends; `pair` is its certificate. A gentler end waits for every query that a test gave up."""
    server = ClickHouse(native=free_port(), http=free_port(), native_tls=free_port(), https=free_port())
    (folder / "server.crt").write_text(pair.cert)
    (folder / "server.key").write_text(pair.key)
    (folder / "config.xml").write_text(_config(server, folder), encoding="utf-8")
    (folder / "users.xml").write_text(_USERS, encoding="utf-8")
    command = [binary("clickhouse-server", "clickhouse-server"), f"--config-file={folder}/config.xml"]
    with running(command, server.native, folder / "log", signal.SIGKILL, cwd=folder):
        wait_ready(f"http://{LOOPBACK}:{server.http}/ping")
        yield server


def _config(server: ClickHouse, folder: Path) -> str:
    return f"""<yandex>
<logger><level>warning</level><console>1</console></logger>
<listen_host>{LOOPBACK}</listen_host>
<tcp_port>{server.native}</tcp_port><http_port>{server.http}</http_port>
<tcp_port_secure>{server.native_tls}</tcp_port_secure><https_port>{server.https}</https_port>
<openSSL><server><certificateFile>{folder}/server.crt</certificateFile>
<privateKeyFile>{folder}/server.key</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><mark_cache_size>5000000</mark_cache_size>
<users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
</yandex>"""


_USERS = f"""<yandex><profiles><default/></profiles><quotas><default/></quotas><users><{USER}>
<password>{PASSWORD}</password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>
</{USER}></users></yandex>"""
