"""A local copy of the objects of one resource that follows the API server; see `reflector.py` for how.

    informer = Informer(client, InformerSpec(resource=DEPLOYMENTS, transform=only("spec.replicas", "status")))
    informer.subscribe(lambda old, new: queue.add(...))
    group.create_task(informer.run())        # ends when the task is cancelled
    await informer.wait_synced()

Rules for readers: not synced is "do not know"; `down_for` tells how long nothing new could have been heard; objects are
shared and never changed.
"""

import asyncio
from collections.abc import Callable

from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.cache import Cache, Notify
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.informers.reflector import Reflector
from keda_py.kube.resources import Obj


class Informer:
    """Objects of one resource, cluster-wide or of some namespaces, cached and indexed."""

    def __init__(self, client: KubeClient, spec: InformerSpec) -> None:
        self.spec = spec
        self._cache = Cache(spec.indexes)
        self._reflectors = tuple(
            Reflector(client=client, spec=spec, namespace=namespace, cache=self._cache) for namespace in spec.namespaces
        )

    async def run(self) -> None:
        """Follow the API server until cancelled; failures are retried for ever."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())

    @property
    def synced(self) -> bool:
        """Whether every namespace has been listed once; before that an absent object is an unknown one."""
        return all(reflector.synced.is_set() for reflector in self._reflectors)

    @property
    def error(self) -> KubeError | None:
        """Why it is not up to date: the last failure of a list or watch, None while all work."""
        return next((reflector.error for reflector in self._reflectors if reflector.error), None)

    @property
    def last_contact(self) -> float:
        """When the least fresh watch last heard anything, on the loop's time; bookmarks come about once a minute."""
        return min(reflector.last_contact for reflector in self._reflectors)

    def down_for(self) -> float:
        """Real seconds for which at least one watch has not worked; 0.0 while all do."""
        return max(reflector.down_for() for reflector in self._reflectors)

    async def wait_synced(self) -> None:
        """Return once `synced`."""
        for reflector in self._reflectors:
            await reflector.synced.wait()

    async def wait_tried(self) -> None:
        """Return once every namespace has been listed, or could not be; see `synced` and `error` for which."""
        for reflector in self._reflectors:
            await reflector.tried.wait()

    def give_up(self) -> None:
        """`run` has ended: what waits for a first answer waits no longer, and finds it not `synced`."""
        for reflector in self._reflectors:
            reflector.tried.set()

    def get(self, namespace: str, name: str) -> Obj | None:
        """The object, or None if missing (and `synced`)."""
        return self._cache.get(namespace, name)

    def objects(self, namespace: str = "") -> list[Obj]:
        """The objects of a namespace; all for ""."""
        return self._cache.within(namespace)

    def holds(self, namespace: str) -> bool:
        """Whether any object of that namespace is known."""
        return self._cache.holds(namespace)

    def by_index(self, index: str, value: str) -> list[Obj]:
        """The objects for which the index function of that name gave `value`."""
        return self._cache.by_index(index, value)

    def subscribe(self, notify: Notify) -> Callable[[], None]:
        """Call `notify(old, new)` on the loop at every change; at once with (None, object) for each already there.

        What is returned ends that.
        """
        return self._cache.subscribe(notify)

    def __len__(self) -> int:
        return len(self._cache)
