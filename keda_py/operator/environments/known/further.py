"""Workloads of other kinds with a scale subresource: those of `spec.kinds`, watched, and targets of ScaledObjects.

A count is what /scale says of it, asked for once for each version of an object that is watched. Of one that is not
watched it is asked for every minute, and every few seconds while its environment wakes or falls asleep. In: names of
kinds. Out: bodies in the form of `caches.keep_member`, with the target to scale.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, text_at, texts_at
from keda_py.clock import Clock
from keda_py.core.environment.spec import EXCLUDE
from keda_py.errors import ConfigError, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import Discovery, ScaleTarget
from keda_py.kube.informers.cache import Notify
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import Obj
from keda_py.kube.scale import Scale, read_scale
from keda_py.operator.cluster.caches import BLIND_SECONDS

AT_ONCE = 20
MOST_WATCHED, MOST_READ = 20, 50_000
READ_AGAIN_SECONDS, READ_SOON_SECONDS = 60.0, 3.0
TARGET = "scaleTarget"
"""Key of a body: its ScaleTarget."""

Kind = tuple[str, str]
"""apiVersion and kind."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A workload to be known: `live` as it is watched, None where it is not."""

    kind: Kind
    namespace: str
    name: str
    live: Obj | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """What /scale said; `scale` None: it is not there. `error`: it is not known."""

    version: str
    at: float
    scale: Scale | None = None
    error: str = ""


def keep_further(live: Obj) -> Obj:
    """As `keep_member`, without counts, which /scale has."""
    meta, status = live["metadata"], map_at(live, "status")
    kept = {name: meta[name] for name in _KEPT if name in meta}
    excluded = texts_at(meta, "annotations").get(EXCLUDE, "")
    writers = [one for one in meta.get("managedFields") or () if "f:replicas" in map_at(one, "fieldsV1", "f:spec")]
    writer = max(((text_at(one, "time"), text_at(one, "manager")) for one in writers), default=("", ""))[1]
    return {
        "kind": live["kind"],
        "metadata": kept | {"annotations": {EXCLUDE: excluded} if excluded else {}},
        "status": {name: status[name] for name in ("readyReplicas",) if isinstance(status.get(name), int)},
        "manager": writer,
        "owned": any(one.get("controller") is True for one in maps_at(meta, "ownerReferences")),
    }


_KEPT = ("name", "namespace", "uid", "resourceVersion", "labels", "creationTimestamp", "deletionTimestamp")


class FurtherKinds:
    """`run` them as long as the other caches; `prepare`, then `read`, then ask `workload`."""

    def __init__(self, client: KubeClient, clock: Clock, namespaces: Sequence[str]) -> None:
        self._client, self._clock, self._namespaces = client, clock, tuple(namespaces) or ("",)
        self._discovery = Discovery(client)
        self._informers: dict[Kind, Informer] = {}
        self._begun: asyncio.Queue[Informer] = asyncio.Queue()
        self._listeners: list[Notify] = []
        self._read: dict[tuple[Kind, str, str], _Read] = {}
        self._targets: dict[Kind, ScaleTarget] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    def subscribe(self, notify: Notify) -> Callable[[], None]:
        """Call `notify` with each change of what is watched; what is returned ends that."""
        self._listeners.append(notify)
        return lambda: self._listeners.remove(notify)

    async def run(self) -> None:
        """Watch what is asked for until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                informer = await self._begun.get()
                tasks.create_task(informer.run(), name=f"informer further {informer.spec.resource.plural}")

    async def prepare(self, kinds: Iterable[Kind]) -> str:
        """Watch those of `spec.kinds`; what prevents the first, with field, value and remedy, "" where nothing does."""
        problems = [await self._problem(kind, f"spec.kinds[{number}]") for number, kind in enumerate(kinds)]
        return next(filter(None, problems), "")

    async def _problem(self, kind: Kind, field: str) -> str:
        try:
            informer = await self._informer(kind, field)
        except (ConfigError, KubeError) as error:
            return str(error)
        await informer.wait_tried()
        if informer.synced:
            return ""
        plural = informer.spec.resource.plural
        return f"{field}: {kind[1]} cannot be listed ({informer.error}); let the operator list and watch {plural}"

    async def _informer(self, kind: Kind, field: str) -> Informer:
        if kind in self._informers:
            return self._informers[kind]
        try:
            served = await self._discovery.find(*kind)
        except NotFound:
            text = f"{field}: the cluster has no {kind[1]} of {kind[0]}; correct it, or install that kind"
            raise ConfigError(text, field=field) from None
        if not served.scale_api_version or not served.resource.namespaced:
            raise ConfigError(f"{field}: {kind[1]} has no scale subresource; take it out", field=field)
        if len(self._informers) >= MOST_WATCHED:
            raise ConfigError(f"{field}: {MOST_WATCHED} kinds are watched for others already; take it out", field=field)
        spec = InformerSpec(resource=served.resource, namespaces=self._namespaces, transform=keep_further)
        informer = self._informers.setdefault(kind, Informer(self._client, spec))
        informer.subscribe(partial(self._tell, kind))
        self._begun.put_nowait(informer)
        return informer

    def _tell(self, kind: Kind, old: Obj | None, new: Obj | None) -> None:
        if new is None and old is not None:
            meta = old["metadata"]
            self._read.pop((kind, meta["namespace"], meta["name"]), None)
        for notify in tuple(self._listeners):
            notify(old, new)

    def watched(self, kinds: Iterable[Kind], namespace: str) -> list[Wanted]:
        """The workloads of those kinds, as far as they can be listed.

        What has a controller, as a ReplicaSet has its Deployment, is scaled by that, which would put it up again.
        """
        found: list[Wanted] = []
        for kind in kinds:
            informer = self._informers.get(kind)
            if informer is not None and informer.synced:
                lives = informer.objects(namespace)
                found.extend(
                    Wanted(kind, namespace, live["metadata"]["name"], live) for live in lives if not live["owned"]
                )
        return found

    async def read(self, wanted: Iterable[Wanted], *, soon: bool) -> None:
        """Ask for the counts that are not known, or old. `soon`: something is being changed."""
        oldest = self._clock.monotonic() - (READ_SOON_SECONDS if soon else READ_AGAIN_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            for one in wanted:
                key = (one.kind, one.namespace, one.name)
                known = self._read.get(key)
                version = "" if one.live is None else one.live["metadata"]["resourceVersion"]
                is_fresh = known is not None and known.version == version
                if known is None or not is_fresh or ((not version or known.error) and known.at <= oldest):
                    tasks.create_task(self._ask(key, version))

    async def _ask(self, key: tuple[Kind, str, str], version: str) -> None:
        kind, namespace, name = key
        if len(self._read) > MOST_READ:
            self._read.clear()
        scale, problem = None, ""
        async with self._turns:
            try:
                target = self._targets[kind] = await self._discovery.scale_target(*kind)
                scale = await read_scale(self._client, target, namespace, name)
            except NotFound:
                pass
            except (ConfigError, KubeError) as error:
                problem = str(error)
        self._read[key] = _Read(version, self._clock.monotonic(), scale, problem)

    def workload(self, wanted: Wanted) -> Obj | None:
        """As it was read; None where it is not there. `spec.replicas` None: its count is not known."""
        known = self._read.get((wanted.kind, wanted.namespace, wanted.name))
        informer = self._informers.get(wanted.kind)
        if known is None or (known.scale is None and not known.error):
            return None
        scale, live = known.scale, wanted.live or {}
        blind = wanted.live is not None and informer is not None and informer.down_for() >= BLIND_SECONDS
        status = map_at(live, "status")
        there = 0 if scale is None else scale.status_replicas
        body: dict[str, Any] = {
            "kind": wanted.kind[1],
            "metadata": {"namespace": wanted.namespace, "name": wanted.name, **live.get("metadata", {})},
            "spec": {"replicas": None if scale is None or blind else scale.replicas},
            "status": {"replicas": there, "readyReplicas": status.get("readyReplicas", there), "observedGeneration": 0},
            "manager": live.get("manager", ""),
            TARGET: self._targets.get(wanted.kind),
        }
        if scale is not None:
            body["metadata"]["resourceVersion"] = scale.resource_version
        return body
