"""MongoDB by pymongo: one client for all triggers of one server and user.

A connection string is a tenant's: what in it names a file of the operator, or asks for the operator's own identity at
a cloud, is refused. Texts of the library are shown only where they cannot hold the string.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import SecretStr

from keda_py.sdk.advanced import LONGEST_TIMEOUT, ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.scaler import ConfigError, ScalerError
from scalers.shared.databases.mongodb_filter import filter_problem, read_filter
from scalers.shared.databases.queries.pool import LONGEST_WAIT
from scalers.shared.extras import needs_extra

if TYPE_CHECKING:
    from pymongo import AsyncMongoClient

T = TypeVar("T")

_MECHANISMS = frozenset({"", "DEFAULT", "SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN", "MONGODB-X509"})
_FILES = frozenset({"tlscafile", "tlscertificatekeyfile", "tlscrlfile"})
_LONGEST_TEXT = 300
_CONNECTIONS = 8
"""Connections of one client to one server; the library opens them when they are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MongoServer:
    """A connection string, with certificates beside it."""

    uri: SecretStr
    tls: TlsSettings | None
    timeout: float

    def key(self, tenant: str) -> SharingKey:
        """Key with the whole string as credential, since it may hold a password."""
        tls = self.tls or TlsSettings()
        what = ("mongodb", self.timeout, self.tls is not None, tls.ca)
        return sharing_key(tenant, what, self.uri, *tls.credential)


class MongoClient:
    """A client that has answered a ping. Counts go side by side, as many as it has connections."""

    def __init__(self, client: "AsyncMongoClient[dict[str, Any]]", timeout: float) -> None:
        self._client, self._timeout = client, timeout
        self._turns = asyncio.Semaphore(_CONNECTIONS)

    async def count(self, database: str, collection: str, query: str) -> int:
        """How many documents match; the time-out begins when it is its turn. Raises ScalerError."""
        from bson.errors import BSONError
        from pymongo.errors import PyMongoError

        if problem := filter_problem(query):
            raise ScalerError(problem)
        async with self._turn():
            try:
                counting = self._client[database][collection].count_documents(read_filter(query))
                count = await _in_time(self._client, counting, self._timeout)
            except (PyMongoError, BSONError, ValueError, TypeError, LookupError, OverflowError, OSError) as error:
                raise ScalerError(f"mongodb cannot count {database}.{collection}: {_reason(error)}") from None
        if not isinstance(count, int) or isinstance(count, bool):
            raise ScalerError(f"mongodb cannot count {database}.{collection}: the answer is no whole number")
        return count

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                await self._turns.acquire()
        except TimeoutError:
            raise ScalerError(
                f"mongodb was kept busy for {LONGEST_WAIT:g} s by slow queries: make them quicker"
            ) from None
        try:
            yield
        finally:
            self._turns.release()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.close()


def load_library() -> None:
    """Raises ConfigError where the library is missing."""
    with needs_extra("mongodb"):
        import pymongo  # noqa: F401


async def connect(server: MongoServer, context: ScalerContext) -> MongoClient:
    """The shared client. Raises ScalerError, or ConfigError for what is refused."""

    async def opened() -> MongoClient:
        with context.clock.busy(), tempfile.TemporaryDirectory(prefix="keda-py-") as folder:
            return MongoClient(await _pinged(server, context, Path(folder)), server.timeout)

    return await context.shared(server.key(context.namespace), opened, MongoClient.aclose)


async def _pinged(server: MongoServer, context: ScalerContext, folder: Path) -> "AsyncMongoClient[dict[str, Any]]":
    from pymongo import AsyncMongoClient
    from pymongo.errors import ConfigurationError, PyMongoError

    from scalers.shared.protocols.mongodb_pool import bounded_pool

    _check(server.uri)
    milliseconds = int(server.timeout * 1000)
    options: dict[str, Any] = {
        "serverSelectionTimeoutMS": milliseconds,
        "connectTimeoutMS": milliseconds,
        "socketTimeoutMS": milliseconds,
        "timeoutMS": milliseconds,
        "maxPoolSize": _CONNECTIONS,
        # By default the library keeps one more connection for each server, to measure round trips while the first one
        # waits.
        "serverMonitoringMode": "poll",
        "appname": "keda-py",
        "_pool_class": bounded_pool(context),
        **_tls_options(server.tls, context, folder),
    }
    try:
        client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(server.uri.get_secret_value(), **options)
    except (ConfigurationError, PyMongoError, ValueError, TypeError, OSError):
        raise _wrong("cannot be used: write mongodb://user:password@host:27017/db") from None
    try:
        await _in_time(client, client.admin.command("ping"), server.timeout)
    except BaseException as error:
        await client.close()
        if isinstance(error, PyMongoError | OSError):
            hosts, said = _hosts(server.uri), _reason(error)
            where = "" if hosts in said else f"{hosts}: "
            raise ScalerError(f"mongodb cannot be reached: {where}{said}") from None
        raise
    return client


async def _in_time(client: "AsyncMongoClient[dict[str, Any]]", asking: Awaitable[T], seconds: float) -> T:
    """The library looks at a server each half second, and at its own time-outs no more often.

    Raises PyMongoError or OSError, with what the servers' last failures were.
    """
    try:
        async with asyncio.timeout(seconds):
            return await asking
    except TimeoutError:
        failed = (server.error for server in client.topology_description.server_descriptions().values())
        said = ", ".join(dict.fromkeys(_reason(error) for error in failed if error is not None))
        remedy = f"a longer `timeout` may be set in the trigger's metadata, up to {LONGEST_TIMEOUT:g}s"
        raise TimeoutError(said or f"no answer in {seconds:g} s: {remedy}") from None


def _check(uri: SecretStr) -> None:
    """Raises ConfigError for options that would use what is the operator's."""
    _, _, query = uri.get_secret_value().partition("?")
    given = {
        name.lower(): value for name, _, value in (pair.partition("=") for pair in query.replace(";", "&").split("&"))
    }
    if files := sorted(_FILES & given.keys()):
        raise _wrong(f"{files[0]} names a file of the operator: give ca, cert and key in a TriggerAuthentication")
    if given.get("authmechanism", "").upper() not in _MECHANISMS:
        raise _wrong(f"authMechanism is not one of {', '.join(sorted(_MECHANISMS - {''}))}")
    if "%2f" in uri.get_secret_value().partition("?")[0].rpartition("@")[2].lower():
        raise _wrong("names a socket of the operator's machine: name a host")


def _tls_options(tls: TlsSettings | None, context: ScalerContext, folder: Path) -> dict[str, Any]:
    """The library reads PEM from files only; they are there until it has connected."""
    if tls is None:
        return {}
    context.tls_context(tls)  # looks at the texts
    options: dict[str, Any] = {"tls": True}
    if tls.ca:
        (folder / "ca.pem").write_text(tls.ca, encoding="utf-8")
        options["tlsCAFile"] = str(folder / "ca.pem")
    if tls.cert:
        (folder / "client.pem").write_text(f"{tls.cert}\n{tls.key}", encoding="utf-8")
        options["tlsCertificateKeyFile"] = str(folder / "client.pem")
        if tls.key_password:
            options["tlsCertificateKeyFilePassword"] = tls.key_password
    return options


def _hosts(uri: SecretStr) -> str:
    """Return the hosts of a connection string that the library has accepted."""
    return uri.get_secret_value().partition("://")[2].partition("?")[0].rpartition("@")[2].partition("/")[0]


def _wrong(what: str) -> ConfigError:
    return ConfigError(f"connectionString: {what}", field="connectionString")


def _reason(error: BaseException) -> str:
    """Cut off the library's own view of the cluster, which follows the reason."""
    text = str(error)
    for rest in (", Timeout:", ", full error:", " (configured timeouts:"):
        text = text.partition(rest)[0]
    return (text or type(error).__name__)[:_LONGEST_TEXT]
