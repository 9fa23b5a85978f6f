"""Layers of defaults by namespace, as far as they are known: every build of a spec asks here, and nothing is read.

A change of an object or of a namespace's labels makes the objects of that namespace due, as a changed manifest does.
An object that becomes invalid stays as it was last valid. One that was never valid here is "do not know": manifests
that it is for are refused, so that their counts stay.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from keda_py.apis.foreign import name_of, namespace_of, texts_at
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.defaults.building import build_defaults
from keda_py.core.defaults.filling import fill_scaled_job, fill_scaled_object
from keda_py.core.defaults.layers import DefaultsLayer, DefaultsSpec, Layers, layers_of
from keda_py.core.environment.namespaces.spec import NAME_LABEL
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, only
from keda_py.kube.resources import CLUSTER_KEDA_DEFAULTS, KEDA_DEFAULTS, NAMESPACES, Obj, Selection

AT_A_TIME = 100
"""Objects that become due before the loop may do something else: about a millisecond."""

MOST_OBJECTS = 20
"""Objects of each kind that are laid in a namespace, the oldest: each costs at every build of a spec."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """An object of a generation: as it was last valid, and why it cannot be read now."""

    generation: int
    valid: DefaultsSpec | None
    error: str = ""


_NOT_READ = _Parsed(-1, None)


def _parse(kind: str, live: Obj, before: DefaultsSpec | None) -> _Parsed:
    generation = live["metadata"].get("generation", 0)
    try:
        return _Parsed(generation, build_defaults({**live, "kind": kind}))
    except ConfigError as error:
        return _Parsed(generation, before, str(error))


class KnownDefaults:
    """Caches of both kinds and of namespaces' labels; `watches` False: only the installation's own are laid.

    With `namespaces` only those are watched.
    """

    def __init__(
        self, client: KubeClient, namespaces: Sequence[str], base: DefaultsLayer | None, *, watches: bool
    ) -> None:
        self.watches, self._base = watches, base
        self.are_on = watches or base is not None
        where = tuple(namespaces) or ("",)
        self.own = Informer(client, InformerSpec(resource=KEDA_DEFAULTS, namespaces=where))
        self.cluster = Informer(client, InformerSpec(resource=CLUSTER_KEDA_DEFAULTS))
        self._namespaces = tuple(Informer(client, _labels_of(name)) for name in where)
        self._read_before: dict[str, _Parsed] = {}
        self._layers: dict[str, Layers | str] = {}
        self._stale: set[str] = set()
        self._changed = asyncio.Event()
        self._followers: list[tuple[Informer, Callable[[ObjectKey], None]]] = []
        self.own.subscribe(lambda old, new: self._on_change(old, new, namespace_of(new or old or {})))
        self.cluster.subscribe(lambda old, new: self._on_change(old, new, ""))
        for informer in self._namespaces:
            informer.subscribe(self._on_namespace)

    def follow(self, informer: Informer, due: Callable[[ObjectKey], None]) -> None:
        """Call `due` with each object of the informer whose layers change."""
        self._followers.append((informer, due))

    async def run(self) -> None:
        """Watch until cancelled."""
        if not self.watches:
            return
        async with asyncio.TaskGroup() as tasks:
            for informer in (self.own, self.cluster, *self._namespaces):
                tasks.create_task(informer.run(), name=f"informer defaults {informer.spec.resource.plural}")
            tasks.create_task(self._renew())

    async def synced(self) -> None:
        """Return once all are known: until then no spec is, and nothing may be scaled."""
        for informer in (self.own, self.cluster, *self._namespaces) if self.watches else ():
            await informer.wait_synced()

    def build_scaled_object(self, obj: ScaledObject) -> ScalingSpec:
        """Build the spec over the layers of its namespace. Raises ConfigError."""
        return fill_scaled_object(obj, self.layers(obj.metadata.namespace))

    def build_scaled_job(self, obj: ScaledJob) -> JobScalingSpec:
        """Build the spec over the layers of its namespace. Raises ConfigError."""
        return fill_scaled_job(obj, self.layers(obj.metadata.namespace))

    def layers(self, namespace: str) -> Layers:
        """Return the layers of a namespace with objects. Raises ConfigError if one was never valid."""
        if not self.watches:
            return layers_of({}, (), (), self._base)
        found = self._layers.get(namespace)
        if found is None:
            found = self._layers[namespace] = self._find(namespace)
        if isinstance(found, str):
            raise ConfigError(found)
        return found

    def layers_if_known(self, namespace: str) -> Layers:
        """Return the layers of any namespace, without remembering it; () if they are not known."""
        found = self._find(namespace) if self.watches else layers_of({}, (), (), self._base)
        return () if isinstance(found, str) else found

    def specs_of(self, informer: Informer, namespace: str) -> Iterator[DefaultsSpec]:
        """Yield the objects of one of both kinds in a namespace, as they were last valid. Raises ConfigError."""
        for live in nsmallest(MOST_OBJECTS, informer.objects(namespace), key=_age):
            yield self._read(informer.spec.resource.kind, live)

    def _read(self, kind: str, live: Obj) -> DefaultsSpec:
        meta = live["metadata"]
        known = self._read_before.get(meta["uid"], _NOT_READ)
        if known.generation != meta.get("generation", 0):
            known = self._read_before[meta["uid"]] = _parse(kind, live, known.valid)
        if known.valid is None:
            text = f"{kind} {meta['name']} cannot be used, so the defaults here are not known: {known.error}"
            raise ConfigError(text)
        return known.valid

    def _find(self, namespace: str) -> Layers | str:
        try:
            own, cluster = list(self.specs_of(self.own, namespace)), list(self.specs_of(self.cluster, ""))
            needs_labels = any(one.selector is not None for one in cluster)
            labels = self._labels(namespace) if needs_labels else {}
        except ConfigError as error:
            return str(error)
        return layers_of(labels, own, cluster, self._base)

    def _labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a namespace. Raises ConfigError until a watch has shown it."""
        found = (informer.get("", namespace) for informer in self._namespaces)
        live = next((one for one in found if one is not None), None)
        if live is None:
            raise ConfigError(f"namespace {namespace} is not known yet, so it is not known which defaults it has")
        return {NAME_LABEL: namespace, **texts_at(live, "metadata", "labels")}

    def _on_namespace(self, old: Obj | None, new: Obj | None) -> None:
        """Forget a namespace that is gone: its layers are not unknown, nothing asks for them any more."""
        if new is None:
            self._layers.pop(name_of(old or {}), None)
        else:
            self._on_change(old, new, name_of(new))

    def _on_change(self, old: Obj | None, new: Obj | None, namespace: str) -> None:
        if old is not None and new is not None and _relevant(old) == _relevant(new):
            return
        if new is None and old is not None:
            self._read_before.pop(old["metadata"]["uid"], None)
        self._stale |= {namespace} if namespace else set(self._layers)
        self._changed.set()

    async def _renew(self) -> None:
        """Find the layers of namespaces anew, and make their objects due where they differ."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._stale:
                namespace = self._stale.pop()
                if namespace in self._layers and self._replace(namespace):
                    await self._tell(namespace)
                await asyncio.sleep(0)

    def _replace(self, namespace: str) -> bool:
        before, found = self._layers[namespace], self._find(namespace)
        self._layers[namespace] = found
        if isinstance(found, str) and found != before:
            log.warning("defaults are not known", extra={"namespace": namespace, "error": found})
        return found != before

    async def _tell(self, namespace: str) -> None:
        for informer, due in self._followers:
            for number, live in enumerate(informer.objects(namespace)):
                due(ObjectKey.of(informer.spec.resource.kind, live))
                if number % AT_A_TIME == AT_A_TIME - 1:
                    await asyncio.sleep(0)


def _age(live: Obj) -> tuple[str, str]:
    return live["metadata"].get("creationTimestamp", ""), live["metadata"]["uid"]


def _relevant(live: Obj) -> tuple[object, ...]:
    return live["metadata"].get("labels"), live.get("spec")


def _labels_of(name: str) -> InformerSpec:
    """Watch the labels of one namespace, or of all."""
    selection = Selection(fields=f"metadata.name={name}" if name else "")
    return InformerSpec(resource=NAMESPACES, selection=selection, transform=only("metadata.labels"))
