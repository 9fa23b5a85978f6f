"""Where other replicas reach this process, when POD_IP does not say it."""

import ipaddress
import socket
from urllib.parse import urlsplit


def own_address(bound: str, peer: str) -> str:
    """The address that is listened on; where that is every one, the one from which the host of URL `peer` is reached.

    "" where neither is known; a name is not resolved.
    """
    if bound and not _is_wildcard(bound):
        return bound
    host = urlsplit(peer).hostname or ""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        return _named_address()
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))  # of a datagram socket: nothing is sent, a route is chosen
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def _named_address() -> str:
    """By the machine's own name."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return ""


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
