"""Watches of single objects by name: the Secrets and ConfigMaps that are referred to, and no others.

There is one watch per name (`fieldSelector=metadata.name=`, which RBAC's resourceNames can allow); above fifty names in
a namespace there is one watch of the namespace, of which only those names are kept. It begins with the first reference
and ends with the last. Where RBAC forbids the watch, or there are too many names for single watches, each read is a
GET, repeated every minute while a caller holds the name. A missing object is followed too, because it may be created.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from keda_py.clock import Clock
from keda_py.errors import KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, whole
from keda_py.kube.resources import EVERYTHING, Obj, Resource, Selection

NAMES_LIMIT, SINGLE_WATCHES = 50, 100
"""Names above which the whole namespace is watched; and the most single watches where RBAC forbids that."""
READ_AGAIN_SECONDS = 60.0
# What is kept of a namespace's other objects: enough to notice that one exists when a reference to it comes.
_KEPT_OF_OTHERS = ("name", "namespace", "uid", "resourceVersion")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reference:
    """Object by name; `namespace` is "" for a cluster-scoped kind."""

    resource: Resource
    namespace: str
    name: str


Notify = Callable[[Reference], None]


@dataclass(slots=True)
class _Watch:
    informer: Informer
    task: asyncio.Task[None]


@dataclass(slots=True)
class _Scope:
    """Names of one resource in one namespace, with their number of holders, and the watches that follow them.

    `fetched` are objects read by GET because they were referred to after the namespace's watch had trimmed them.
    """

    names: dict[str, int] = field(default_factory=dict)
    by_name: dict[str, _Watch] = field(default_factory=dict)
    together: _Watch | None = None
    takeover: asyncio.Task[None] | None = None
    fetched: dict[str, Obj] = field(default_factory=dict)

    def end(self) -> None:
        tasks = [watch.task for watch in self.by_name.values()]
        tasks += [self.together.task] if self.together else []
        tasks += [self.takeover] if self.takeover else []
        for task in tasks:
            task.cancel()


class NamedWatches:
    """Registry of followed names: `hold` one, `read` it, `release` it. The watches are tasks of `run`."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._scopes: dict[tuple[Resource, str], _Scope] = {}
        self._subscribers: list[Notify] = []
        self._tasks: asyncio.TaskGroup | None = None
        self._unwatched: dict[Reference, str] = {}
        """References without a watch, each with the resourceVersion last read ("" if the object is missing)."""

    async def run(self) -> None:
        """Keep the task group of all watches open until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            await asyncio.get_running_loop().create_future()

    def subscribe(self, notify: Notify) -> None:
        """Call `notify` on the loop whenever a held object was created, changed or deleted."""
        self._subscribers.append(notify)

    def hold(self, reference: Reference) -> None:
        """Count one more holder of a name; its watch begins with the first `read`."""
        scope = self._scopes.setdefault((reference.resource, reference.namespace), _Scope())
        scope.names[reference.name] = scope.names.get(reference.name, 0) + 1
        if len(scope.names) > NAMES_LIMIT and scope.together is None:
            scope.together = self._begin(reference, scope, EVERYTHING)
            scope.takeover = self._spawn(self._end_single_watches(scope, scope.together.informer))

    def release(self, reference: Reference) -> None:
        """Count one holder less; the last one ends the watch."""
        key = (reference.resource, reference.namespace)
        scope, name = self._scopes[key], reference.name
        scope.names[name] -= 1
        if scope.names[name]:
            return
        del scope.names[name]
        scope.fetched.pop(name, None)
        self._unwatched.pop(reference, None)
        if watch := scope.by_name.pop(name, None):
            watch.task.cancel()
        if not scope.names:
            scope.end()
            del self._scopes[key]

    async def read(self, reference: Reference) -> Obj | None:
        """Return the object as it is now, None if missing; a name without holders is read by GET. Raises KubeError."""
        scope = self._scopes.get((reference.resource, reference.namespace))
        if scope is None or reference.name not in scope.names:
            return await self._get(reference)
        informer = await self._source(reference, scope)
        if informer is None or not informer.synced:
            return await self._ask(reference)
        self._unwatched.pop(reference, None)
        found = informer.get(reference.namespace, reference.name)
        if found is None or "kind" in found:
            return found
        # The namespace's watch has trimmed it, because it was not referred to when it arrived.
        if reference.name not in scope.fetched:
            found = await self._get(reference)
            if found is None or not self._is_held(reference):
                return found
            scope.fetched[reference.name] = found
        return scope.fetched[reference.name]

    def _is_held(self, reference: Reference) -> bool:
        """Return whether a name still has a holder; the last may have released it during an await."""
        scope = self._scopes.get((reference.resource, reference.namespace))
        return scope is not None and reference.name in scope.names

    @property
    def open(self) -> int:
        """Return how many watches are open or being opened."""
        return sum(len(scope.by_name) + (scope.together is not None) for scope in self._scopes.values())

    async def _source(self, reference: Reference, scope: _Scope) -> Informer | None:
        """Return the informer that follows the name, started if missing; None if not held, or above SINGLE_WATCHES."""
        if scope.together is not None:
            await scope.together.informer.wait_tried()
            if scope.together.informer.synced:
                return scope.together.informer
            if not self._is_held(reference):
                return None
        if reference.name not in scope.by_name:
            if len(scope.by_name) >= SINGLE_WATCHES:
                return None
            selection = Selection(fields=f"metadata.name={reference.name}")
            scope.by_name[reference.name] = self._begin(reference, scope, selection)
        watch = scope.by_name[reference.name]
        await watch.informer.wait_tried()
        return watch.informer

    def _begin(self, reference: Reference, scope: _Scope, selection: Selection) -> _Watch:
        def keep(live: Obj) -> Obj:
            meta = live["metadata"]
            if meta["name"] in scope.names:
                return whole(live)
            return {"metadata": {name: meta[name] for name in _KEPT_OF_OTHERS if name in meta}}

        def notify(old: Obj | None, new: Obj | None) -> None:
            name = ((new or old) or {})["metadata"]["name"]
            changed = Reference(reference.resource, reference.namespace, name)
            scope.fetched.pop(name, None)
            if name in scope.names and (informer.synced or changed in self._unwatched):
                self._notify(changed)

        spec = InformerSpec(
            resource=reference.resource, namespaces=(reference.namespace,), selection=selection, transform=keep
        )
        informer = Informer(self._client, spec)
        informer.subscribe(notify)
        task = self._spawn(informer.run())
        # A cancelled watch would otherwise leave readers waiting for its first list.
        task.add_done_callback(lambda _: informer.give_up())
        return _Watch(informer=informer, task=task)

    async def _end_single_watches(self, scope: _Scope, together: Informer) -> None:
        """End the single watches once the namespace's watch has synced; if RBAC forbids it, they stay for good."""
        await together.wait_synced()
        while scope.by_name:
            _, watch = scope.by_name.popitem()
            await watch.informer.wait_tried()  # a caller may be waiting for its first answer
            watch.task.cancel()

    async def _get(self, reference: Reference) -> Obj | None:
        try:
            return await self._client.get(reference.resource.named(reference.namespace, reference.name))
        except NotFound:
            return None

    async def _ask(self, reference: Reference) -> Obj | None:
        """Read an object that cannot be watched, and schedule the next read in a minute."""
        found = await self._get(reference)
        if not self._is_held(reference):
            return found
        if reference not in self._unwatched:
            self._clock.call_later(READ_AGAIN_SECONDS, lambda: self._spawn_again(reference))
        self._unwatched[reference] = _version(found)
        return found

    def _spawn_again(self, reference: Reference) -> None:
        if reference in self._unwatched:
            self._spawn(self._ask_again(reference))

    async def _ask_again(self, reference: Reference) -> None:
        try:
            version = _version(await self._get(reference))
        except KubeError as error:
            log.debug("object cannot be read again", extra={"name": reference.name, "error": str(error)})
            version = self._unwatched.get(reference, "")
        if reference not in self._unwatched:
            return
        self._clock.call_later(READ_AGAIN_SECONDS, lambda: self._spawn_again(reference))
        if version != self._unwatched[reference]:
            self._unwatched[reference] = version
            self._notify(reference)

    def _notify(self, reference: Reference) -> None:
        for notify in self._subscribers:
            notify(reference)

    def _spawn(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        if self._tasks is None:
            raise RuntimeError("NamedWatches.run is not running")
        return self._tasks.create_task(work)


def _version(found: Obj | None) -> str:
    return str(found["metadata"].get("resourceVersion", "")) if found else ""
