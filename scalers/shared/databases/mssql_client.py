"""python-tds, bounded: how much a server may send, which certificates are believed, and a thread that can be ended.

Imported only where a trigger of SQL Server is opened: the libraries are of an extra.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ssl import DER_cert_to_PEM_cert
from typing import Any, TypeVar

import pytds
from cryptography import x509
from OpenSSL import SSL, crypto
from pydantic import SecretStr
from pytds import tls
from pytds.tds_base import ClosedConnectionError, Error

from keda_py.sdk.advanced import addresses
from keda_py.sdk.scaler import ScalerError
from scalers.shared.databases.mssql_address import MssqlAddress
from scalers.shared.databases.queries.link import LONGEST_ANSWER, NO_ROW, QueryRefused, only_cell
from scalers.shared.protocols.tcp import reason_of

T = TypeVar("T")


class _Settings(str):
    """Stands where the library takes the name of a file, from which it would make a context of its own."""

    context: SSL.Context


def _context_of(cafile: str) -> SSL.Context:
    return cafile.context if isinstance(cafile, _Settings) else _of_file(cafile)


logging.getLogger("pytds").setLevel(logging.WARNING)  # it tells of each query

_of_file: Callable[[str], SSL.Context] = tls.create_context
tls.create_context = _context_of


class BoundedSocket:
    """A connected socket, as far as the library uses one."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner, self._left = inner, LONGEST_ANSWER

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def begin(self) -> None:
        """Begin a question: the server may send a full answer again."""
        self._left = LONGEST_ANSWER

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive bytes. Raises OSError for too many."""
        data = self._inner.recv(size, flags)
        self._take(len(data))
        return data

    def recv_into(self, buffer: bytearray, size: int = 0, flags: int = 0) -> int:
        """Receive into a buffer, and return how many bytes. Raises OSError for too many."""
        count = self._inner.recv_into(buffer, size, flags)
        self._take(count)
        return count

    def cut(self) -> None:
        """Close the socket under a thread that waits for it."""
        with suppress(OSError):  # it is closed already
            self._inner.shutdown(socket.SHUT_RDWR)
        self._inner.close()

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise OSError(f"the server sends more than {LONGEST_ANSWER} bytes")


class MssqlLink:
    """A `Link` whose library runs in a thread of its own."""

    def __init__(self, connection: Any, wire: BoundedSocket, thread: ThreadPoolExecutor) -> None:
        self._connection, self._wire, self._thread = connection, wire, thread

    @property
    def closed(self) -> bool:
        return bool(self._wire.fileno() < 0)

    async def restore(self) -> bool:
        """Return False: the library cannot reset a session."""
        return False

    async def first(self, query: str) -> object:
        """Return the only cell; further rows are left to the server."""
        self._wire.begin()
        try:
            return await _run(self._thread, self._ask, query)
        except (ClosedConnectionError, OSError, pytds.InterfaceError) as error:
            raise ScalerError(f"connection lost: {_reason(error)}") from None
        except Error as error:
            raise QueryRefused(f"the query is refused: {_reason(error)}") from None

    def _ask(self, query: str) -> object:
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            row = cursor.fetchone() if cursor.description else None
            return NO_ROW if row is None else only_cell(row)

    async def aclose(self) -> None:
        """Close the socket, which ends the thread."""
        self._wire.cut()
        self._thread.shutdown(wait=False)


async def connected(
    at: MssqlAddress, trusted: Sequence[bytes] | None, token: SecretStr | None, timeout: float
) -> MssqlLink:
    """`trusted` are the authorities to believe, DER, beside the system's; None: any certificate. Raises ScalerError."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mssql")
    wire = BoundedSocket(await _connect(at))
    options = _options(at, trusted, token)
    try:
        connection = await _run(thread, lambda: pytds.connect(**options, sock=wire, login_timeout=timeout))
    except BaseException as error:
        wire.cut()
        thread.shutdown(wait=False)
        if isinstance(error, Error | OSError | SSL.Error | ValueError):
            raise ScalerError(f"connection failed: {_reason(error)}") from None
        raise
    return MssqlLink(connection, wire, thread)


def _options(at: MssqlAddress, trusted: Sequence[bytes] | None, token: SecretStr | None) -> dict[str, Any]:
    identity_fields: dict[str, Any] = {"user": at.user or None, "password": at.password.get_secret_value()}
    encryption = at.encryption
    if token is not None:
        text, encryption = token.get_secret_value(), "all"
        identity_fields = {"access_token_callable": lambda: text}
    security: dict[str, Any] = {}
    if encryption != "none":
        settings = _Settings("see its context")
        settings.context = context_for(at.host, trusted)
        security = {"cafile": settings, "validate_host": False, "enc_login_only": encryption == "login"}
    return {
        "dsn": at.host,
        "port": at.port,
        "database": at.database,
        "autocommit": True,
        "disable_connect_retry": True,
        **identity_fields,
        **security,
    }


def context_for(host: str, trusted: Sequence[bytes] | None) -> SSL.Context:
    """Make a context: without checks if authorities are None, with the system's authorities if there are no others."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_max_proto_version(SSL.TLS1_2_VERSION)  # TDS 7 wraps the handshake, in which TLS 1.3 ends later
    if trusted is None:
        context.set_verify(SSL.VERIFY_NONE, lambda *_: True)
        return context
    context.set_default_verify_paths()  # a folder of them is not listed by Python before one is needed
    store = context.get_cert_store()
    assert store is not None
    for authority in trusted:
        store.add_cert(
            crypto.X509.from_cryptography(x509.load_pem_x509_certificate(DER_cert_to_PEM_cert(authority).encode()))
        )

    def check(_: object, certificate: crypto.X509, __: int, depth: int, good: int) -> bool:
        return good == 1 and (depth > 0 or _is_of(certificate.to_cryptography(), host))

    context.set_verify(SSL.VERIFY_PEER, check)
    return context


def _is_of(certificate: x509.Certificate, host: str) -> bool:
    """Return whether one of the certificate's names is the host's; a star is one label."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    wanted = host.lower().rstrip(".")
    texts = [name.lower() for name in names.get_values_for_type(x509.DNSName)]
    numbers = [str(number) for number in names.get_values_for_type(x509.IPAddress)]
    stars = [name[1:] for name in texts if name.startswith("*.")]
    return wanted in texts or wanted in numbers or f".{wanted.partition('.')[2]}" in stars


async def _connect(at: MssqlAddress) -> socket.socket:
    loop = asyncio.get_running_loop()
    failure: Exception = OSError("no address")
    try:
        numbers = await addresses(at.host, at.port)
    except OSError as error:
        raise ScalerError(f"connection failed: {reason_of(error)}") from None
    for number in numbers:
        wire = socket.socket(socket.AF_INET6 if ":" in number else socket.AF_INET, socket.SOCK_STREAM)
        try:
            wire.setblocking(False)
            await loop.sock_connect(wire, (number, at.port))
        except OSError as error:
            wire.close()
            failure = error
        except BaseException:
            wire.close()
            raise
        else:
            return wire
    raise ScalerError(f"connection failed: {reason_of(failure)}")


async def _run(thread: ThreadPoolExecutor, function: Callable[..., T], *arguments: object) -> T:
    return await asyncio.get_running_loop().run_in_executor(thread, function, *arguments)


def _reason(error: BaseException) -> str:
    """Word the error, with the server's own text if there is one."""
    first = error.args[0] if error.args else ""
    return first if isinstance(first, str) and first else reason_of(error)
