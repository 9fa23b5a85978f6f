"""The servers of recorded exchanges, all on the loopback interface, and what stands for them in a recording.

Three plain servers, one with TLS, and a proxy that leads every other host to two more. Certificates are made once a
session, `Papers`; a `Stage` lives for one test and plays one exchange after the other.
"""

import asyncio
import re  # noqa: TID251 - a constant pattern over our own recordings
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from keda_py.clock import Clock
from keda_py.net.tls import TlsContexts, TlsSettings
from tests.certificates import Authority
from tests.scalers.recorded.scripts import Asked, AskedServer, Script
from tests.scalers.recorded.websockets import converse

_NAME = re.compile(r"\{\{(\w+)\}\}")


class Papers:
    """Certificates and keys. {{CA}} is no authority of the system; who issues for the proxied hosts is."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._issuer, self._system = folder, Authority(), Authority()
        (folder / "trusted").mkdir()
        self.system_file = folder / "trusted" / "ca.pem"
        self.system_file.write_text(self._system.cert)
        self.client = self._issuer.leaf("rec-client")
        self.tls = TlsContexts(ca_dirs=[str(folder / "trusted")])
        self._kept = self.tls.get(TlsSettings(), "")
        self._of_host: dict[str, ssl.SSLContext] = {}

    @property
    def ca(self) -> str:
        return self._issuer.cert

    @cached_property
    def server(self) -> ssl.SSLContext:
        """Asks for a client certificate, and does without one."""
        pair = self._issuer.leaf("server", hosts=("127.0.0.1", "localhost"))
        context = self._issuer.server_context(self._folder, pair=pair)
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    @cached_property
    def any_host(self) -> ssl.SSLContext:
        """The certificate of each host that a client names."""
        context = self._system.server_context(self._folder)
        context.sni_callback = self._show
        return context

    def _show(self, connection: ssl.SSLObject, host: str | None, _: ssl.SSLContext) -> None:
        if host:
            connection.context = self.of_host(host)

    def of_host(self, host: str) -> ssl.SSLContext:
        """Make a certificate for a server of this name or number, which the system trusts."""
        if host not in self._of_host:
            pair = self._system.leaf("host", hosts=(host,))
            self._of_host[host] = self._system.server_context(self._folder, pair=pair)
        return self._of_host[host]

    @cached_property
    def app_key(self) -> str:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return key.private_bytes(pem, pkcs8, serialization.NoEncryption()).decode()

    @cached_property
    def gcp_key(self) -> str:
        account = {
            "type": "service_account",
            "project_id": "proj-1",
            "private_key_id": "kid1",
            "private_key": self.app_key,
            "client_email": "sa@proj-1.example",
            "client_id": "1",
            "token_uri": "https://oauth2.googleapis.com/token",
        }
        return orjson.dumps(account).decode()


class Stage:
    """Servers that answer by the script of the exchange that is played."""

    def __init__(self, papers: Papers) -> None:
        self.papers = papers
        self.proxy = ""
        self._script = Script(())
        self._clock: Clock | None = None
        self._names: dict[str, str] = {}

    def begin(self, script: Script, clock: Clock) -> None:
        """Answer by this script from now on; the one before is over."""
        self._script.over.set()
        self._script, self._clock = script, clock

    def filled(self, written: Any) -> Any:
        """With values in place of {{names}}, at any depth; what is no name of ours stays as it is."""
        match written:
            case str():
                return _NAME.sub(lambda found: self._value(found[1], found[0]), written)
            case Mapping():
                return {key: self.filled(value) for key, value in written.items()}
            case Sequence():
                return [self.filled(value) for value in written]
        return written

    def _value(self, name: str, otherwise: str) -> str:
        papers = self.papers
        match name:
            case "CA":
                return papers.ca
            case "CERT":
                return papers.client.cert
            case "KEY":
                return papers.client.key
            case "APPKEY":
                return papers.app_key
            case "GCPKEY":
                return papers.gcp_key
        return self._names.get(name, otherwise)

    async def answer(self, place: AskedServer, request: web.BaseRequest) -> web.StreamResponse:
        assert self._clock is not None, "no exchange has begun"
        asked = await Asked.read(request, place, self._clock.now())
        if asked.headers.get("upgrade") == "websocket":
            return await converse(request, asked, self._script)
        return await self._script.answer(asked)

    def place(self, prefix: str, suffix: str, port: int) -> None:
        """Name a placeholder for a server on this port."""
        scheme = "https" if prefix == "TLS" else "http"
        values = {
            "URL": f"{scheme}://127.0.0.1:{port}",
            "HOST": f"127.0.0.1:{port}",
            "PORT": str(port),
            "LOCALHOST": f"localhost:{port}",
        }
        self._names |= {f"{prefix}{name}{suffix}": value for name, value in values.items()}


@asynccontextmanager
async def open_stage(papers: Papers) -> AsyncIterator[Stage]:
    """All servers, until the block ends."""
    stage = Stage(papers)
    async with AsyncExitStack() as stack:
        for number, suffix in ((1, ""), (2, "2"), (3, "3")):
            port = await stack.enter_async_context(_serving(stage, AskedServer(server=number)))
            stage.place("", suffix, port)
        stage.place("TLS", "", await stack.enter_async_context(_serving(stage, AskedServer(tls=True), papers.server)))
        plain = await stack.enter_async_context(_serving(stage, AskedServer(proxied=True)))
        tls = await stack.enter_async_context(_serving(stage, AskedServer(tls=True, proxied=True), papers.any_host))
        stage.proxy = f"http://127.0.0.1:{await stack.enter_async_context(proxy(plain, tls))}"
        dead = stack.enter_context(socket.socket())
        dead.bind(("127.0.0.1", 0))  # and never listens
        stage.place("DEAD", "", dead.getsockname()[1])
        yield stage


@asynccontextmanager
async def _serving(stage: Stage, place: AskedServer, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    runner = web.ServerRunner(web.Server(partial(stage.answer, place)), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def proxy(plain: int, tls: int) -> AsyncIterator[int]:
    """Its port: leads every CONNECT to one port, and every other request as it is to the other."""
    open_now: set[asyncio.Task[None]] = set()

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now.add(task)
        try:
            # Cancelled when the stage is taken down; asyncio's streams complain of a connection that ends so.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await _lead(reader, writer, plain, tls)
        finally:
            writer.close()
            open_now.discard(task)

    server = await asyncio.start_server(lead, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        while open_now:
            for task in tuple(open_now):
                task.cancel()
            await asyncio.wait(tuple(open_now))


async def _lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, plain: int, tls: int) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    connects = head.startswith(b"CONNECT ")
    inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", tls if connects else plain)
    if connects:
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    else:
        inner_writer.write(head)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_pipe(reader, inner_writer))
        tasks.create_task(_pipe(inner_reader, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        try:
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
        finally:
            writer.close()
