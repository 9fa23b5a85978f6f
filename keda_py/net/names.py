"""Name resolution without threads.

The system's resolver blocks a thread for as long as a name server is silent, up to a minute for one dead name, and
threads are few: a dozen dead names of one tenant would delay every look-up and file read of all others. c-ares needs no
thread; a pending look-up costs only memory. It reads resolv.conf and the hosts file, and one channel serves the whole
loop. `net/http/transport.py` resolves through the same channel.
"""

import socket
from ipaddress import ip_address


async def addresses(host: str, port: int) -> tuple[str, ...]:
    """Resolve a host to IP addresses in the order to try them. Raises socket.gaierror if unknown or unanswered."""
    if _is_ip_address(host):  # saves a resolver, whose descriptors stay open for a second after it is closed
        return (host,)
    from aiohttp.resolver import AsyncResolver  # a heavy import that most commands never need

    resolver = AsyncResolver()
    try:
        found = await resolver.resolve(host, port, family=socket.AF_UNSPEC)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "no host can have this name") from None
    except OSError as error:  # aiohttp raises it without an errno
        raise socket.gaierror(socket.EAI_NONAME, error.strerror) from None
    finally:
        await resolver.close()
    return tuple(entry["host"] for entry in found)


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
