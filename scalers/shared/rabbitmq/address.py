"""`host` of a rabbitmq trigger: scheme, credentials, server, a path before the API, and the vhost."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

import re2
from pydantic import SecretStr

from keda_py.core.values.urls import path_segment

Protocol = Literal["amqp", "http"]

_PROTOCOLS: dict[str, Protocol] = {"amqp": "amqp", "amqps": "amqp", "http": "http", "https": "http"}
_BAD_ESCAPE = re2.compile(r"%(?:[^0-9A-Fa-f]|$|[0-9A-Fa-f](?:[^0-9A-Fa-f]|$))")


@dataclass(frozen=True, slots=True, kw_only=True)
class RabbitAddress:
    """A parsed `host`; `path` is what stands before the vhost, "" or "/sub/path"."""

    scheme: str
    host: str
    port: int | None
    path: str
    vhost: str
    username: SecretStr
    password: SecretStr

    @property
    def protocol(self) -> Protocol:
        """What the scheme speaks."""
        return _PROTOCOLS[self.scheme]

    @property
    def server(self) -> str:
        """`host:port`, as far as it is given; for URLs and error texts."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def api(self) -> str:
        """The URL of the queues of this vhost."""
        return f"{self.scheme}://{self.server}{self.path}/api/queues/{path_segment('vhostName', self.vhost)}"


def parse_address(text: str, vhost: str) -> RabbitAddress:
    """`vhost` "" is the one of the address. Raises ValueError, which shows no text: it may hold a password."""
    problem = "host: can't parse host to find protocol: it is amqp://, amqps://, http:// or https://, server and vhost"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(problem) from None
    if parts.scheme not in _PROTOCOLS:
        raise ValueError(f"host: unknown host URL scheme: `{parts.scheme}`: use amqp, amqps, http or https")
    if not parts.hostname or _BAD_ESCAPE.search(parts.netloc + parts.path):
        raise ValueError(problem)
    path, own = _path_and_vhost(parts.path, _PROTOCOLS[parts.scheme])
    return RabbitAddress(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port,
        path=path,
        vhost=vhost or own or "/",
        username=SecretStr(unquote(parts.username or "")),
        password=SecretStr(unquote(parts.password or "")),
    )


def _path_and_vhost(path: str, protocol: Protocol) -> tuple[str, str]:
    """By AMQP all that follows the first slash is the vhost; by HTTP the last part is, behind the path of the API.

    So "/shop/" is the vhost "shop/" by AMQP, and the default vhost below "/shop" by HTTP.
    """
    if protocol == "amqp":
        return "", unquote(path[1:])
    before, _, last = path.rpartition("/")
    return "".join(f"/{part}" for part in before.split("/") if part), unquote(last)
