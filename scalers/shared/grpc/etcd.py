"""Keys of etcd by gRPC: who asks, which endpoint answers, and the token of a login.

A question by etcd's JSON gateway takes more than twice as long, and each stream of changes a connection of its own.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.messages import parse
from keda_py.sdk.scaler import ConfigError, ScalerError
from scalers.shared.grpc import etcd_api as api
from scalers.shared.grpc.connection import GrpcError, GrpcServer, Metadata, host_and_port
from scalers.shared.grpc.polled import PolledConnection

# Streams of changes for one user at a time; the other keys are polled alone.
_MOST_STREAMS = 20
_NO_AUTHENTICATION = "FAILED_PRECONDITION"
"""Error of a log-in where the server's authentication is off."""
_LOG_IN = ("UNAUTHENTICATED", "INVALID_ARGUMENT")
"""Errors of a question whose token has expired, is of an older set of users, or is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdUser:
    """A cluster's endpoints and who asks; `tls` None: without TLS, unless an endpoint says https.

    `timeout`: seconds for all endpoints together.
    """

    endpoints: tuple[str, ...]
    username: SecretStr
    password: SecretStr
    tls: TlsSettings | None
    timeout: float

    def servers(self) -> list[GrpcServer]:
        """One for each endpoint: `host:port`, or a URL whose scheme says whether TLS is spoken. Raises ScalerError."""
        return [self._server(one) for one in self.endpoints if one]

    def _server(self, endpoint: str) -> GrpcServer:
        scheme, _, place = endpoint.rpartition("://")
        tls = {"http": None, "https": self.tls or TlsSettings()}.get(scheme, self.tls)
        try:
            address = host_and_port(place, "endpoints")
        except ConfigError:
            raise ScalerError(f'endpoints: "{place}" is not host:port, such as etcd.shop:2379') from None
        return GrpcServer(address=address, tls=tls)

    def key(self, tenant: str) -> SharingKey:
        """Key under which login and last endpoint are shared."""
        tls = self.tls or TlsSettings()
        what = ("etcd", ",".join(self.endpoints), self.tls is not None, tls.ca, self.timeout)
        return sharing_key(tenant, what, self.username, self.password, *tls.credential)


class Etcd:
    """Asks one endpoint after the other until one answers; the one that answered last is asked first."""

    def __init__(self, user: EtcdUser, context: ScalerContext) -> None:
        self._user, self._context = user, context
        self.servers: list[PolledConnection] = []
        """Servers in the order in which they are asked; connected by the first question."""
        self._token: str | None = None
        self._streams = asyncio.Semaphore(_MOST_STREAMS)

    async def value(self, key: str) -> str | None:
        """The text of a key, None if missing. Raises ScalerError."""
        question = api.messages()["RangeRequest"](key=key.encode(), limit=1)
        answer = parse(api.messages()["RangeResponse"], await self._ask(api.RANGE, question.SerializeToString()))
        return _text(answer.kvs[0]) if answer.kvs else None

    async def changes(self, key: str, silence: float) -> AsyncGenerator[str, None]:
        """The text of a key at each change, from now on; "" where it is deleted.

        Raises ScalerError when the stream ends, or says nothing for so many seconds, not even that it is alive.
        """
        async with self._streams:
            await self.value(key)  # finds the endpoint that answers, and logs in
            # With `progress_notify` etcd says from time to time that the stream is alive, so that silence has a
            # meaning.
            wanted = api.messages()["WatchCreateRequest"](key=key.encode(), progress_notify=True)
            request = api.messages()["WatchRequest"](create_request=wanted).SerializeToString()
            answers = self.servers[0].follow(api.WATCH, request, self._proof())
            async with aclosing(_until_silent(answers, silence)) as heard:
                async for data in heard:
                    for text in _changes_in(data):
                        yield text
        raise ScalerError("etcd: the stream of changes ended")

    async def aclose(self) -> None:
        """Close the connection to each endpoint."""
        servers, self.servers = self.servers, []
        for server in servers:
            await server.aclose()

    async def _ask(self, path: str, question: bytes) -> bytes:
        failure = ScalerError("etcd: no endpoints are given")
        for server in tuple(self._connections()):
            try:
                answer = await self._ask_as_user(server, path, question)
            except ScalerError as error:
                failure = error
                continue
            self.servers.remove(server)
            self.servers.insert(0, server)
            return answer
        raise failure

    def _connections(self) -> list[PolledConnection]:
        if not self.servers:
            servers = self._user.servers()
            seconds = self._user.timeout / max(1, len(servers))
            self.servers = [PolledConnection(server, self._context, timeout=seconds) for server in servers]
        return self.servers

    async def _ask_as_user(self, server: PolledConnection, path: str, question: bytes) -> bytes:
        if not self._user.username.get_secret_value():
            return await server.ask(path, question)
        if self._token is None:
            await self._log_in(server)
        try:
            return await server.ask(path, question, self._proof())
        except GrpcError as error:
            if error.code not in _LOG_IN:
                raise
        await self._log_in(server)
        return await server.ask(path, question, self._proof())

    async def _log_in(self, server: PolledConnection) -> None:
        """Log in; as in KEDA's client, a user is accepted where the server's authentication is off."""
        self._token = None
        name, password = self._user.username.get_secret_value(), self._user.password.get_secret_value()
        question = api.messages()["AuthenticateRequest"](name=name, password=password).SerializeToString()
        try:
            answer = parse(api.messages()["AuthenticateResponse"], await server.ask(api.AUTHENTICATE, question))
        except GrpcError as error:
            if error.code != _NO_AUTHENTICATION:
                raise
            self._token = ""
            return
        # It goes into a header with each question, where other characters are an error of the library.
        if not answer.token or not answer.token.isascii() or not answer.token.isprintable():
            raise ScalerError("etcd gave no token")
        self._token = answer.token

    def _proof(self) -> Metadata:
        return (("token", self._token),) if self._token else ()


async def etcd(user: EtcdUser, context: ScalerContext) -> Etcd:
    """The shared endpoints and login of this user. Raises ConfigError where gRPC's library is not installed."""
    api.messages()

    async def make() -> Etcd:
        return Etcd(user, context)

    return await context.shared(user.key(context.namespace), make, Etcd.aclose)


async def _until_silent(answers: AsyncIterator[bytes], silence: float) -> AsyncGenerator[bytes, None]:
    """Yield each answer of the stream. Raises ScalerError after so many seconds without one."""
    try:
        while True:
            async with asyncio.timeout(silence):
                answer = await anext(answers, None)
            if answer is None:
                return
            yield answer
    except TimeoutError:
        raise ScalerError(f"etcd: nothing was heard of the key for {silence:g} s") from None


def _changes_in(data: bytes) -> list[str]:
    """The values that an answer of the stream has. Raises ScalerError where it ends the stream."""
    answer = parse(api.messages()["WatchResponse"], data)
    if answer.canceled:
        raise ScalerError(f"etcd: the stream of changes was refused: {answer.cancel_reason[:200]}")
    return ["" if event.type == api.DELETE else _text(event.kv) for event in answer.events]


def _text(pair: Any) -> str:
    try:
        value: bytes = pair.value
        return value.decode()
    except UnicodeDecodeError:
        raise ScalerError("the value in the answer is not text") from None
