"""A namespace of its own for each scenario, and words to act in it and to wait by watch for what comes of it."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import (
    DEPLOYMENTS,
    EVENTS,
    NAMESPACES,
    SCALED_OBJECTS,
    Obj,
    Resource,
    Selection,
)
from tests.worlds.actor import Actor

SECONDS = 45.0

Condition = Callable[[Obj], bool]


class Watch:
    """One object as it changes: `seen` has every version, None for its end."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._news = asyncio.Event()
        self.seen: list[Obj | None] = []

    def note(self, _: Obj | None, new: Obj | None) -> None:
        self.seen.append(new)
        self._news.set()

    async def until(self, condition: Condition, seconds: float = SECONDS) -> Obj:
        """The first version from now on that fulfils `condition`, the present one included."""
        try:
            async with asyncio.timeout(seconds):
                return await self._find(condition)
        except TimeoutError:
            last = json.dumps(self.seen[-1] if self.seen else None, indent=1)
            raise AssertionError(f"{self._what} is not as expected after {seconds} s; last seen:\n{last}") from None

    async def gone(self, seconds: float = SECONDS) -> None:
        """Return when the object is deleted."""
        async with asyncio.timeout(seconds):
            while not self.seen or self.seen[-1] is not None:
                await self._next()

    async def _find(self, condition: Condition) -> Obj:
        looked = max(len(self.seen) - 1, 0)
        while True:
            for version in self.seen[looked:]:
                if version is not None and condition(version):
                    return version
            looked = len(self.seen)
            await self._next()

    async def _next(self) -> None:
        self._news.clear()
        await self._news.wait()

    def replicas(self) -> list[int]:
        """The counts that the workload was asked to have, one after the other."""
        counts: list[int] = []
        for version in self.seen:
            count = version["spec"].get("replicas", 1) if version else None
            if count is not None and counts[-1:] != [count]:
                counts.append(count)
        return counts


@dataclass(kw_only=True)
class Scene(Actor):
    """A namespace of any cluster; `kubectl` runs the real one."""

    kubeconfig: Path

    async def get(self, resource: Resource, name: str = "app") -> Obj:
        return await self.client.get(resource.named(self.namespace, name))

    async def replace_triggers(self, *triggers: Obj, name: str = "app") -> None:
        await self.patch(SCALED_OBJECTS, [{"op": "replace", "path": "/spec/triggers", "value": list(triggers)}], name)

    async def exists(self, resource: Resource, name: str = "app") -> bool:
        try:
            await self.get(resource, name)
        except NotFound:
            return False
        return True

    @asynccontextmanager
    async def watching(self, resource: Resource, name: str = "app") -> AsyncIterator[Watch]:
        """A watch on one object while the block lasts."""
        watch = Watch(f"{resource.kind} {self.namespace}/{name}")
        selection = Selection(fields=f"metadata.name={name}")
        informer = Informer(
            self.client, InformerSpec(resource=resource, namespaces=(self.namespace,), selection=selection)
        )
        informer.subscribe(watch.note)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(informer.run())
            await informer.wait_synced()
            try:
                yield watch
            finally:
                running.cancel()

    async def until(self, resource: Resource, condition: Condition, name: str = "app", seconds: float = SECONDS) -> Obj:
        """The object as soon as it fulfils `condition`."""
        async with self.watching(resource, name) as watch:
            return await watch.until(condition, seconds)

    async def replicas(self, wanted: int, name: str = "app", seconds: float = SECONDS) -> None:
        """Return once that many are asked of the Deployment."""
        await self.until(DEPLOYMENTS, has_replicas(wanted), name, seconds)

    async def condition(self, kind: str, status: str, reason: str = "", name: str = "app") -> Obj:
        """The condition of the ScaledObject once it has that status and reason."""
        live = await self.until(SCALED_OBJECTS, has_condition(kind, status, reason), name)
        return condition_of(live, kind)

    async def event(self, reason: str, name: str = "app", words: str = "") -> Obj:
        """An Event about that ScaledObject with these words in its note, as soon as it is there."""
        informer = Informer(self.client, InformerSpec(resource=EVENTS, namespaces=(self.namespace,)))
        found: asyncio.Future[Obj] = asyncio.get_running_loop().create_future()

        def note(_: Obj | None, new: Obj | None) -> None:
            if new and not found.done() and _tells(new, name, reason, words):
                found.set_result(new)

        informer.subscribe(note)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(informer.run())
            try:
                async with asyncio.timeout(SECONDS):
                    return await found
            except TimeoutError:
                told = [(event.get("reason"), event.get("note")) for event in await self.events(name)]
                raise AssertionError(f"no Event {reason} about {name}; there are {told}") from None
            finally:
                running.cancel()

    async def events(self, name: str = "app") -> list[Obj]:
        found = await self.client.list(EVENTS, self.namespace)
        return [event for event in found if _is_about(event, name)]

    async def kubectl(self, *arguments: str, given: str = "") -> str:
        """What kubectl prints; AssertionError when it fails."""
        return await asyncio.to_thread(kubectl, self.kubeconfig, "-n", self.namespace, *arguments, given=given)


def _is_about(event: Obj, name: str) -> bool:
    regarding = event.get("regarding") or {}
    return (regarding.get("kind"), regarding.get("name")) == ("ScaledObject", name)


def _tells(event: Obj, name: str, reason: str, words: str) -> bool:
    return _is_about(event, name) and event.get("reason") == reason and words in (event.get("note") or "")


def kubectl(kubeconfig: Path, *arguments: str, given: str = "") -> str:
    command = ["kubectl", "--kubeconfig", str(kubeconfig), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def has_replicas(wanted: int) -> Condition:
    return lambda live: live["spec"].get("replicas", 1) == wanted


def has_condition(kind: str, status: str, reason: str = "") -> Condition:
    def check(live: Obj) -> bool:
        found = condition_of(live, kind)
        return found.get("status") == status and (not reason or found.get("reason") == reason)

    return check


def condition_of(live: Obj, kind: str) -> Obj:
    listed = (live.get("status") or {}).get("conditions") or []
    return next((dict(entry) for entry in listed if entry["type"] == kind), {})


async def clear(client: KubeClient, namespace: str) -> None:
    """Delete what the operator must let go of, wait for that, then delete the namespace."""
    async with asyncio.timeout(SECONDS):
        for live in await client.list(SCALED_OBJECTS, namespace):
            with suppress(NotFound):
                await client.delete(SCALED_OBJECTS.named(namespace, live["metadata"]["name"]))
        informer = Informer(client, InformerSpec(resource=SCALED_OBJECTS, namespaces=(namespace,)))
        empty = asyncio.Event()
        informer.subscribe(lambda old, new: empty.set() if not len(informer) else None)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(informer.run())
            await informer.wait_synced()
            if len(informer):
                await empty.wait()
            running.cancel()
    with suppress(NotFound):
        await client.delete(NAMESPACES.named("", namespace))
