"""Messages between the operator and its webhook process: JSON objects, one a line, over a pair of sockets.

To the process: `{"begin": Orders}` first, `{"certificate": {...}}`, `{"answer": number, ...}`, `{"leave": true}`,
`{"ping": true}`, `{"stop": true}`. From it: `{"beat": true}` every few seconds while clients are connected and at each
ping, `{"idle": true}` when they have gone, `{"done": true}` before it ends for want of clients, `{"ask": number, ...}`,
`{"reviewed": {...}}`, `{"log": {...}}`. When one side ends, the other reads the end.
"""

import asyncio
import socket
from contextlib import suppress
from typing import Any

import orjson

Message = dict[str, Any]

LONGEST_MESSAGE = 4 * 1024 * 1024
HELD_BYTES = 4 * 1024 * 1024
"""What may wait for a side that does not read."""


class Link:
    """One side; nothing here ever waits for the other but `next`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, wire: socket.socket) -> "Link":
        """On one of a pair of sockets, which it closes in the end."""
        return cls(*await asyncio.open_connection(sock=wire, limit=LONGEST_MESSAGE))

    def tell(self, message: Message) -> bool:
        """Send it. False where the other side is gone, or too much waits for it already."""
        wire = self._writer.transport
        if wire.is_closing() or wire.get_write_buffer_size() > HELD_BYTES:
            return False
        wire.write(orjson.dumps(message) + b"\n")
        return True

    async def next(self) -> Message | None:
        """The next message; None when the other side has ended."""
        try:
            line = await self._reader.readline()
            message = orjson.loads(line) if line.endswith(b"\n") else None
        except (OSError, ValueError):
            return None
        return message if isinstance(message, dict) else None

    async def aclose(self) -> None:
        """Close after the messages that wait were sent, if the other side still reads."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
