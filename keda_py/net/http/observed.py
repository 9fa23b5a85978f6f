"""Tells an observer of every HTTP exchange: status and time until the head of the answer has come."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import httpx


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpExchange:
    """`status` 0: no answer came."""

    status: int
    seconds: float


class ObservedTransport(httpx.AsyncBaseTransport):
    """Another transport, watched; redirects are exchanges of their own."""

    def __init__(self, transport: httpx.AsyncBaseTransport, observe: Callable[[HttpExchange], None]) -> None:
        self._transport, self._observe = transport, observe

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """As the transport inside does."""
        loop = asyncio.get_running_loop()
        began, status = loop.time(), 0
        try:
            response = await self._transport.handle_async_request(request)
            status = response.status_code
        finally:
            self._observe(HttpExchange(status=status, seconds=loop.time() - began))
        return response

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._transport.aclose()
