"""An etcd, which speaks TLS where it is given a certificate."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.certificates import Authority
from tests.servers import LOOPBACK, binary, free_port, running


@contextmanager
def etcd(folder: Path, authority: Authority | None = None, port: int | None = None) -> Iterator[str]:
    """Its URL; with an authority it wants a client certificate. A folder keeps what it holds."""
    port, peers = port or free_port(), free_port()
    scheme, files = ("https", _files(folder, authority)) if authority else ("http", [])
    url, among = f"{scheme}://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{peers}"
    command = [binary("etcd", "etcd-server"), "--data-dir", str(folder / "data"), *files]
    command += ["--listen-client-urls", url, "--advertise-client-urls", url]
    command += ["--listen-peer-urls", among, "--initial-advertise-peer-urls", among]
    with running([*command, "--initial-cluster", f"default={among}"], port, folder / "log"):
        yield url


def _files(folder: Path, authority: Authority) -> list[str]:
    leaf = authority.leaf("etcd")
    for name, text in {"ca": authority.cert, "cert": leaf.cert, "key": leaf.key}.items():
        (folder / name).write_text(text)
    given = {"cert-file": "cert", "key-file": "key", "trusted-ca-file": "ca"}
    return ["--client-cert-auth", *(f"--{option}={folder / name}" for option, name in given.items())]
