"""Bounds of a waker; each keeps memory, descriptors or time for the other tenants."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of connections; times in seconds."""

    connections: int = 20_000
    namespace_connections: int = 10_000
    connection_bytes: int = 64 * 1024
    """Bytes that are kept of a connection while it waits; further ones stay in the kernel and with the client."""
    first_bytes: int = 2 * 1024
    """Bytes that are kept of each connection, whatever others of its namespace have: the head of a usual request."""
    namespace_bytes: int = 16 * 2**20
    all_bytes: int = 48 * 2**20
    """Half of what 10 000 held connections may cost in all: 150 MB, 50 of them for the process itself."""
    silence: float = 1.0
    """A connection that is open and silent for so long belongs to a protocol in which the server speaks first."""
    head: float = 15.0
    """From the first byte until it is known what is asked for; slower clients are cut off."""
    longest_hold: float = 600.0
    ending: float = 2.0
    """How long a client may take to read its last answer."""
    dial: float = 1.0
    """A pod that accepts no connection in that time is passed over for the next one."""
    dials_at_once: int = 32
    linger: float = 10.0
    """A port is served so long after its slice has gone: proxies and ingresses lag behind by a second or more."""
    leave: float = 2.0
    """After its slice has gone, clients of a Service are asked to connect anew: every node knows of it by then."""
    repeat: float = 5.0
    """While connections wait, the operator is told so again after that time."""
    coalesce: float = 1.0
    """At most one call for each Service in that time."""
