"""Transport: one HTTP exchange with the API server; every failure becomes Unavailable.

`config.py` provides address and credentials; `client.py` interprets the answers. Rule: every wait has a bound, and all
bounds run on the loop's time, never on a `Clock`.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
import orjson
from yarl import URL

from keda_py import __version__
from keda_py.errors import ConfigError, Unavailable, forget_frames
from keda_py.kube.config import Access, load_access

log = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
# Between two checks of the configuration's files, and between two renewals after a 401.
CHECK_SECONDS = 10.0
NEVER = float("-inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. `timeout` in seconds covers retries too; `resource` is the label of our own metrics."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    resource: str = ""


class Transport:
    """Sender of requests over the current `Access`, which is renewed when its files change or the server refuses it."""

    def __init__(self, kubeconfig: str = "") -> None:
        self._kubeconfig = kubeconfig
        self._access: Access | None = None
        self._checked = self._renewed = NEVER
        self._renewing = asyncio.Lock()

    async def open(self) -> None:
        """Load the configuration. Raises ConfigError."""
        self._access = await load_access(self._kubeconfig)
        self._checked = asyncio.get_running_loop().time()

    async def close(self) -> None:
        """Close all connections; exchanges under way fail."""
        access, self._access = self._access, None
        if access is not None:
            access.in_flight = 0
            await access.retire()

    @property
    def url(self) -> str:
        return self._access.url if self._access else ""

    @asynccontextmanager
    async def exchange(self, request: Request, timeout: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and yield the answer, body unread. Raises Unavailable, also while the body is read."""
        access = await self._current()
        access.in_flight += 1
        try:
            # Counted in `in_flight` until the body is read: a reload must not close the session of an open stream.
            async with access.session.request(**await _arguments(access, request), timeout=timeout) as response:
                yield response
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, ssl.SSLError | aiohttp.ClientSSLError):
                self._checked = NEVER  # a rotated CA fails the handshake first: check the files at the next request
            forget_frames(error)
            raise Unavailable(f"{request.method} {request.path}: {_describe(error)}") from error
        finally:
            access.in_flight -= 1
            if access.retired:
                await access.retire()

    async def authorization(self) -> str:
        """Return our Authorization header, "" without a token. Raises Unavailable if it cannot be read."""
        return await (await self._current()).authorization()

    async def renew(self) -> bool:
        """Reload the configuration after a 401; False if that was done within CHECK_SECONDS, or failed."""
        refused = self._access
        async with self._renewing:
            # Many requests get a 401 at once when a token expires; the first renewal serves them all.
            if self._access is not refused:
                return True
            now = asyncio.get_running_loop().time()
            # A server that refuses valid credentials would otherwise cause a reload, and an exec plugin's run, per
            # request.
            if now - self._renewed < CHECK_SECONDS:
                return False
            self._renewed = now
            return await self._replace()

    async def _current(self) -> Access:
        if self._access is None:
            raise Unavailable("the client is closed")
        now = asyncio.get_running_loop().time()
        if now - self._checked >= CHECK_SECONDS:
            self._checked = now
            if self._access.changed():
                async with self._renewing:
                    await self._replace()
        return self._access

    async def _replace(self) -> bool:
        try:
            access = await load_access(self._kubeconfig)
        except ConfigError as error:
            log.warning("credentials not reloaded, the old ones stay", extra={"error": str(error)})
            return False
        old, self._access = self._access, access
        log.info("credentials reloaded", extra={"server": access.url})
        if old is not None:
            await old.retire()
        return True


def keep_alive(response: aiohttp.ClientResponse) -> None:
    """Enable TCP keep-alive on a connection that may be silent: a half-open one is found in 30 s instead of 5 min."""
    transport = response.connection.transport if response.connection else None
    sock = transport.get_extra_info("socket") if transport else None
    if sock is None:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):  # not all on every system
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _arguments(access: Access, request: Request) -> dict[str, Any]:
    query = f"?{urlencode(request.query)}" if request.query else ""
    url = URL(f"{access.url}{request.path}{query}", encoded=True)
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": f"keda-py/{__version__}",
        **request.headers,
    }
    if request.body is not None:
        headers.setdefault("Content-Type", "application/json")
    if authorization := await access.authorization():
        headers["Authorization"] = authorization
    return {
        "method": request.method,
        "url": url,
        "data": None if request.body is None else orjson.dumps(request.body),
        "headers": headers,
        "allow_redirects": False,
        "proxy": access.proxy or None,
        "server_hostname": access.server_hostname or None,
    }


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def read_body(response: aiohttp.ClientResponse, most: int) -> bytes | None:
    """Read a whole body; None for one of over `most` bytes, of which no more is read."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)
