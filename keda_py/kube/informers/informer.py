"""A local copy of the objects of one resource that follows the API server; see `reflector.py` for how.

    informer = Informer(client, InformerSpec(resource=DEPLOYMENTS, transform=only("spec.replicas", "status")))
    informer.subscribe(lambda old, new: queue.add(...))
    group.create_task(informer.run())        # ends when the task is cancelled
    await informer.wait_synced()

Rules for readers: not synced is "do not know"; `down_for` tells how long nothing new could have been heard; objects are
shared and never changed.
"""

import asyncio

from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.cache import Cache
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.informers.reflector import Reflector


class Informer(Cache):
    """Objects of one resource, cluster-wide or of some namespaces, cached and indexed; read as `cache.py` says."""

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
        """Whether every namespace has been listed once; before that an absent object is an unknown one."""
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    @property
    def error(self) -> KubeError | None:
        """Why it is not up to date: the last failure of a list or watch, None while all work."""
        return next((reflector.error for reflector in self.reflectors if reflector.error), None)

    @property
    def last_contact(self) -> float:
        """When the least fresh watch last heard anything, on the loop's time; bookmarks come about once a minute."""
        return min(reflector.last_contact for reflector in self.reflectors)

    def down_for(self) -> float:
        """Real seconds for which at least one watch has not worked; 0.0 while all do."""
        return max(reflector.down_for() for reflector in self.reflectors)

    async def wait_synced(self) -> None:
        """Return once `synced`."""
        for reflector in self.reflectors:
            await reflector.synced.wait()

    async def wait_tried(self) -> None:
        """Return once every namespace has been listed, or could not be; see `synced` and `error` for which."""
        for reflector in self.reflectors:
            await reflector.tried.wait()

    def give_up(self) -> None:
        """`run` has ended: what waits for a first answer waits no longer, and finds it not `synced`."""
        for reflector in self.reflectors:
            reflector.tried.set()
