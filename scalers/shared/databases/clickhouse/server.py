"""A `Server` of ClickHouse, and its links: native ones, or questions over HTTP, which share no session."""

import ssl
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from keda_py.sdk.advanced import NO_REDIRECTS, ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.scaler import ScalerError
from scalers.shared.credentials.basic import basic
from scalers.shared.databases.clickhouse.address import ClickHouseAddress
from scalers.shared.databases.clickhouse.native import NativeLink
from scalers.shared.databases.queries.link import LONGEST_ANSWER, NO_ROW, Link, QueryRefused, only_cell
from scalers.shared.http_answer import HttpQuestion, ask
from scalers.shared.protocols.tcp import open_stream, reason_of

_LONGEST_SAID = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickHouseServer:
    """A database as a user; `tls` None: plain text."""

    at: ClickHouseAddress
    tls: TlsSettings | None
    timeout: float

    @property
    def address(self) -> str:
        """`host:port` of the first server."""
        host, port = self.at.hosts[0]
        return f"clickhouse {host}:{port}"

    def key(self, tenant: str, use: str) -> SharingKey:
        """Key that always holds the user."""
        at, tls = self.at, self.tls or TlsSettings()
        places = ",".join(f"{host}:{port}" for host, port in at.hosts)
        settings = urlencode(sorted(at.settings.items()))
        how = (at.by_http, at.database, self.timeout, self.tls is not None, tls.ca, tls.unsafe, settings)
        what = ("clickhouse", use, places, *how)
        return sharing_key(tenant, what, at.username, at.password, *tls.credential, "user")

    async def connect(self, context: ScalerContext) -> Link:
        """Connect to the first server that answers. Raises ScalerError, or ConfigError for TLS."""
        tls = context.tls_context(self.tls) if self.tls else None
        failure = ScalerError("no server")
        for host, port in self.at.hosts:
            try:
                return await self._connect(host, port, tls, context)
            except QueryRefused as error:
                failure = ScalerError(f"{host}:{port}: the log-in is refused: {error}")
            except (OSError, ScalerError) as error:
                failure = ScalerError(f"{host}:{port}: connection failed: {reason_of(error)}")
        raise failure

    async def _connect(self, host: str, port: int, tls: ssl.SSLContext | None, context: ScalerContext) -> Link:
        if self.at.by_http:
            scheme, name = "https" if self.at.secure else "http", f"[{host}]" if ":" in host else host
            link = HttpLink(
                self.at, HttpPlace(url=f"{scheme}://{name}:{port}/", tls=tls, timeout=self.timeout), context
            )
            await link.first("SELECT 1")
            return link
        native = NativeLink(*await open_stream(host, port, LONGEST_ANSWER, tls))
        try:
            await native.log_in(self.at)
        except BaseException:
            await native.aclose()
            raise
        return native


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlace:
    """Where and how a question over HTTP goes."""

    url: str
    tls: ssl.SSLContext | None
    timeout: float


class HttpLink:
    """A `Link` that asks over HTTP, each time anew."""

    closed = False

    def __init__(self, at: ClickHouseAddress, place: HttpPlace, context: ScalerContext) -> None:
        self._place, self._context = place, context
        self._headers = basic(at.username, at.password.get_secret_value())
        # Without waiting for the end, a query that fails half-way has answered 200 already.
        form = {"database": at.database, "default_format": "TabSeparatedWithNames", "wait_end_of_query": "1"}
        self._parameters = {**at.settings, **form}

    async def first(self, query: str) -> object:
        """The only cell of the first row as text, None for null, or NO_ROW. Raises QueryRefused or ScalerError."""
        question = HttpQuestion(
            url=self._place.url,
            method="POST",
            parameters=self._parameters,
            headers=self._headers,
            content=query.encode(),
            tls=self._place.tls,
            timeout=timedelta(seconds=self._place.timeout),
            redirects=NO_REDIRECTS,
        )
        answer = await ask(self._context, question)
        if answer.status_code != 200:
            said = " ".join(answer.content[: 4 * _LONGEST_SAID].decode("utf-8", "replace").split())
            raise QueryRefused(f"status {answer.status_code}: {said[:_LONGEST_SAID]}")
        return _first_cell(answer.content)

    async def restore(self) -> bool:
        """Return True: there is no session."""
        return True

    async def aclose(self) -> None:
        """Do nothing: the shared client has the connections."""


def _first_cell(answer: bytes) -> object:
    """Read a table whose first line has the names. Raises QueryRefused for several columns."""
    names, _, rows = answer.partition(b"\n")
    only_cell(names.split(b"\t"))
    line, end, _ = rows.partition(b"\n")
    if not end and not line:
        return NO_ROW
    return None if line == rb"\N" else line
