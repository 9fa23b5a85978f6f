"""Informer: a local copy of one resource's objects that follows the API server; `reflector.py` describes how.

    informer = Informer(client, InformerSpec(resource=DEPLOYMENTS, transform=only("spec.replicas", "status")))
    informer.subscribe(lambda old, new: queue.add(...))
    group.create_task(informer.run())        # ends when the task is cancelled
    await informer.wait_synced()

Rules for readers: while it is not synced, an absent object is unknown; `down_for` tells how stale the copy may be;
objects are shared and never changed.
"""

import asyncio

from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.cache import Cache
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.informers.reflector import Reflector


class Informer(Cache):
    """Cache of one resource's objects, cluster-wide or of some namespaces; read as `cache.py` describes."""

    def __init__(self, client: KubeClient, spec: InformerSpec) -> None:
        super().__init__(spec.indexes)
        self.spec = spec
        self.reflectors = tuple(
            Reflector(client=client, spec=spec, namespace=namespace, cache=self) for namespace in spec.namespaces
        )

    async def run(self) -> None:
        """Follow the API server until cancelled; failures are retried for ever."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run())

    @property
    def synced(self) -> bool:
        """Return whether every namespace has been listed once; before that an absent object is an unknown one."""
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    @property
    def error(self) -> KubeError | None:
        """Return the last failure of a list or watch that is still failing, None while all work."""
        return next((reflector.error for reflector in self.reflectors if reflector.error), None)

    @property
    def last_contact(self) -> float:
        """Return when the stalest watch last received data, on the loop's time; bookmarks come about once a minute."""
        return min(reflector.last_contact for reflector in self.reflectors)

    def down_for(self) -> float:
        """Return the real seconds for which at least one watch has not worked; 0.0 while all do."""
        return max(reflector.down_for() for reflector in self.reflectors)

    async def wait_synced(self) -> None:
        """Wait until every namespace has been listed once."""
        for reflector in self.reflectors:
            await reflector.synced.wait()

    async def wait_tried(self) -> None:
        """Wait until every namespace has been listed or has failed; `synced` and `error` tell which."""
        for reflector in self.reflectors:
            await reflector.tried.wait()

    def give_up(self) -> None:
        """Release `wait_tried` after `run` has ended, so that its callers find the informer not `synced`."""
        for reflector in self.reflectors:
            reflector.tried.set()
