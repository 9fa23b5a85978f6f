"""The cluster's API server as a failing one: a second front of it, whose answers are spoilt while a test says so.

Only the operator goes through this front. TLS, credentials and roles are the cluster's own; what happens to the
bytes below HTTP is for `tests/worlds/cable.py`.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from keda_py.localkube.apiserver.server import ApiServer
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.model.calls import ApiAnswer, Call

Serve = Callable[[Call], Awaitable[ApiAnswer]]
Fault = Callable[[Call, Serve], Awaitable[ApiAnswer]]
"""What becomes of a request, given how it would be answered."""
Concerned = Callable[[Call], bool]


class FaultyApi:
    """Answers as the cluster does, but for calls that a fault is there for. `asked` counts methods (WATCH apart)."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._faults: list[tuple[Concerned, Fault]] = []
        self.asked: Counter[str] = Counter()
        self.spoilt: Counter[str] = Counter()

    @contextmanager
    def failing(self, fault: Fault, keys_of: Concerned = lambda call: True) -> Iterator[None]:
        """The fault is there until the block ends; the latest one counts."""
        entry = (keys_of, fault)
        self._faults.insert(0, entry)
        try:
            yield
        finally:
            self._faults.remove(entry)

    async def answer(self, call: Call) -> ApiAnswer:
        self.asked[_method(call)] += 1
        for keys_of, fault in self._faults:
            if keys_of(call):
                self.spoilt[_method(call)] += 1
                return await fault(call, self._cluster.routes.answer)
        return await self._cluster.routes.answer(call)


@asynccontextmanager
async def serve_faulty(cluster: LocalCluster) -> AsyncIterator[tuple[FaultyApi, str]]:
    """The front and its URL."""
    api = FaultyApi(cluster)
    server = ApiServer(api.answer, cluster.identity, cluster.clock, cluster.identity.server_context("127.0.0.1"))
    await server.start()
    try:
        yield api, server.url
    finally:
        await server.stop()


def watches(call: Call) -> bool:
    return "watch" in call.query


def writes(call: Call) -> bool:
    return call.method != "GET"


def of(plural: str) -> Concerned:
    return lambda call: plural in call.path.split("/")


def refuses(code: int, reason: str = "", seconds: int | None = None) -> Fault:
    """A Status; `seconds` is its Retry-After."""

    async def fault(call: Call, serve: Serve) -> ApiAnswer:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
        headers = {} if seconds is None else {"Retry-After": str(seconds)}
        return ApiAnswer(status=code, body=status | {"message": f"no: {reason}"}, headers=headers)

    return fault


def says(body: Any, status: int = 200, content_type: str = "application/json") -> Fault:
    """The same answer to everything."""

    async def fault(call: Call, serve: Serve) -> ApiAnswer:
        return ApiAnswer(status=status, body=body, content_type=content_type)

    return fault


def lists(fault: Fault) -> Fault:
    """Only lists are answered so; to get there, watches are told that they are too old."""

    async def both(call: Call, serve: Serve) -> ApiAnswer:
        if watches(call):
            return await refuses(410, "Expired")(call, serve)
        return await fault(call, serve) if "limit" in call.query else await serve(call)

    return both


def waits(seconds: float) -> Fault:
    """The right answer, late in real time."""

    async def fault(call: Call, serve: Serve) -> ApiAnswer:
        await asyncio.sleep(seconds)
        return await serve(call)

    return fault


@dataclass
class Hold:
    """A fault that holds calls of a kind, or with `late` their answers, until it is told to go on."""

    late: bool = False
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, call: Call, serve: Serve) -> ApiAnswer:
        answer = await serve(call) if self.late else None
        self.reached.set()
        await self.go_on.wait()
        return answer or await serve(call)


def delays_events(seconds: float) -> Fault:
    """Each event of a watch comes late, in real time, and the answers to all other calls at once."""

    async def fault(call: Call, serve: Serve) -> ApiAnswer:
        answer = await serve(call)
        return (
            answer if answer.stream is None else ApiAnswer(status=answer.status, stream=_late(answer.stream, seconds))
        )

    return fault


async def hangs(call: Call, serve: Serve) -> ApiAnswer:
    """No answer."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("unreachable")


async def loses(call: Call, serve: Serve) -> ApiAnswer:
    """Done, but nobody is told: the connection breaks before the answer."""
    if not watches(call):
        await serve(call)
    return ApiAnswer(stream=_torn())


async def halves(call: Call, serve: Serve) -> ApiAnswer:
    """Half of the answer, ended as if it were whole; a watch breaks in the middle of its first line."""
    answer = await serve(call)
    if answer.stream is not None:
        return ApiAnswer(status=answer.status, stream=_torn_stream(answer.stream))
    body = answer.encode()
    return ApiAnswer(status=answer.status, body=body[: len(body) // 2], content_type=answer.content_type)


async def doubles(call: Call, serve: Serve) -> ApiAnswer:
    """Every event comes twice, and bookmarks never."""
    answer = await serve(call)
    return ApiAnswer(status=answer.status, stream=_doubled(answer.stream)) if answer.stream is not None else answer


async def _torn() -> AsyncGenerator[bytes, None]:
    raise ConnectionResetError
    yield b""


async def _torn_stream(lines: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in lines:
            yield chunk[: len(chunk) // 2]
            raise ConnectionResetError
    finally:
        await lines.aclose()


async def _late(lines: AsyncGenerator[bytes, None], seconds: float) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in lines:
            await asyncio.sleep(seconds)
            yield chunk
    finally:
        await lines.aclose()


async def _doubled(lines: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in lines:
            kept = [line + b"\n" for line in chunk.splitlines() if b'"BOOKMARK"' not in line]
            yield b"".join(line + line for line in kept)
    finally:
        await lines.aclose()


def _method(call: Call) -> str:
    return "WATCH" if watches(call) else call.method
