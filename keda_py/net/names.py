"""Names of sources become numbers, without a thread.

The system's own look-up blocks a thread for as long as a name server is silent, up to a minute for one dead name, and
the threads are few: a dozen dead names of one tenant would hold up every look-up and every file read of all others. So
c-ares asks: a look-up under way costs some memory and nothing else, however many there are. It reads resolv.conf and
the hosts file, and one channel serves the whole loop. `net/http/transport.py` looks up through the same channel.
"""

import socket
from ipaddress import ip_address


async def addresses(host: str, port: int) -> tuple[str, ...]:
    """The numbers of a host, in the order in which to try them. Raises socket.gaierror: unknown, or not answered."""
    if _is_number(host):  # a resolver has descriptors, which it keeps for a second after it is closed
        return (host,)
    from aiohttp.resolver import AsyncResolver  # heavy: not for commands that look nothing up

    resolver = AsyncResolver()
    try:
        found = await resolver.resolve(host, port, family=socket.AF_UNSPEC)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "no host can have this name") from None
    except OSError as error:  # aiohttp's has no number
        raise socket.gaierror(socket.EAI_NONAME, error.strerror) from None
    finally:
        await resolver.close()
    return tuple(one["host"] for one in found)


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
