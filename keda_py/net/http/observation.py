"""Observation of every HTTP exchange: its status, and the time until the answer's head."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import httpx


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpExchange:
    """One exchange of the HTTP client; `status` is 0 without an answer."""

    status: int
    seconds: float


class ObservedTransport(httpx.AsyncBaseTransport):
    """Transport that reports each exchange of another transport; a redirect is an exchange of its own."""

    def __init__(self, transport: httpx.AsyncBaseTransport, observe: Callable[[HttpExchange], None]) -> None:
        self._transport, self._observe = transport, observe

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        loop = asyncio.get_running_loop()
        began, status = loop.time(), 0
        try:
            response = await self._transport.handle_async_request(request)
            status = response.status_code
        finally:
            self._observe(HttpExchange(status=status, seconds=loop.time() - began))
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()
