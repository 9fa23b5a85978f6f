"""Workloads of other kinds with a scale subresource: those of `spec.kinds`, watched, and targets of ScaledObjects.

Their counts come from /scale: read once for each version of a watched object; for an unwatched one every minute, and
every few seconds while its Environment wakes or falls asleep. In: names of kinds. Out: bodies in the form of
`caches.keep_member`, with the target to scale.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from keda_py.apis.foreign import map_at, maps_at, text_at, texts_at
from keda_py.clock import Clock
from keda_py.core.values.own_annotations import EXCLUDE
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
"""Key of a body under which its ScaleTarget is stored."""
FINGERPRINT = "fingerprint"
"""Key of a trimmed body under which stands what tells one state of spec and status from another."""
COUNT_ERROR = "countError"
"""Key of a body under which it is stored why its count is not known."""

Kind = tuple[str, str]
"""apiVersion and kind."""
Place = tuple[Kind, str]
"""A kind and the namespace in which it is watched, "" for all."""


@dataclass(frozen=True, slots=True)
class CountQuery:
    """A workload whose count is needed: `live` is the watched object, None if its kind is not watched."""

    kind: Kind
    namespace: str
    name: str
    live: Obj | None = None


@dataclass(frozen=True, slots=True)
class _ScaleAnswer:
    """The answer of /scale. `scale` None: the object does not exist. `error`: the count is not known."""

    version: str
    at: float
    scale: Scale | None = None
    error: str = ""


def keep_further(live: Obj) -> Obj:
    """Trim an object as `keep_member` does, but without counts, which come from /scale.

    Where its definition keeps them is not known here: any change of spec or status may be one of a count, and changes
    the FINGERPRINT.
    """
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
        FINGERPRINT: hash(orjson.dumps([meta.get("generation"), status], option=orjson.OPT_SORT_KEYS)),
        "owned": any(reference.get("controller") is True for reference in maps_at(meta, "ownerReferences")),
    }


_KEPT = ("name", "namespace", "uid", "resourceVersion", "labels", "creationTimestamp", "deletionTimestamp")


class FurtherKinds:
    """Runs the watches of further kinds: `prepare`, then `read`, then ask `workload`."""

    def __init__(self, client: KubeClient, clock: Clock, namespaces: Sequence[str]) -> None:
        self._client, self._clock, self._everywhere = client, clock, not namespaces
        self._discovery = Discovery(client)
        self._informers: dict[Place, Informer] = {}
        self._users: dict[str, set[Place]] = {}
        self._tasks: dict[Place, asyncio.Task[None]] = {}
        self._begun: asyncio.Queue[Place] = asyncio.Queue()
        self._listeners: list[Notify] = []
        self._read: dict[tuple[Kind, str, str], _ScaleAnswer] = {}
        self._targets: dict[Kind, ScaleTarget] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    def follow(self, notify: Notify) -> Callable[[], None]:
        """Call `notify` with each change of a watched object; the returned function unsubscribes."""
        self._listeners.append(notify)
        return lambda: self._listeners.remove(notify)

    async def run(self) -> None:
        """Run the watches that are asked for until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                place = await self._begun.get()
                if (informer := self._informers.get(place)) is not None and place not in self._tasks:
                    name = f"informer further {informer.spec.resource.plural}"
                    self._tasks[place] = tasks.create_task(informer.run(), name=name)

    async def prepare(self, uid: str, namespace: str, kinds: Sequence[Kind]) -> str:
        """Watch the kinds that the Environment of that uid names, and stop watching those that only it named before.

        Returns what prevents the first kind that cannot be watched, with field, value and remedy; "" if all can.
        """
        places = [self._place(kind, namespace) for kind in kinds]
        self._use(uid, set(places))
        problems = [await self._problem(place, f"spec.kinds[{number}]") for number, place in enumerate(places)]
        return next(filter(None, problems), "")

    def forget(self, uid: str) -> None:
        """Drop a deleted Environment; stop the watches that only it needed."""
        self._use(uid, set())

    def _use(self, uid: str, places: set[Place]) -> None:
        before = self._users.pop(uid, set())
        if places:
            self._users[uid] = places
        gone = before - places
        for place in gone - set[Place]().union(*self._users.values()) if gone else ():
            self._informers.pop(place, None)
            self._read = {key: one for key, one in self._read.items() if self._place(key[0], key[1]) != place}
            if (task := self._tasks.pop(place, None)) is not None:
                task.cancel()

    def _place(self, kind: Kind, namespace: str) -> Place:
        """The scope of one watch: the whole cluster, or the namespace if the operator watches only some."""
        return kind, "" if self._everywhere else namespace

    async def _problem(self, place: Place, field: str) -> str:
        kind = place[0]
        try:
            informer = await self._informer(place, field)
        except (ConfigError, KubeError) as error:
            return str(error)
        await informer.wait_tried()
        if informer.synced:
            return ""
        plural = informer.spec.resource.plural
        remedy = f"let the operator list and watch {plural}, as environments.kinds of the chart does"
        return f"{field}: {kind[1]} cannot be listed ({informer.error}); {remedy}"

    async def _informer(self, place: Place, field: str) -> Informer:
        kind, namespace = place
        if place in self._informers:
            return self._informers[place]
        try:
            served = await self._discovery.find(*kind)
        except NotFound:
            text = f"{field}: the cluster has no {kind[1]} of {kind[0]}; correct it, or install that kind"
            raise ConfigError(text, field=field) from None
        if not served.scale_api_version or not served.resource.namespaced:
            raise ConfigError(f"{field}: {kind[1]} has no scale subresource; take it out", field=field)
        others = {other for other, _ in self._informers}
        if len(others) >= MOST_WATCHED and kind not in others:
            raise ConfigError(f"{field}: {MOST_WATCHED} kinds are watched for others already; take it out", field=field)
        if place not in self._informers:  # another look may have added it during the await
            spec = InformerSpec(resource=served.resource, namespaces=(namespace,), transform=keep_further)
            informer = self._informers[place] = Informer(self._client, spec)
            informer.subscribe(partial(self._notify, kind))
            self._begun.put_nowait(place)
        return self._informers[place]

    def _notify(self, kind: Kind, old: Obj | None, new: Obj | None) -> None:
        if new is None and old is not None:
            meta = old["metadata"]
            self._read.pop((kind, meta["namespace"], meta["name"]), None)
        for notify in tuple(self._listeners):
            notify(old, new)

    def watched(self, kinds: Iterable[Kind], namespace: str) -> list[CountQuery]:
        """The workloads of those kinds, as far as they can be listed.

        An object with a controller is left out, as a ReplicaSet of a Deployment: its controller would scale it up
        again.
        """
        found: list[CountQuery] = []
        for kind in kinds:
            informer = self._informers.get(self._place(kind, namespace))
            if informer is not None and informer.synced:
                lives = informer.objects(namespace)
                found.extend(
                    CountQuery(kind, namespace, live["metadata"]["name"], live) for live in lives if not live["owned"]
                )
        return found

    async def read(self, wanted: Iterable[CountQuery], *, soon: bool) -> None:
        """Read the counts that are not known or too old. `soon`: the Environment is waking or falling asleep."""
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
        # Names come and go without bound. Above the limit all entries are dropped; the next looks read what they need.
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
        self._read[key] = _ScaleAnswer(version, self._clock.monotonic(), scale, problem)

    def workload(self, wanted: CountQuery) -> Obj | None:
        """The workload as last read; None if it does not exist. Its `spec.replicas` is None if that is not known."""
        known = self._read.get((wanted.kind, wanted.namespace, wanted.name))
        informer = self._informers.get(self._place(wanted.kind, wanted.namespace))
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
            COUNT_ERROR: known.error,
        }
        if scale is not None:
            body["metadata"]["resourceVersion"] = scale.resource_version
        return body
