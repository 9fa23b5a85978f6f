"""Upstream adapter for metrics that are not ours: `--external-metrics-upstream`.

A cluster has one server for external.metrics.k8s.io; if that is keda-py, Datadog's or another adapter is behind it.
`external_metrics/routing.py` sends here what a caller has been authorised for, exactly this metric. The upstream gets
our own token, namespace, metric and selector, and no header of the caller.

Rules: an answer is passed on unchanged if an adapter could have sent it; anything else is a 503, never an empty list. A
metric that is ours, or may be, is never requested there. Discovery stays ours and never waits for the upstream: the one
resource `externalmetrics` stands for the metrics of every adapter.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

import aiohttp
import orjson
from yarl import URL

from keda_py import __version__
from keda_py.errors import KedaPyError
from keda_py.external_metrics.authorised_request import JSON, ApiResponse, AuthorisedRequest
from keda_py.external_metrics.discovery import GROUP_VERSION, ROOT
from keda_py.kube.transport import read_body
from keda_py.serving.statuses import bad_request, unavailable

log = logging.getLogger(__name__)

# Shorter than our own time limit, so that our answer can name the upstream as the slow part.
LONGEST_SECONDS = 8.0
CONNECTIONS = 16
AT_ONCE = 128
"""Requests under way, including those that wait for a connection."""
LARGEST_ANSWER = 4 * 2**20
_VIA = f"1.1 keda-py/{__version__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Address and credentials of the upstream.

    `authorization` returns the header, re-read as tokens rotate; `trust` the TLS context. `seconds` is the time limit
    for an answer, LONGEST_SECONDS at most.
    """

    url: str
    authorization: Callable[[], Awaitable[str]]
    trust: Callable[[], ssl.SSLContext]
    seconds: float


class UpstreamError(KedaPyError):
    """Failure of the upstream; the text says why, for log and caller."""


class Upstream:
    """Client of the other adapter. Make it inside a running loop; `aclose` it."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS),
            # No state between requests: a cookie that the upstream sets for one caller must not go with the next.
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(),
        )
        self._seconds = min(peer.seconds, LONGEST_SECONDS)
        self._asking = 0
        self._failing = False

    async def aclose(self) -> None:
        await self._session.close()

    async def ask(self, namespace: str, metric: str, selector: str) -> ApiResponse:
        """Return its answer, a list or its refusal. Raises StatusError 503 without one, 400 for a bad name."""
        url = self._url(namespace, metric, selector)
        # A slow upstream must not pile up requests in this process; HPAs ask again within seconds.
        if self._asking >= AT_ONCE:
            raise unavailable(f"{AT_ONCE} questions are waiting for {self._peer.url} already; ask again later")
        self._asking += 1
        try:
            answer = await self._exchange(url)
        except UpstreamError as error:
            self._note(str(error))
            raise unavailable(f"{metric} is not a metric of keda-py, and its upstream {error}") from None
        finally:
            self._asking -= 1
        self._note("")
        return answer

    def _url(self, namespace: str, metric: str, selector: str) -> URL:
        """Build the URL from what was authorised: no text of the caller is passed on undecoded."""
        for name in (namespace, metric):
            if name in (".", "..") or "/" in name or "%" in name:
                raise bad_request(f"{name!r} is not a name: it may not be . or .., nor contain / or %")
        query = f"?labelSelector={quote(selector, safe='')}" if selector else ""
        path = f"{ROOT}/namespaces/{quote(namespace, safe='')}/{quote(metric, safe='')}"
        return URL(f"{self._peer.url}{path}{query}", encoded=True)

    async def _exchange(self, url: URL) -> ApiResponse:
        try:
            async with asyncio.timeout(self._seconds):
                # "identity": the answer's size is bounded as it arrives, which compression would defeat.
                headers = {"Accept": JSON, "Accept-Encoding": "identity", "User-Agent": "keda-py", "Via": _VIA}
                if authorization := await self._peer.authorization():
                    headers["Authorization"] = authorization
                request = self._session.get(url, headers=headers, ssl=self._peer.trust(), allow_redirects=False)
                async with request as response:
                    return _passed_on(response, await _read(response))
        except TimeoutError:
            raise UpstreamError(f"did not answer within {self._seconds:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamError(f"cannot be asked: {_describe(error)}") from None
        except UpstreamError:
            raise
        except KedaPyError as error:
            raise UpstreamError(f"cannot be asked: {error}") from None

    def _note(self, problem: str) -> None:
        if bool(problem) != self._failing:
            self._failing = bool(problem)
            fields = {"upstream": self._peer.url}
            if problem:
                log.warning("upstream of external metrics fails", extra={**fields, "error": problem})
            else:
                log.info("upstream of external metrics answers", extra=fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """Metrics that belong to the upstream, and their answers; used by every replica.

    `owns(namespace, metric)` raises StatusError 503 while this is unknown.
    """

    upstream: Upstream
    owns: Callable[[str, str], bool]

    async def answer(self, question: AuthorisedRequest) -> ApiResponse:
        """Return the upstream's answer. Raises StatusError."""
        return await self.upstream.ask(question.namespace, question.metric, question.selection.text)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    if (body := await read_body(response, LARGEST_ANSWER)) is None:
        raise UpstreamError(f"answers with more than {LARGEST_ANSWER >> 20} MiB")
    return body


def _passed_on(response: aiohttp.ClientResponse, body: bytes) -> ApiResponse:
    """Return the answer for our caller. A 401 is about our token, not the caller's, and so is an error."""
    if response.status == 401:
        raise UpstreamError("does not accept keda-py's token (401)")
    if not _is_usable(response.status, body):
        raise UpstreamError(f"answers {response.status} without an ExternalMetricValueList or a Status")
    headers = {name: response.headers[name] for name in ("Retry-After",) if name in response.headers}
    return ApiResponse(body=body, status=response.status, headers=headers)


def _is_usable(status: int, body: bytes) -> bool:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    match document:
        case {"kind": "ExternalMetricValueList", "apiVersion": apis, "items": list() | None}:
            return status == 200 and apis == GROUP_VERSION
        case {"kind": "Status", "apiVersion": "v1", "status": "Failure"}:
            return 400 <= status < 600
        case _:
            return False


def _describe(error: Exception) -> str:
    """Describe an error; aiohttp's own text contains the SSLContext's address in memory."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return str(error.certificate_error)
        case aiohttp.ClientConnectorError():
            return str(error.os_error)
        case _:
            return f"{type(error).__name__} {error}".strip()
