"""Keys of etcd by its JSON gateway: who asks, which endpoint answers, and the token of a login.

The gateway is on by default; a server that was started with `--enable-grpc-gateway=false` answers 404.
"""

import asyncio
import base64
import binascii
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import SecretStr

from keda_py.sdk.scaler import NO_REDIRECTS, ScalerContext, ScalerError, SharingKey, TlsSettings, sharing_key
from scalers.shared.answers.json_fields import INLINE_BYTES, Object, child, children, json_object, string
from scalers.shared.http_answer import shown

_LONGEST_LINE = 256 * 1024
_MOST_STREAMS = 20
"""Of one user at a time: each holds a connection, of which a host is given a hundred; the others are polled alone."""
_ENDLESS = httpx.Timeout(5.0, read=None)
"""A stream ends by what it says, or does not say."""
_AUTH_IS_OFF = b"authentication is not enabled"
_UNAUTHENTICATED = (httpx.codes.UNAUTHORIZED, httpx.codes.BAD_REQUEST)
"""Of a token that ended, or that a server which asks for one has not seen."""


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

    def urls(self) -> list[str]:
        """`host:port` gets its scheme."""
        scheme = "http" if self.tls is None else "https"
        return [one if "://" in one else f"{scheme}://{one}" for one in self.endpoints if one]

    def key(self, tenant: str) -> SharingKey:
        """Under which what is known of it is shared."""
        tls = self.tls or TlsSettings()
        what = ("etcd", ",".join(self.endpoints), self.tls is not None, tls.ca, self.timeout)
        return sharing_key(tenant, what, self.username, self.password, *tls.credential)


class Etcd:
    """Asks one endpoint after the other until one answers."""

    def __init__(self, user: EtcdUser, context: ScalerContext) -> None:
        self._user, self._context = user, context
        self._urls = user.urls()
        self._tls = context.tls_context(user.tls) if user.tls else None
        self._timeout = user.timeout / max(1, len(self._urls))
        self._token, self._needs_login = "", True
        self._streams = asyncio.Semaphore(_MOST_STREAMS)

    async def value(self, key: str) -> str | None:
        """The text of a key, None if missing. Raises ScalerError."""
        body = await self._ask("/v3/kv/range", {"key": base64.b64encode(key.encode()).decode(), "limit": "1"})
        return await self._context.parse(read_value, body, inline_bytes=INLINE_BYTES)

    async def changes(self, key: str, silence: float) -> AsyncGenerator[str, None]:
        """The text of a key at each change, from now on; "" where it is deleted.

        Raises ScalerError when the stream ends, or says nothing for so many seconds, not even that it is alive.
        """
        async with self._streams, aclosing(self._changes(key, silence)) as changes:
            async for text in changes:
                yield text

    async def _changes(self, key: str, silence: float) -> AsyncGenerator[str, None]:
        wanted = {"create_request": {"key": base64.b64encode(key.encode()).decode(), "progress_notify": True}}
        await self.value(key)  # finds the endpoint that answers, and logs in
        url = f"{self._urls[0]}/v3/watch"
        try:
            async with self._context.http.stream("POST", url, json=wanted, timeout=_ENDLESS, **self._how()) as answer:
                if answer.status_code != httpx.codes.OK:
                    raise ScalerError(f'Post "{shown(url)}": status {answer.status_code}')
                async for line in _lines(answer, silence):
                    for text in await self._context.parse(read_changes, line, inline_bytes=INLINE_BYTES):
                        yield text
        except (httpx.HTTPError, TimeoutError) as error:
            raise ScalerError(f'Post "{shown(url)}": {error or type(error).__name__}') from None
        raise ScalerError(f'Post "{shown(url)}": the stream of changes ended')

    async def _ask(self, path: str, question: dict[str, Any]) -> bytes:
        failure = ScalerError("etcd: no endpoints are given")
        for url in tuple(self._urls):
            try:
                body = await self._ask_as_user(url, path, question)
            except ScalerError as error:
                failure = error
                continue
            self._urls.remove(url)
            self._urls.insert(0, url)
            return body
        raise failure

    async def _ask_as_user(self, url: str, path: str, question: dict[str, Any]) -> bytes:
        if not self._user.username.get_secret_value():
            return _good(await self._post(url + path, question), url + path)
        if self._needs_login and not self._token:
            await self._log_in(url)
        answer = await self._post(url + path, question)
        if answer.status_code in _UNAUTHENTICATED:
            await self._log_in(url)
            answer = await self._post(url + path, question)
        return _good(answer, url + path)

    async def _log_in(self, url: str) -> None:
        """A server whose authentication is off gives no token and asks for none, until it is switched on."""
        path, self._token, self._needs_login = f"{url}/v3/auth/authenticate", "", True
        user, password = self._user.username.get_secret_value(), self._user.password.get_secret_value()
        answer = await self._post(path, {"name": user, "password": password})
        if not answer.is_success and _AUTH_IS_OFF in answer.content:
            self._needs_login = False
            return
        self._token = await self._context.parse(read_token, _good(answer, path), inline_bytes=INLINE_BYTES)

    async def _post(self, url: str, question: dict[str, Any]) -> httpx.Response:
        try:
            return await self._context.http.post(url, json=question, timeout=self._timeout, **self._how())
        except httpx.HTTPError as error:
            raise ScalerError(f'Post "{shown(url)}": {error or type(error).__name__}') from None
        except (httpx.InvalidURL, UnicodeError):
            raise ScalerError("endpoints: an address has a character that HTTP does not allow") from None

    def _how(self) -> dict[str, Any]:
        headers = {"Authorization": self._token} if self._token else {}
        extensions: dict[str, Any] = {"redirects": NO_REDIRECTS, **({"ssl": self._tls} if self._tls else {})}
        return {"headers": headers, "extensions": extensions}


async def etcd(user: EtcdUser, context: ScalerContext) -> Etcd:
    """The shared endpoints and login of this user."""

    async def make() -> Etcd:
        return Etcd(user, context)

    async def close(_: Etcd) -> None:
        """Its requests go through the shared client."""

    return await context.shared(user.key(context.namespace), make, close)


def read_value(text: bytes) -> str | None:
    """The first key's value. May run in another process. Raises ScalerError."""
    found = children(json_object(text), "kvs")
    if not found:
        return None
    return _decoded(found[0])


def read_changes(text: bytes) -> list[str]:
    """The values that a line of the stream tells of. May run in another process. Raises ScalerError."""
    events = children(child(json_object(text), "result"), "events")
    return [_decoded(child(event, "kv")) if string(event, "type") != "DELETE" else "" for event in events]


def read_token(text: bytes) -> str:
    """The token of a login. May run in another process. Raises ScalerError."""
    token = string(json_object(text), "token")
    if not token or not token.isascii() or not token.isprintable():
        raise ScalerError("etcd gave no token")
    return token


def _decoded(pair: Object) -> str:
    try:
        return base64.b64decode(string(pair, "value"), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ScalerError("the value in the answer is not text") from None


async def _lines(answer: httpx.Response, silence: float) -> AsyncIterator[bytes]:
    """Each a document. Raises TimeoutError after so many seconds without one."""
    waiting, chunks = b"", answer.aiter_bytes()
    while True:
        async with asyncio.timeout(silence):
            chunk = await anext(chunks, b"")
        if not chunk:
            return
        *lines, waiting = (waiting + chunk).split(b"\n")
        for line in filter(None, lines):
            yield line
        if len(waiting) > _LONGEST_LINE:
            raise ScalerError("etcd: a change is too long")


def _good(answer: httpx.Response, url: str) -> bytes:
    if answer.status_code != httpx.codes.OK:
        raise ScalerError(f'Post "{shown(url)}": status {answer.status_code}')
    return answer.content
