"""What scalers are lent where there is no operator: by commands that judge manifests, and by tests.

In: objects in memory, and a clock. Out: the shared_context of `context.py`, with a real HTTP client and nothing to ask.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from keda_py.clock import Clock, FakeClock
from keda_py.errors import NotFound
from keda_py.net.http import HttpClientSpec, http_client
from keda_py.net.operator_identity import IdentityRule
from keda_py.net.tls import TlsContexts
from keda_py.sdk.building_context import A_SATURDAY
from keda_py.sdk.context import EVERY, Reach, SharedContext, SharedResources
from keda_py.sdk.scaler_context import KubeReader

Object = Mapping[str, Any]
_AS_KEDA = Reach(endpoints_of=frozenset({EVERY}))


class Objects:
    """A KubeReader over objects in memory, by resource; label selectors know `name=value` with commas between."""

    def __init__(self, **by_resource: Sequence[Object]) -> None:
        self.by_resource: dict[str, list[Object]] = {name: list(found) for name, found in by_resource.items()}
        self._signals: set[asyncio.Event] = set()

    def changed(self) -> None:
        """Tell those who follow `changes`."""
        for signal in self._signals:
            signal.set()

    async def changes(
        self, resource: str, namespace: str, *, name: str = "", label_selector: str = ""
    ) -> AsyncGenerator[None]:
        """A signal now, and one for each `changed`, whatever that was."""
        signal = asyncio.Event()
        self._signals.add(signal)
        try:
            while True:
                signal.clear()
                yield
                await signal.wait()
        finally:
            self._signals.discard(signal)

    async def pods(self, namespace: str, label_selector: str) -> Sequence[Object]:
        """The pods that match."""
        return await self.list("pods", namespace, label_selector)

    async def get(self, resource: str, namespace: str, name: str) -> Object:
        """One object, or NotFound."""
        for found in await self.list(resource, namespace):
            if found["metadata"]["name"] == name:
                return found
        raise NotFound(f'{resource} "{name}" not found', status=404, reason="NotFound")

    async def list(self, resource: str, namespace: str, label_selector: str = "") -> Sequence[Object]:
        """The objects of a namespace that match."""
        wanted = dict(part.split("=", 1) for part in label_selector.split(",") if part)
        return [
            found
            for found in self.by_resource.get(resource.partition(".")[0], ())
            if found["metadata"]["namespace"] == namespace
            and wanted.items() <= found["metadata"].get("labels", {}).items()
        ]


@asynccontextmanager
async def shared_context(
    *,
    clock: Clock | None = None,
    kube: KubeReader | None = None,
    http: HttpClientSpec | None = None,
    reach: Reach = _AS_KEDA,
    identities: IdentityRule | None = None,
    tls: TlsContexts | None = None,
) -> AsyncIterator[SharedContext]:
    """What the engine lends to all scalers; `EngineContext(shared_context=..., namespace=...)` makes one trigger's.

    `reach` is what triggers may read of other namespaces: as in KEDA; an operator's is `Reach()` unless told otherwise.
    `identities` says where the operator's own identity may go; by default nowhere that a tenant names.
    `tls` makes the TLS contexts; by default what the system trusts is trusted.
    """
    clock = clock or FakeClock(A_SATURDAY)
    http = http or HttpClientSpec()
    tls = tls or TlsContexts()
    async with http.answers, http_client(http, clock, tls) as client:
        yield SharedContext(
            clock=clock,
            http=client,
            http_timeout=http.timeout,
            kube=kube or Objects(),
            tls=tls,
            resources=SharedResources(),
            reach=reach,
            answers=http.answers,
            connections=http.connections,
            identities=identities or IdentityRule(),
        )
