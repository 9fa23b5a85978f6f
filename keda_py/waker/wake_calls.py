"""Calls for a wake: one small POST to the operator, or with --patch-slices an annotation where it cannot be reached.

The waker shows its ServiceAccount's token, and the operator asks the API server whose it is. The connection is kept
open and used once a minute while anything sleeps, so that a call needs no handshake: a wake is asked for within some
milliseconds of a request. Nothing of the request is told but the client's address and user agent.
"""

import asyncio
import json
import logging
import ssl
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import aiohttp

from keda_py.core.values.times import write_time
from keda_py.core.waking.rules import REQUEST_ANNOTATION
from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import ENDPOINT_SLICES
from keda_py.serving.wake_endpoint import PATH

log = logging.getLogger(__name__)

CALL_SECONDS, CONNECT_SECONDS = 1.0, 0.5
WARM_SECONDS = 60.0
IDLE_SECONDS = 3 * WARM_SECONDS
CONNECTIONS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeCall:
    """A request that may wake a Service. `slice_name` is only the way, not part of the message."""

    namespace: str
    service: str
    slice_name: str
    port: str
    client: str
    user_agent: str
    at: datetime
    waiting: int

    def message(self) -> dict[str, object]:
        """Return the message, the same by both ways."""
        return {
            "namespace": self.namespace,
            "service": self.service,
            "port": self.port,
            "client": self.client,
            "userAgent": self.user_agent,
            "at": write_time(self.at),
            "waiting": self.waiting,
        }


class WakeCalls:
    """Sends calls to the operator at `url`, whose certificate an authority in `ca_file` has signed.

    `patches`: the cluster lets this process annotate slices.
    """

    def __init__(self, client: KubeClient, url: str, ca_file: str, *, patches: bool) -> None:
        self._patches = patches
        self._client, self._url, self._ca_file = client, f"{url.rstrip('/')}{PATH}", Path(ca_file)
        self._session: aiohttp.ClientSession | None = None
        self._trust: ssl.SSLContext | None = None
        self._trusted: tuple[int, int] = (0, 0)
        self._trouble = ""
        self.needed = asyncio.Event()
        """Set while any Service sleeps."""

    async def send(self, call: WakeCall) -> str:
        """Tell the operator. Return "told", "patched", or "failed" where neither way is open; the next call retries."""
        trouble = await self._exchange("POST", call.message())
        self._note(trouble)
        if not trouble:
            return "told"
        return "patched" if await self._patch(call) else "failed"

    async def keep_warm(self) -> None:
        """Use the connection now and then while it is `needed`, until cancelled."""
        while True:
            await self.needed.wait()
            self._note(await self._exchange("GET", None))
            await asyncio.sleep(WARM_SECONDS)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    async def _exchange(self, method: str, message: dict[str, object] | None) -> str:
        """Send one request; return what is wrong, "" if nothing is."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                headers = {"Authorization": await self._client.authorization()}
                trust = self._context()
                async with self._open_session().request(
                    method, self._url, json=message, headers=headers, ssl=trust, allow_redirects=False
                ) as answer:
                    return "" if answer.status < 300 else f"it answers {answer.status}"
        except TimeoutError:
            return f"no answer within {CALL_SECONDS:g} s"
        except (aiohttp.ClientError, KubeError, OSError, ValueError) as error:
            return f"{type(error).__name__}: {error}"

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=IDLE_SECONDS)
            timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    def _context(self) -> ssl.SSLContext:
        """Return the trust in the operator's certificate, read again whenever the file is another one."""
        stat = self._ca_file.stat()
        if self._trust is None or self._trusted != (stat.st_mtime_ns, stat.st_size):
            self._trust = ssl.create_default_context(cafile=str(self._ca_file))
            self._trusted = (stat.st_mtime_ns, stat.st_size)
        return self._trust

    async def _patch(self, call: WakeCall) -> bool:
        """Write the call into the Service's slice, which the operator watches."""
        if not self._patches or not call.slice_name:
            return False
        text = json.dumps(call.message(), sort_keys=True, separators=(",", ":"))
        path = ENDPOINT_SLICES.named(call.namespace, call.slice_name)
        try:
            await self._client.patch(path, {"metadata": {"annotations": {REQUEST_ANNOTATION: text}}})
        except KubeError as error:
            log.warning(
                "the operator cannot be told of a request",
                extra={"namespace": call.namespace, "service": call.service, "error": str(error)},
            )
            return False
        return True

    def _note(self, trouble: str) -> None:
        """Log when the operator cannot be called, and when it can again."""
        if bool(trouble) is not bool(self._trouble):
            cannot = "the operator cannot be called"
            text = (
                (f"{cannot}, asking by annotations" if self._patches else cannot)
                if trouble
                else "the operator can be called again"
            )
            log.warning(text, extra={"url": self._url, "error": trouble or self._trouble})
        self._trouble = trouble
