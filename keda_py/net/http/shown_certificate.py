"""A server's certificate, looked at in a handshake of its own on the loop, after which nothing is sent."""

import asyncio
import ssl

from keda_py.net.names import addresses


async def shown_certificate(host: str, port: int, context: ssl.SSLContext) -> bytes:
    """DER; `context` believes any. Raises OSError where no number of the host completes a handshake."""
    *others, last = await addresses(host, port)
    for number in others:
        try:
            return await _shown_by(number, host, port, context)
        except OSError:
            continue
    return await _shown_by(last, host, port, context)


async def _shown_by(number: str, host: str, port: int, context: ssl.SSLContext) -> bytes:
    loop = asyncio.get_running_loop()
    wire, _ = await loop.create_connection(asyncio.Protocol, number, port, ssl=context, server_hostname=host)
    try:
        shown: bytes | None = wire.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        wire.abort()
    return shown or b""
