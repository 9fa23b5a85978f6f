"""Objects followed by name: Secrets and ConfigMaps that are referred to, and nothing else of their kind.

One watch per name (`fieldSelector=metadata.name=`, which RBAC's resourceNames can allow); above fifty names in a
namespace one watch of the namespace, of which only those names are kept. It begins with the first reference and ends
with the last. Where watching is not allowed, or not of the namespace and there are too many names, each read is a GET,
repeated every minute while a caller holds the name.
An object that is not there is followed all the same: it may come.
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
"""Names above which their namespace is watched as a whole; and of how many there are watches where it may not be."""
READ_AGAIN_SECONDS = 60.0
_KEPT_OF_OTHERS = ("name", "namespace", "uid", "resourceVersion")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reference:
    """One object by name; `namespace` is "" for a cluster-scoped kind."""

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
    """The names of one resource in one namespace with the number of their holders, and how they are watched.

    `fetched` are objects that became wanted after the namespace's watch had passed them by.
    """

    names: dict[str, int] = field(default_factory=dict)
    by_name: dict[str, _Watch] = field(default_factory=dict)
    together: _Watch | None = None
    takeover: asyncio.Task[None] | None = None
    fetched: dict[str, Obj] = field(default_factory=dict)

    def end(self) -> None:
        """Stop every watch."""
        tasks = [watch.task for watch in self.by_name.values()]
        tasks += [self.together.task] if self.together else []
        tasks += [self.takeover] if self.takeover else []
        for task in tasks:
            task.cancel()


class NamedWatches:
    """`hold` a name, `read` it as often as you like, `release` it. Use `run` in a TaskGroup: the watches live in it."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._scopes: dict[tuple[Resource, str], _Scope] = {}
        self._subscribers: list[Notify] = []
        self._tasks: asyncio.TaskGroup | None = None
        self._unwatched: dict[Reference, str] = {}
        """What can only be asked for, with the version that was last seen ("": not there)."""

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            await asyncio.get_running_loop().create_future()

    def subscribe(self, notify: Notify) -> None:
        """Call `notify` on the loop whenever an object that is held came, changed or went."""
        self._subscribers.append(notify)

    def hold(self, reference: Reference) -> None:
        """One holder more."""
        scope = self._scopes.setdefault((reference.resource, reference.namespace), _Scope())
        scope.names[reference.name] = scope.names.get(reference.name, 0) + 1
        if len(scope.names) > NAMES_LIMIT and scope.together is None:
            scope.together = self._begin(reference, scope, EVERYTHING)
            scope.takeover = self._spawn(self._end_single_watches(scope, scope.together.informer))

    def release(self, reference: Reference) -> None:
        """One holder less; the last ends the watch."""
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
        """The object as it is now, None if missing; what no caller holds is asked for. Raises KubeError."""
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
        if reference.name not in scope.fetched:
            found = await self._get(reference)
            if found is None or not self._is_held(reference):
                return found
            scope.fetched[reference.name] = found
        return scope.fetched[reference.name]

    def _is_held(self, reference: Reference) -> bool:
        """Still: what is awaited for a name may come after the last holder has released it."""
        scope = self._scopes.get((reference.resource, reference.namespace))
        return scope is not None and reference.name in scope.names

    @property
    def open(self) -> int:
        """Watches that are open or being opened."""
        return sum(len(scope.by_name) + (scope.together is not None) for scope in self._scopes.values())

    async def _source(self, reference: Reference, scope: _Scope) -> Informer | None:
        """The watch that knows the name, begun if missing. None: not held, or one too many."""
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
                self._tell(changed)

        spec = InformerSpec(
            resource=reference.resource, namespaces=(reference.namespace,), selection=selection, transform=keep
        )
        informer = Informer(self._client, spec)
        informer.subscribe(notify)
        task = self._spawn(informer.run())
        task.add_done_callback(lambda _: informer.give_up())
        return _Watch(informer=informer, task=task)

    async def _end_single_watches(self, scope: _Scope, together: Informer) -> None:
        """One watch of the namespace takes over; where that is not allowed, it never does."""
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
        """A read where watching is not possible; the next one follows in a minute."""
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
            self._tell(reference)

    def _tell(self, reference: Reference) -> None:
        for notify in self._subscribers:
            notify(reference)

    def _spawn(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        if self._tasks is None:
            raise RuntimeError("NamedWatches.run is not running")
        return self._tasks.create_task(work)


def _version(found: Obj | None) -> str:
    return str(found["metadata"].get("resourceVersion", "")) if found else ""
