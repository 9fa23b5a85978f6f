"""Upkeep of the objects that carry our CA: APIServices, webhook configurations and such, watched and corrected.

Only the leader does this, so that two replicas never write against each other. The correction is a pure function of the
live object and our CA; it comes with each `CaBundleObject`. Behaviour reference, section 13.4.
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

# Least time between two writes of one object, so that another client's writes cannot start a fast loop.
PAUSE_SECONDS = 1.0

Correct = Callable[[Obj | None, bytes], Obj | None]
"""(live object or None if missing, our CA as PEM) -> object to write, or None if it is correct.

Raises ConfigError if only a human can correct it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaBundleObject:
    """Object that carries our CA, and its correction; `namespace` is "" at cluster scope."""

    resource: Resource
    name: str
    correct: Correct
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.name}"


class CaBundles:
    """Corrects the guarded objects whenever a client changes them or our CA changes."""

    def __init__(self, client: KubeClient, tls: ServerTls, guarded: Sequence[CaBundleObject]) -> None:
        self._client, self._tls, self._guarded = client, tls, tuple(guarded)

    async def run(self) -> None:
        """Watch and correct the objects until cancelled."""
        await self._tls.shown.wait()
        async with asyncio.TaskGroup() as tasks:
            for guarded in self._guarded:
                tasks.create_task(self._guard(guarded, tasks))

    async def _guard(self, guarded: CaBundleObject, tasks: asyncio.TaskGroup) -> None:
        selection = Selection(fields=f"metadata.name={guarded.name}")
        spec = InformerSpec(resource=guarded.resource, namespaces=(guarded.namespace,), selection=selection)
        informer = Informer(self._client, spec)
        changed = asyncio.Event()
        informer.subscribe(lambda old, new: changed.set())
        tasks.create_task(informer.run())
        await informer.wait_synced()
        unsubscribe = self._tls.subscribe(changed.set)
        try:
            await self._keep(guarded, informer, changed)
        finally:
            unsubscribe()

    async def _keep(self, guarded: CaBundleObject, informer: Informer, changed: asyncio.Event) -> None:
        known, logged, backoff = False, "", Backoff()
        while True:
            changed.clear()
            live = informer.get(guarded.namespace, guarded.name)
            # An object that never existed is not missed: not every installation has a webhook.
            known = known or live is not None
            wait, trouble = await self._attempt(guarded, live, backoff, deleted=known and live is None)
            if trouble and trouble != logged:
                log.error("the cluster cannot find or trust us", extra={"object": str(guarded), "error": trouble})
            logged = trouble
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await changed.wait()

    async def _attempt(
        self, guarded: CaBundleObject, live: Obj | None, backoff: Backoff, *, deleted: bool
    ) -> tuple[float | None, str]:
        """Correct the object; return the seconds until the next attempt, and an error for a human to fix, or ""."""
        try:
            written = await self._correct(guarded, live)
        except Conflict:  # our copy is old; the newer guarded is on its way
            return backoff.next(), ""
        except ConfigError as error:
            return None, str(error)
        except KubeError as error:
            return backoff.next(), f"cannot be corrected: {error}"
        backoff.reset()
        return None, "it was deleted; apply it again" if deleted and not written else ""

    async def _correct(self, guarded: CaBundleObject, live: Obj | None) -> bool:
        """Write the corrected object; return whether it had to be written."""
        certificate = self._tls.certificate
        wanted = guarded.correct(live, certificate.ca) if certificate is not None and certificate.ca else None
        if wanted is None:
            return False
        if live is None:
            await self._client.create(guarded.resource, wanted)
        else:
            await self._client.update(guarded.resource.named(guarded.namespace, guarded.name), wanted)
        log.info("corrected object that carries our CA", extra={"object": str(guarded)})
        # Two controllers that correct guarded object would otherwise write against each other as fast as the API server
        # allows.
        await asyncio.sleep(PAUSE_SECONDS)
        return True
