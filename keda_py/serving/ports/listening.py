"""Listening sockets, and the limit on open files that connections need.

A socket is opened here and served elsewhere, possibly by another process, so that a port in use is noticed at start.
"""

import asyncio
import errno
import socket
import sys
from contextlib import ExitStack

BACKLOG = 512
WANTED_DESCRIPTORS = 65_536


async def listen(host: str, port: int) -> list[socket.socket]:
    """Open a listening socket for each address of `host`, "" being every interface; with port 0 all share one free
    port.

    Raises OSError if one is in use; then none stays open.
    """
    found = await asyncio.get_running_loop().getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    addresses = dict.fromkeys((family, address) for family, _, _, _, address in found)
    with ExitStack() as opened:
        sockets: list[socket.socket] = []
        for family, (name, _, *more) in addresses:
            chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
            opened_socket = _open(family, (name, chosen, *more), alone=len(addresses) == 1)
            if opened_socket is not None:
                sockets.append(opened.enter_context(opened_socket))
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, f"cannot listen on {host!r}, port {port}: no such address here")
        opened.pop_all()
    return sockets


def _open(family: socket.AddressFamily, address: tuple[object, ...], *, alone: bool) -> socket.socket | None:
    """Open one socket; None if this machine does not support the address family, mostly IPv6."""
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        return None
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # Otherwise the IPv6 wildcard also takes the IPv4 port, and the IPv4 socket of the same host cannot bind.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL and not alone:
            return None
        text = f"cannot listen on {address[0]!r}, port {address[1]}: {(error.strerror or str(error)).lower()}"
        raise OSError(error.errno, text) from None
    return listener


def raise_descriptor_limit() -> None:
    """Raise the limit on open files as far as an unprivileged process may; containers often start with 1024."""
    if sys.platform == "win32":
        return
    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(WANTED_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptors() -> int:
    """Return the limit on open files."""
    if sys.platform == "win32":
        return 512
    import resource  # not on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
