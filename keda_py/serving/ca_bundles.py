"""Objects that must name our authority: the APIService and the webhook configuration are watched and put right.

Only the replica that leads does this, so that two never write against each other. What is right is a pure function of
the live object and our CA; it comes with each `Guarded`. Behaviour reference, section 13.4.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from keda_py.errors import Conflict, KubeError
from keda_py.kube.backoff import Backoff
from keda_py.kube.client import KubeClient
from keda_py.kube.informer import Informer
from keda_py.kube.informer_spec import InformerSpec
from keda_py.kube.resources import Obj, Resource, Selection
from keda_py.serving.server_tls import ServerTls

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Whoever else writes the same object is not answered faster than that."""

Correct = Callable[[Obj | None, bytes], Obj | None]
"""(live object or None where there is none, our CA as PEM) -> what to write; None when nothing is to be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """One cluster-scoped object that names our authority, and how it should be."""

    resource: Resource
    name: str
    correct: Correct


class CaBundles:
    """Keeps the guarded objects right, as often as somebody changes them or our CA changes."""

    def __init__(self, client: KubeClient, tls: ServerTls, guarded: Sequence[Guarded]) -> None:
        self._client, self._tls, self._guarded = client, tls, tuple(guarded)

    async def run(self) -> None:
        """Until cancelled."""
        await self._tls.shown.wait()
        async with asyncio.TaskGroup() as tasks:
            for one in self._guarded:
                tasks.create_task(self._guard(one, tasks))

    async def _guard(self, one: Guarded, tasks: asyncio.TaskGroup) -> None:
        selection = Selection(fields=f"metadata.name={one.name}")
        informer = Informer(self._client, InformerSpec(resource=one.resource, selection=selection))
        changed = asyncio.Event()
        informer.subscribe(lambda old, new: changed.set())
        tasks.create_task(informer.run())
        await informer.wait_synced()
        unsubscribe = self._tls.subscribe(changed.set)
        try:
            await self._keep(one, informer, changed)
        finally:
            unsubscribe()

    async def _keep(self, one: Guarded, informer: Informer, changed: asyncio.Event) -> None:
        backoff = Backoff()
        while True:
            changed.clear()
            wait: float | None = None
            try:
                await self._correct(one, informer.get("", one.name))
                backoff.reset()
            except Conflict:  # our copy is old; the newer one is on its way
                wait = backoff.next()
            except KubeError as error:
                log.warning("cannot name our CA", extra={"object": _label(one), "error": str(error)})
                wait = backoff.next()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await changed.wait()

    async def _correct(self, one: Guarded, live: Obj | None) -> None:
        certificate = self._tls.certificate
        wanted = one.correct(live, certificate.ca) if certificate is not None and certificate.ca else None
        if wanted is None:
            return
        if live is None:
            await self._client.create(one.resource, wanted)
        else:
            await self._client.update(one.resource.named("", one.name), wanted)
        log.info("our CA written", extra={"object": _label(one)})
        await asyncio.sleep(PAUSE_SECONDS)


def _label(one: Guarded) -> str:
    return f"{one.resource.kind} {one.name}"
