"""Server that misbehaves on demand, and helpers of the tests here."""

import asyncio
import ssl
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import yaml
from aiohttp import web

from keda_py.kube.informers.informer import Informer
from tests.waiting import forever

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FaultyServer:
    """Server with scripted answers for each path; the last answer stays."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[web.Request] = []
        self._answers: dict[str, deque[Answer]] = defaultdict(deque)

    def answer(self, key: str, *answers: Answer) -> None:
        """Script the answers for `key`: "METHOD path", or "WATCH path" for a GET with watch=true."""
        self._answers[key].extend(answers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        method = "WATCH" if "watch" in request.query else request.method
        queue = self._answers[f"{method} {request.path}"]
        if not queue:
            return status(404, "NotFound", f"{method} {request.path} has no answer")
        return await (queue.popleft() if len(queue) > 1 else queue[0])(request)

    def queries(self, method: str) -> list[dict[str, str]]:
        """Return the query parameters of the requests, WATCH separate from GET."""
        return [dict(r.query) for r in self.seen if ("WATCH" if "watch" in r.query else r.method) == method]


def status(code: int, reason: str, message: str = "", **headers: str) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return web.json_response(body | {"message": message or reason}, status=code, headers=headers)


def refuses(code: int, reason: str, **headers: str) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return status(code, reason, **headers)

    return answer


def says(body: Any, code: int = 200) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        if isinstance(body, bytes):
            return web.Response(body=body, status=code)
        return web.json_response(body, status=code)

    return answer


def streams(*lines: Any, then: str = "close") -> Answer:
    """Make a watch: JSON lines (bytes are sent unchanged), then `close`, `hang` or `cut` the connection."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write(line if isinstance(line, bytes) else orjson.dumps(line) + b"\n")
        if then == "hang":
            await forever()
        if then == "cut" and request.transport is not None:
            request.transport.abort()
        return response

    return answer


async def hangs(_: web.Request) -> web.StreamResponse:
    await forever()
    raise AssertionError("unreachable")


def thing(name: str, version: int, namespace: str = "ns", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, **fields}


def listing(version: int, *items: dict[str, Any], more: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": str(version)} | ({"continue": more} if more else {})
    return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": list(items)}


def event(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": obj}


@asynccontextmanager
async def running(*coroutines: Any) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(coroutine) for coroutine in coroutines]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def serving(
    faulty: FaultyServer, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[FaultyServer]:
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", faulty.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    faulty.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield faulty
    finally:
        await runner.cleanup()


def write_kubeconfig(path: Path, url: str, user: dict[str, Any] | None = None, **cluster: Any) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "me", "user": user or {"token": "secret"}}],
    }
    path.write_text(yaml.safe_dump(config))
    return str(path)


class Shelf:
    """Objects of one collection, with the API server's rule for versions; `fault` replaces its answers while set."""

    def __init__(self, server: FaultyServer, path: str) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.fault: Answer | None = None
        self._version = 0
        self._server, self._path = server, path
        server.answer(f"POST {path}", self._guarded(self._post))

    def serve(self, name: str) -> None:
        """Serve one object at its path."""
        for method, answer in (("GET", self._get), ("PUT", self._put), ("PATCH", self._patch)):
            self._server.answer(f"{method} {self._path}/{name}", self._guarded(answer))

    def _guarded(self, answer: Answer) -> Answer:
        async def guarded(request: web.Request) -> web.StreamResponse:
            return await (self.fault or answer)(request)

        return guarded

    def store(self, obj: dict[str, Any]) -> web.StreamResponse:
        self._version += 1
        name = obj["metadata"]["name"]
        self.objects[name] = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self._version)}}
        return web.json_response(self.objects[name])

    def read(self, request: web.Request) -> web.StreamResponse:
        """Return the object at the request's path."""
        obj = self.objects.get(request.path.rpartition("/")[2])
        return web.json_response(obj) if obj else status(404, "NotFound")

    async def _get(self, request: web.Request) -> web.StreamResponse:
        return self.read(request)

    async def _post(self, request: web.Request) -> web.StreamResponse:
        obj = await request.json()
        if obj["metadata"]["name"] in self.objects:
            return status(409, "AlreadyExists")
        self.serve(obj["metadata"]["name"])
        return self.store(obj)

    async def _put(self, request: web.Request) -> web.StreamResponse:
        obj, name = await request.json(), request.path.rpartition("/")[2]
        if name not in self.objects:
            return status(404, "NotFound")
        if obj["metadata"].get("resourceVersion") != self.objects[name]["metadata"]["resourceVersion"]:
            return status(409, "Conflict")
        return self.store(obj)

    async def _patch(self, request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/")[2]
        if name not in self.objects:
            return status(404, "NotFound")
        return self.store(self.objects[name] | await request.json() | {"metadata": self.objects[name]["metadata"]})


def versions(informer: Informer) -> dict[str, str]:
    return {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in informer.objects()}


def holds(informer: Informer, **expected: int) -> Callable[[], bool]:
    return lambda: versions(informer) == {name: str(version) for name, version in expected.items()}
