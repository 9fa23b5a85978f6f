"""Objects that lead to us and name our authority: APIServices, webhook configuration and such, watched and put right.

Only the replica that leads does this, so that two never write against each other. What is right is a pure function of
the live object and our CA; it comes with each `Guarded`. Behaviour reference, section 13.4.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from keda_py.errors import ConfigError, Conflict, KubeError
from keda_py.kube.backoff import Backoff
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import Obj, Resource, Selection
from keda_py.serving.server_tls import ServerTls

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Another client that writes the same object is not answered faster than that."""

Correct = Callable[[Obj | None, bytes], Obj | None]
"""(live object or None if missing, our CA as PEM) -> what to write; None when nothing is to be written.

Raises ConfigError where only a human can put it right.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """One object that leads to us, and how it should be; `namespace` "" at cluster scope."""

    resource: Resource
    name: str
    correct: Correct
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.name}"


class CaBundles:
    """Keeps the guarded objects right, as often as a client changes them or our CA changes."""

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
        spec = InformerSpec(resource=one.resource, namespaces=(one.namespace,), selection=selection)
        informer = Informer(self._client, spec)
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
        known, told, backoff = False, "", Backoff()
        while True:
            changed.clear()
            live = informer.get(one.namespace, one.name)
            known = known or live is not None
            wait, trouble = await self._attempt(one, live, backoff, deleted=known and live is None)
            if trouble and trouble != told:
                log.error("the cluster cannot find or trust us", extra={"object": str(one), "error": trouble})
            told = trouble
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await changed.wait()

    async def _attempt(
        self, one: Guarded, live: Obj | None, backoff: Backoff, *, deleted: bool
    ) -> tuple[float | None, str]:
        """Seconds until it has to be tried again, and what a human has to do about it ("": nothing)."""
        try:
            written = await self._correct(one, live)
        except Conflict:  # our copy is old; the newer one is on its way
            return backoff.next(), ""
        except ConfigError as error:
            return None, str(error)
        except KubeError as error:
            return backoff.next(), f"cannot be put right: {error}"
        backoff.reset()
        return None, "it was deleted; apply it again" if deleted and not written else ""

    async def _correct(self, one: Guarded, live: Obj | None) -> bool:
        """True when something had to be written."""
        certificate = self._tls.certificate
        wanted = one.correct(live, certificate.ca) if certificate is not None and certificate.ca else None
        if wanted is None:
            return False
        if live is None:
            await self._client.create(one.resource, wanted)
        else:
            await self._client.update(one.resource.named(one.namespace, one.name), wanted)
        log.info("put right", extra={"object": str(one)})
        await asyncio.sleep(PAUSE_SECONDS)
        return True
