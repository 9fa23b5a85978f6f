"""Listening sockets, and the descriptors that connections need.

A socket is opened here and served elsewhere, maybe by another process, so that a port that is taken is known at once.
"""

import asyncio
import errno
import socket
import sys
from contextlib import ExitStack

BACKLOG = 512
WANTED_DESCRIPTORS = 65_536


async def listen(host: str, port: int) -> list[socket.socket]:
    """One for each address of `host`, "" being every interface; of port 0 all have the same free one.

    Raises OSError when one is taken; then none is open.
    """
    found = await asyncio.get_running_loop().getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    addresses = dict.fromkeys((family, address) for family, _, _, _, address in found)
    with ExitStack() as opened:
        sockets: list[socket.socket] = []
        for family, (name, _, *more) in addresses:
            chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
            one = _open(family, (name, chosen, *more), alone=len(addresses) == 1)
            if one is not None:
                sockets.append(opened.enter_context(one))
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, f"cannot listen on {host!r}, port {port}: no such address here")
        opened.pop_all()
    return sockets


def _open(family: socket.AddressFamily, address: tuple[object, ...], *, alone: bool) -> socket.socket | None:
    """None where this machine does not speak the family, IPv6 mostly."""
    try:
        one = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        return None
    try:
        one.setblocking(False)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
        one.listen(BACKLOG)
    except OSError as error:
        one.close()
        if error.errno == errno.EADDRNOTAVAIL and not alone:
            return None
        text = f"cannot listen on {address[0]!r}, port {address[1]}: {(error.strerror or str(error)).lower()}"
        raise OSError(error.errno, text) from None
    return one


def raise_descriptor_limit() -> None:
    """As many open files as the process may have without rights of its own; containers often begin with 1024."""
    if sys.platform == "win32":
        return
    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(WANTED_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptors() -> int:
    """How many open files the process may have."""
    if sys.platform == "win32":
        return 512
    import resource  # not on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
