"""A client of a cluster's routes without sockets: the answers are those of a real connection."""

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import orjson

from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.model.calls import ApiAnswer, Call, User, refusal
from keda_py.schema.status import StatusError

MERGE = {"content-type": "application/merge-patch+json"}
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALED_OBJECTS = "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects"


class Client:
    """A client of one cluster, as one user."""

    def __init__(self, cluster: LocalCluster, user: User = ADMIN) -> None:
        self._cluster, self._user = cluster, user

    async def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, **query: str
    ) -> ApiAnswer:
        """Send a request; a refusal is an answer, too."""
        data = b"" if body is None else json.dumps(body).encode()
        call = Call(method=method, path=path, query=query, headers=headers or {}, body=data, user=self._user)
        try:
            return await self._cluster.routes.answer(call)
        except StatusError as error:
            return refusal(error)

    async def get(self, path: str, **query: str) -> Any:
        """Get the body; the request must succeed."""
        return done(await self.ask("GET", path, **query))

    async def create(self, path: str, body: Any, **query: str) -> Any:
        """Create an object; the request must succeed."""
        return done(await self.ask("POST", path, body, **query))

    async def merge(self, path: str, patch: Any, **query: str) -> Any:
        """Send a merge patch, which must succeed."""
        return done(await self.ask("PATCH", path, patch, MERGE, **query))

    async def watch(self, path: str, **query: str) -> "Events":
        """Open a watch."""
        answer = await self.ask("GET", path, watch="true", **query)
        assert answer.stream is not None, answer.body
        return Events(answer.stream)


class Events:
    """The events of a watch, taken one by one."""

    def __init__(self, stream: AsyncGenerator[bytes, None]) -> None:
        self._stream = stream
        self._lines: list[bytes] = []

    async def next(self) -> Any:
        """Return the next event."""
        if not self._lines:
            self._lines = (await anext(self._stream)).splitlines()
        return orjson.loads(self._lines.pop(0))

    async def aclose(self) -> None:
        """Stop watching."""
        await self._stream.aclose()


def done(answer: ApiAnswer) -> Any:
    """Decode the body of an answer, which must be a success."""
    body = orjson.loads(answer.encode())
    assert answer.status < 300, body
    return body
