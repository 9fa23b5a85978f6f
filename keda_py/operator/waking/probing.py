"""Probes: whether a waker listens on a port for a Service, asked over TCP at its pod or through the Service.

I/O runs on the loop's own time; a probe that gets no answer within a second is a no. An ordinary server may be asked as
well, while a Service has both endpoints; it gets one line, and the connection is closed.
"""

import asyncio
from contextlib import suppress

PROBE, ANSWER = "PRI-KEDA-PY-PROBE", "KEDA-PY-WAKER"
PROBE_SECONDS = 1.0
_LONGEST = 300


async def ask_waker(host: str, port: int, service_uid: str) -> str:
    """Return the name of the waker pod that answers for this Service; "" for any other answer, or none."""
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, limit=_LONGEST)
            writer.write(f"{PROBE} {service_uid}\r\n".encode())
            line = await reader.readline()
    except (OSError, ValueError, TimeoutError):
        return ""
    finally:
        if writer is not None:
            with suppress(OSError):
                writer.transport.abort()
    word, _, pod = line.decode(errors="replace").strip().partition(" ")
    return pod if word == ANSWER else ""
