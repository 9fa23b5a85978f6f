"""Connections by gRPC: one for each server, TLS setting and credential of a tenant."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from keda_py.net.keys.private_keys import plain_private_key
from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.scaler import ConfigError, ScalerError
from scalers.shared.extras import needs_extra
from scalers.shared.protocols.tcp import open_stream, reason_of

# Bytes. Answers are a few numbers and names, and they are read on the loop.
LONGEST_ANSWER = 64 * 1024
_LONGEST_REASON = 300
_LATE = ("Deadline Exceeded", "connection attempt timed out", "(Endpoint closing)")
"""Texts of gRPC when a question or an attempt to connect times out."""
# gRPC's other ones lead to sockets of the operator's own machine.
_SCHEMES = ("dns:///", "dns:", "passthrough:///")

Metadata = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcServer:
    """One server as one client. `tls` None: plain text. `server_name`: which one its certificate has, "" its host."""

    address: str
    tls: TlsSettings | None = None
    server_name: str = ""

    def key(self, tenant: str) -> SharingKey:
        """Key under which the connection is shared: by all tenants unless there is a client certificate."""
        tls = self.tls or TlsSettings()
        what = ("grpc", self.address, self.server_name, self.tls is not None, tls.ca, tls.unsafe)
        return sharing_key(tenant, what, *tls.credential)


def host_and_port(address: str, field: str, default: int | None = None) -> str:
    """`host:port` of an address, which may lack its port where there is a default one. Raises ConfigError."""
    for scheme in _SCHEMES:
        address = address.removeprefix(scheme)
    if default is not None and (":" not in address or address.endswith("]")):
        address = f"{address}:{default}"
    host, _, port = address.rpartition(":")
    is_plain = bool(host) and "/" not in host and (":" not in host or (host[0], host[-1]) == ("[", "]"))
    if not is_plain or not (port.isascii() and port.isdigit()):
        raise ConfigError(f'{field}: "{address}" is not host:port, such as scaler.shop:6000', field=field)
    return address


class GrpcError(ScalerError):
    """A refusal; `code` is the name of gRPC's status, such as UNAUTHENTICATED."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class GrpcConnection:
    """A channel that connects by itself, again and again. Its answers are bytes.

    `timeout`: seconds of a question, and of a try to connect; the context's where it is None.
    """

    def __init__(self, server: GrpcServer, context: ScalerContext, *, timeout: float | None = None) -> None:
        self._server, self._context = server, context
        self._timeout = context.http_timeout if timeout is None else timeout
        self._grpc = _library()
        self._tls = context.tls_context(server.tls) if server.tls else None
        self._channel: Any = None
        self._opening = asyncio.Lock()

    @property
    def address(self) -> str:
        """`host:port`."""
        return self._server.address

    async def ask(self, path: str, request: bytes, metadata: Metadata = (), timeout: float | None = None) -> bytes:
        """The answer to one question, within so many seconds, by default the context's. Raises ScalerError."""
        channel, seconds = await self._open(), timeout or self._timeout
        async with self._context.connection(self._server.address), self._as_scaler_errors(path, seconds):
            asked = channel.unary_unary(path)(request, timeout=seconds, metadata=tuple(metadata))
            answer: bytes = await asked
        return answer

    async def follow(self, path: str, request: bytes, metadata: Metadata = ()) -> AsyncIterator[bytes]:
        """The answers of a stream, as they come. Raises ScalerError when it breaks off."""
        channel = await self._open()
        async with self._as_scaler_errors(path, self._timeout):
            call = channel.unary_stream(path)(request, metadata=tuple(metadata))
            try:
                async for answer in call:
                    yield answer
            finally:
                # A stream whose reader has left goes on until it is cancelled: the server would send, and the channel
                # would keep it.
                call.cancel()

    async def aclose(self) -> None:
        """Cancel all questions."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    @asynccontextmanager
    async def _as_scaler_errors(self, path: str, seconds: float) -> AsyncIterator[None]:
        """Turn failures into ScalerError, also where another question's failure has closed the channel."""
        what = f"gRPC {self._server.address} {path.rpartition('/')[2]}"
        try:
            yield
        except self._grpc.aio.AioRpcError as error:
            await self._give_up(error)
            reason = str(error.details())[:_LONGEST_REASON]
            late = f"no answer in {seconds:g} s: " if any(words in reason for words in _LATE) else ""
            raise GrpcError(f"{what}: {error.code().name}: {late}{reason}", error.code().name) from None
        # The library cancels the calls of a channel that another question's failure has closed. Only a cancellation
        # from outside may pass.
        except (self._grpc.aio.UsageError, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise ScalerError(f"{what}: the connection was closed") from None

    async def _give_up(self, error: Any) -> None:
        unsafe = self._server.tls is not None and self._server.tls.unsafe
        if unsafe and error.code() == self._grpc.StatusCode.UNAVAILABLE:
            await self.aclose()  # the certificate that was believed may have been replaced

    async def _open(self) -> Any:
        async with self._opening:
            if self._channel is None:
                self._channel = await self._connect()
            return self._channel

    async def _connect(self) -> Any:
        options: list[tuple[str, object]] = [
            ("grpc.lb_policy_name", "round_robin"),
            ("grpc.max_receive_message_length", LONGEST_ANSWER),
            ("grpc.initial_reconnect_backoff_ms", 200),
            ("grpc.max_reconnect_backoff_ms", 5000),
            # Also limits one attempt to connect, so that a server that accepts and never answers is given up.
            ("grpc.min_reconnect_backoff_ms", round(self._timeout * 1000)),
            # Detects that the server of a stream is gone; servers written in Go take no more than one in 5 minutes.
            ("grpc.keepalive_time_ms", 310_000),
        ]
        target = f"dns:///{self._server.address}"  # else a host that is called as a scheme would be one: unix:80
        if self._tls is None:
            return self._grpc.aio.insecure_channel(target, options)
        roots, name = await self._trusted(self._tls)
        if name := self._server.server_name or name:
            options.append(("grpc.ssl_target_name_override", name))
        credentials = self._grpc.ssl_channel_credentials(roots, *self._client_certificate())
        return self._grpc.aio.secure_channel(target, credentials, options)

    async def _trusted(self, tls: ssl.SSLContext) -> tuple[bytes, str]:
        """Return the authorities as PEM; for `unsafe` the certificate that the server shows, and a name in it."""
        if tls.verify_mode != ssl.CERT_NONE:
            return "".join(ssl.DER_cert_to_PEM_cert(one) for one in tls.get_ca_certs(binary_form=True)).encode(), ""
        # gRPC's library cannot leave a certificate unchecked: the one that the server shows is fetched first, and then
        # believed.
        certificate = await self._shown_certificate(tls)
        return ssl.DER_cert_to_PEM_cert(certificate).encode(), _certificate_name(certificate)

    async def _shown_certificate(self, tls: ssl.SSLContext) -> bytes:
        host, _, port = self._server.address.rpartition(":")
        try:
            async with asyncio.timeout(self._timeout), self._context.connection(self._server.address):
                _, writer = await open_stream(host.strip("[]"), int(port), LONGEST_ANSWER, tls)
                try:
                    shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
                finally:
                    writer.transport.abort()
        except (OSError, TimeoutError) as error:
            raise ScalerError(f"gRPC {self._server.address}: {reason_of(error)}") from None
        return shown

    def _client_certificate(self) -> tuple[bytes | None, bytes | None]:
        """Return the tenant's key and certificate as PEM."""
        tls = self._server.tls
        if tls is None or not tls.cert:
            return None, None
        return plain_private_key(tls.key, tls.key_password).encode(), tls.cert.encode()


async def connect(server: GrpcServer, context: ScalerContext) -> GrpcConnection:
    """The shared connection, which connects when it is first asked. Raises ConfigError."""

    async def make() -> GrpcConnection:
        return GrpcConnection(server, context)

    return await context.shared(server.key(context.namespace), make, GrpcConnection.aclose)


def _library() -> Any:
    """grpcio, which is not imported before it is needed. Raises ConfigError where it is not installed."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it writes to stderr what we tell as errors
    with needs_extra("grpc"):
        import grpc.aio
    return grpc


def _certificate_name(certificate: bytes) -> str:
    """Choose a name that gRPC will find in the certificate; "" if it has none."""
    from cryptography import x509

    loaded = x509.load_der_x509_certificate(certificate)
    try:
        names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        common = loaded.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        return str(common[0].value) if common else ""
    found = [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]
    return found[0].replace("*", "any") if found else ""
