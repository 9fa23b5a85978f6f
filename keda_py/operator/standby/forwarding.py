"""Every replica serves, the Lease holder knows: questions that reach another replica are passed on to the holder.

`external_metrics/routing.py` sends questions here before this replica answers by itself. The replica that was asked
authenticates and authorises the caller and passes on nothing but the question; the holder believes it by its
certificate alone (`serving/peers.py`), answers these paths only, and never passes a question on again. Where the holder
cannot be reached within a second, the replica that was asked answers by itself (`standby/standby_reader.py`).
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

import aiohttp
from yarl import URL

from keda_py.errors import KedaPyError
from keda_py.external_metrics.authorised_request import ApiResponse, AuthorisedRequest
from keda_py.kube.leases.lease_record import Holder
from keda_py.serving.api_request import ApiRequest
from keda_py.serving.peers import Peers

log = logging.getLogger(__name__)

ANSWER_SECONDS = 1.0
CONNECT_SECONDS = 0.5
# A holder that could not be reached is not asked for this long, so that not every question waits for it.
SILENT_SECONDS = 1.0
# One slow answer is its source's; so many without another answer between them are the holder's.
SLOW_IN_A_ROW = 3
REMEMBERED = 64
"""Addresses that failed; a replica that is gone for good never answers again."""
CONNECTIONS, IDLE_SECONDS = 32, 60.0
NOT_AN_ANSWER = frozenset({401, 403, 421})
"""The other one does not know us, or does not hold the Lease any more."""


class UnansweredError(KedaPyError):
    """The holder did not answer; the text says why."""


class Forwarding:
    """Asks the holder what this replica does not know: `holder` says which one that is, None if it is this one.

    `on_own` is called where this replica answers a question that the holder should have answered.
    """

    def __init__(
        self, holder: Callable[[AuthorisedRequest], Holder | None], peers: Peers, on_own: Callable[[], None]
    ) -> None:
        self._holder, self._peers, self._on_own = holder, peers, on_own
        self._session: aiohttp.ClientSession | None = None
        self._silent: dict[str, float] = {}
        """Which addresses are left in peace, and until when."""
        self._failing: dict[str, str] = {}
        self._slow: Counter[str] = Counter()

    async def ask(self, question: AuthorisedRequest) -> ApiResponse | None:
        """What the holder answers; None: it is for us to answer."""
        address = self._address(question)
        if address:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    answer = await self._ask(address, question.asked)
            except TimeoutError:
                # A slow answer may be its source's fault: the holder counts as silent only after several without
                # another answer between.
                self._slow[address] += 1
                if self._slow[address] >= SLOW_IN_A_ROW:
                    self._give_up(address, f"no answer within {ANSWER_SECONDS:g} s")
            except UnansweredError as error:
                self._give_up(address, str(error))
            else:
                self._note(address, "")
                return answer
        self._on_own()
        return None

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    def _address(self, question: AuthorisedRequest) -> str:
        """Where to ask; "" if no other replica knows, has not said where it serves, or was not there a moment ago."""
        holder = self._holder(question)
        if holder is None:
            return ""
        silent = asyncio.get_running_loop().time() < self._silent.get(holder.address, float("-inf"))
        return "" if silent else holder.address

    async def _ask(self, address: str, asked: ApiRequest) -> ApiResponse:
        """Raises UnansweredError."""
        tls = self._peers.context()
        if tls is None:
            raise UnansweredError("there is no certificate to show; --enable-cert-rotation makes one")
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=IDLE_SECONDS)
            timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        url = f"https://{address}{asked.path}{'?' if asked.query else ''}{asked.query}"
        try:
            async with self._session.request(
                asked.method,
                URL(url, encoded=True),
                data=asked.body or None,
                ssl=tls,
                server_hostname=self._peers.name,
                # A replica never redirects, and the question of a caller goes nowhere else.
                allow_redirects=False,
            ) as answer:
                if answer.status in NOT_AN_ANSWER:
                    raise UnansweredError(f"it answers {answer.status}")
                body = await answer.read()
                return ApiResponse(status=answer.status, body=body, content_type=answer.content_type)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UnansweredError(f"{type(error).__name__}: {error}") from None

    def _give_up(self, address: str, trouble: str) -> None:
        now = asyncio.get_running_loop().time()
        self._silent = {other: until for other, until in self._silent.items() if until > now}
        # Not asked for a while: otherwise each question of the HPAs would first wait for the time-out of a replica
        # that is gone.
        self._silent[address] = now + SILENT_SECONDS
        self._note(address, trouble)

    def _note(self, address: str, trouble: str) -> None:
        """Tell when it begins and when it ends."""
        if not trouble:
            self._slow.pop(address, None)
        before = self._failing.get(address, "")
        fields = {"address": address, "error": trouble or before}
        if trouble and not before:
            log.warning("the holder of the lease cannot be asked, answering instead of it", extra=fields)
        elif before and not trouble:
            log.warning("the holder of the lease can be asked again", extra=fields)
        self._failing.pop(address, None)
        if trouble:
            self._failing = {**dict(list(self._failing.items())[-REMEMBERED:]), address: trouble}
