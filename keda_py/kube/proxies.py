"""Which proxy a URL goes through, read from the environment as Go's net/http does it.

HTTPS_PROXY and HTTP_PROXY by the URL's scheme, lower case understood, loopback never proxied, and NO_PROXY with
addresses, CIDR blocks, domains (`example.com` covers its subdomains, `.example.com` only those), ports and `*`.
The blocks matter: in a cluster the API server is an address (10.96.0.1) and NO_PROXY says `10.0.0.0/8`, which neither
urllib nor aiohttp understands.
"""

import ipaddress
from collections.abc import Mapping

from yarl import URL

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def proxy_for(url: URL, environ: Mapping[str, str]) -> str | None:
    """The proxy's URL, or None for a direct connection."""
    proxy = _variable(environ, f"{url.scheme}_proxy")
    if not proxy or bypasses_proxy(url, _variable(environ, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def bypasses_proxy(url: URL, no_proxy: str) -> bool:
    """Whether `url` is reached directly."""
    host = (url.host or "").lower().rstrip(".")
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = (entry.strip().lower() for entry in no_proxy.split(","))
    return any(_covers(entry, host, address, url.port) for entry in entries if entry)


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _covers(entry: str, host: str, address: _Address | None, port: int | None) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return address is not None and _in_block(entry, address)
    if _address(entry) is None and (colon := entry.rpartition(":"))[2].isdigit():
        if int(colon[2]) != port:
            return False
        entry = colon[0]
    if (fixed := _address(entry)) is not None:
        return fixed == address
    domain = entry.removeprefix("*")
    return host.endswith(domain) if domain.startswith(".") else host == domain or host.endswith(f".{domain}")


def _in_block(entry: str, address: _Address) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
