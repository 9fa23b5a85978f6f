"""The cluster as scalers may read it: informers that begin with the first question and end when no scaler asks.

Pods per namespace, trimmed; any other object by name, among those that authentications refer to
(`kube/informers/named_watches.py`): as many names as a tenant may think of are one watch. Until an informer has synced,
and where watching is not allowed, a question is one request.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from keda_py.clock import Clock
from keda_py.core.values.selectors import LabelSelector
from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import Discovery
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, only
from keda_py.kube.informers.named_watches import NamedWatches, Reference
from keda_py.kube.resources import PODS, Obj, Selection

# Seconds between two signals, on the loop's time: what happens meanwhile is in the second.
PAUSE = 1.0

Subscribe: TypeAlias = Callable[[asyncio.Event], Callable[[], None]]
"""Have an event set at each change; what is returned ends that."""


async def signals(subscribe: Subscribe) -> AsyncGenerator[None]:
    """Yield at first, and after changes. A signal never says what changed, so a thousand changes are one signal."""
    changed = asyncio.Event()
    end = subscribe(changed)
    try:
        while True:
            changed.clear()
            yield
            await asyncio.sleep(PAUSE)
            await changed.wait()
    finally:
        end()


def note_pods(selector: LabelSelector, changed: asyncio.Event) -> Callable[[Obj | None, Obj | None], None]:
    """For an informer: sets the event where a pod that matches came, went or changed in what triggers count."""

    def notify(old: Obj | None, new: Obj | None) -> None:
        if changed.is_set() or _counted(old) == _counted(new):
            return
        if any(selector.matches(pod) for pod in (old, new) if pod is not None):
            changed.set()

    return notify


def _counted(pod: Obj | None) -> tuple[Any, ...]:
    if pod is None:
        return ()
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    return (pod["metadata"].get("labels"), spec.get("nodeName"), status.get("phase"))


IDLE_SECONDS = 600.0
keep_pod = only("spec.nodeName", "status.phase", "status.conditions")


@dataclass(slots=True)
class OnDemandInformer:
    """An informer that a caller asked for; `asked` is monotonic, `followers` keep it however long nothing is asked."""

    informer: Informer
    task: asyncio.Task[None]
    asked: float
    followers: int = 0


class ClusterReader:
    """`KubeReader` of the SDK. Use `run` in a TaskGroup: the informers live in it, and those of `watches`."""

    def __init__(self, client: KubeClient, discovery: Discovery, clock: Clock) -> None:
        self._client, self._discovery, self._clock = client, discovery, clock
        self.watches = NamedWatches(client, clock)
        self.watches.subscribe(self._on_change)
        self._pods: dict[str, OnDemandInformer] = {}
        self._asked: dict[Reference, float] = {}
        """Objects that a caller has asked for, and when; monotonic."""
        self._followers: defaultdict[Reference, set[asyncio.Event]] = defaultdict(set)
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Keep the informers, and end those that no caller has asked for ten minutes."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self.watches.run(), name="named watches")
            while True:
                await asyncio.sleep(IDLE_SECONDS / 10)
                self.end_idle()

    async def pods(self, namespace: str, label_selector: str) -> Sequence[Mapping[str, Any]]:
        """Pods of a namespace that match. Raises KubeError, ValueError for a bad selector."""
        selector = LabelSelector.parse(label_selector)
        informer = self._watch_pods(namespace)
        pods = informer.objects(namespace) if informer else await self._client.list(PODS, namespace)
        return [pod for pod in pods if selector.matches(pod)]

    async def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any]:
        """One object. Raises NotFound and other KubeErrors."""
        reference = Reference(await self._discovery.resource(resource), namespace, name)
        if reference not in self._asked:
            self.watches.hold(reference)
        self._asked[reference] = self._clock.monotonic()
        found = await self.watches.read(reference)
        if found is None:
            raise NotFound(f'{resource} "{name}" not found', status=404, reason="NotFound")
        return found

    async def list(self, resource: str, namespace: str, label_selector: str = "") -> Sequence[Mapping[str, Any]]:
        """Objects of a namespace, asked of the API server."""
        kind = await self._discovery.resource(resource)
        return await self._client.list(kind, namespace, Selection(labels=label_selector))

    async def changes(
        self, resource: str, namespace: str, *, name: str = "", label_selector: str = ""
    ) -> AsyncGenerator[None]:
        """Signals of a change of one object, or of pods that match. Raises KubeError, ValueError for a bad selector."""
        if name:
            reference = Reference(await self._discovery.resource(resource), namespace, name)
            self.watches.hold(reference)
            try:
                async with aclosing(signals(partial(self._follow, reference))) as changes:
                    await self.watches.read(reference)  # the watch begins with it
                    async for _ in changes:
                        yield
            finally:
                self.watches.release(reference)
        elif resource == PODS.plural:
            selector = LabelSelector.parse(label_selector)
            with self._following_pods(namespace) as informer:
                await informer.wait_tried()
                follow = partial(_follow_pods, informer, selector)
                async with aclosing(signals(follow)) as changes:
                    async for _ in changes:
                        yield
        else:
            raise ValueError(f"{resource} are followed by name only")

    def _follow(self, reference: Reference, changed: asyncio.Event) -> Callable[[], None]:
        self._followers[reference].add(changed)

        def end() -> None:
            self._followers[reference].discard(changed)
            if not self._followers[reference]:
                del self._followers[reference]

        return end

    def _on_change(self, reference: Reference) -> None:
        for changed in self._followers.get(reference, ()):
            changed.set()

    @contextmanager
    def _following_pods(self, namespace: str) -> Iterator[Informer]:
        watched = self._pods.get(namespace) or self._begin(namespace)
        watched.followers += 1
        try:
            yield watched.informer
        finally:
            watched.followers -= 1
            watched.asked = self._clock.monotonic()

    def _watch_pods(self, namespace: str) -> Informer | None:
        """The informer of a namespace's pods, None until it has synced."""
        watched = self._pods.get(namespace) or self._begin(namespace)
        watched.asked = self._clock.monotonic()
        return watched.informer if watched.informer.synced else None

    def _begin(self, namespace: str) -> OnDemandInformer:
        if self._tasks is None:
            raise RuntimeError("ClusterReader.run is not running")
        informer = Informer(self._client, InformerSpec(resource=PODS, namespaces=(namespace,), transform=keep_pod))
        task = self._tasks.create_task(informer.run(), name=f"informer pods/{namespace}")
        self._pods[namespace] = OnDemandInformer(informer=informer, task=task, asked=self._clock.monotonic())
        return self._pods[namespace]

    def end_idle(self) -> None:
        """End the informers and watches of what no caller has asked for ten minutes."""
        now = self._clock.monotonic()
        for namespace, watched in list(self._pods.items()):
            if not watched.followers and now - watched.asked > IDLE_SECONDS:
                watched.task.cancel()
                del self._pods[namespace]
        for reference, asked in list(self._asked.items()):
            if now - asked > IDLE_SECONDS:
                del self._asked[reference]
                self.watches.release(reference)


def _follow_pods(informer: Informer, selector: LabelSelector, changed: asyncio.Event) -> Callable[[], None]:
    return informer.subscribe(note_pods(selector, changed))
