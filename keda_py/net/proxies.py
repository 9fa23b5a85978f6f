"""Proxies of a process: HTTP_PROXY, HTTPS_PROXY and NO_PROXY as Go reads them.

Used for the API server and for scalers. httpx reads these variables only when it makes its own transport, and neither
it nor aiohttp understands the networks that a cluster's NO_PROXY contains (10.96.0.1 in `10.0.0.0/8`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Self

from yarl import URL

from keda_py.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """Proxies of a process; none by default."""

    http: URL | None = None
    https: URL | None = None
    exceptions: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the environment; upper-case names come first. Raises ConfigError if an address is not an HTTP proxy."""
        exceptions = _variable(environment, "NO_PROXY").lower().split(",")
        return cls(
            http=_proxy_url(environment, "HTTP_PROXY"),
            https=_proxy_url(environment, "HTTPS_PROXY"),
            exceptions=tuple(item.strip() for item in exceptions if item.strip()),
        )

    def for_url(self, url: URL) -> URL | None:
        """Return the proxy for an address, None for a direct connection."""
        proxy = self.https if url.scheme == "https" else self.http
        if proxy is None or self._is_direct((url.host or "").lower().rstrip("."), url.port):
            return None
        return proxy

    def _is_direct(self, host: str, port: int | None) -> bool:
        # As in Go: loopback never goes through a proxy, regardless of NO_PROXY.
        if host == "localhost" or _is_loopback(host):
            return True
        return any(_matches(item, host, port) for item in self.exceptions)


def _variable(environment: Mapping[str, str], name: str) -> str:
    return (environment.get(name) or environment.get(name.lower(), "")).strip()


def _proxy_url(environment: Mapping[str, str], name: str) -> URL | None:
    text = _variable(environment, name)
    if not text:
        return None
    url = URL(text if "://" in text else f"http://{text}")
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"{name}: not an http:// or https:// address of a proxy", field=name)
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _matches(item: str, host: str, port: int | None) -> bool:
    """Match one of NO_PROXY: "*", an address, network or domain (".example.com": subdomains only); or `:port`."""
    if item == "*":
        return True
    if "/" in item:
        return _in_network(item, host)
    name, colon, item_port = item.rpartition(":")
    if colon and item_port.isdigit() and ":" not in name.strip("[]").replace("::", ""):
        if port != int(item_port):
            return False
        item = name
    item = item.strip("[]").removeprefix("*")
    if item.startswith("."):
        return host.endswith(item)
    return host == item or host.endswith(f".{item}")


def _in_network(item: str, host: str) -> bool:
    try:
        return ip_address(host) in ip_network(item, strict=False)
    except ValueError:
        return False
