"""ClusterEnvironments as they are known: their caches, their parsed specs, and the turn of each Environment.

In: watch events of ClusterEnvironments, namespaces and Environments. Out: `specs`, oldest first, for the controller
(`operator/cluster_environments/`), and `turn_of` for each decision about an Environment.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from keda_py.apis.environments.cluster_environment import ClusterEnvironment
from keda_py.apis.foreign import map_at, name_of, namespace_of, texts_at
from keda_py.apis.parsing import parse_manifest
from keda_py.core.environment.namespaces.coverage import owner_uid
from keda_py.core.environment.namespaces.order import NO_TURN, NamespaceTurn, OrderTally, progress_of
from keda_py.core.environment.namespaces.spec import (
    NAME_LABEL,
    ClusterEnvironmentSpec,
    build_cluster_environment,
    check_template,
    oldest_first,
)
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import CLUSTER_ENVIRONMENTS, ENVIRONMENTS, NAMESPACES, Obj, Selection


def read_policy(live: Obj) -> ClusterEnvironmentSpec:
    """Parse a ClusterEnvironment. Raises ConfigError."""
    written, mistakes = parse_manifest(ClusterEnvironment, live), Mistakes()
    with mistakes.noted():
        spec = build_cluster_environment(written, map_at(live, "spec", "template"))
    with mistakes.noted():
        check_template(written)
    mistakes.refuse()
    return spec


class Policies:
    """Caches of ClusterEnvironments and namespaces; with `namespaces` only those are watched, and covered."""

    def __init__(self, client: KubeClient, environments: Informer, namespaces: Sequence[str]) -> None:
        self._environments = environments
        self.live = Informer(client, InformerSpec(resource=CLUSTER_ENVIRONMENTS))
        self.namespaces = tuple(Informer(client, _spec_of(name)) for name in namespaces or ("",))
        self._specs: dict[str, tuple[tuple[object, ...], ClusterEnvironmentSpec | None]] = {}
        self._oldest: list[ClusterEnvironmentSpec] | None = None
        self._tallies: dict[str, OrderTally] | None = None
        self._listeners: list[Callable[[ObjectKey], None]] = []
        self.live.subscribe(self._on_policy)
        for informer in self.namespaces:
            informer.subscribe(self._on_namespace)
        environments.subscribe(self._on_environment)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self.live, *self.namespaces):
                tasks.create_task(informer.run(), name=f"informer policies {informer.spec.resource.plural}")

    async def tried(self) -> None:
        """Return once all are known, or could not be listed: an Environment that decides before knows no order."""
        for informer in (self.live, *self.namespaces):
            await informer.wait_tried()

    @property
    def problem(self) -> str:
        """The first kind that cannot be watched, and why; "" if all can."""
        known = (*self.namespaces, self._environments)
        unknown = (one for one in known if not one.synced)
        return next(
            (f"{one.spec.resource.plural} are not known: {one.error or 'not listed yet'}" for one in unknown), ""
        )

    def every_namespace(self) -> Iterator[Obj]:
        """Yield each namespace that may be covered."""
        for informer in self.namespaces:
            yield from informer.objects()

    def namespace(self, name: str) -> Obj | None:
        """Return a namespace that may be covered; None if it does not exist."""
        return next((one for each in self.namespaces if (one := each.get("", name)) is not None), None)

    def specs(self) -> list[ClusterEnvironmentSpec]:
        """The ClusterEnvironments that can be parsed, the oldest first."""
        if self._oldest is None:
            found = (self._read(live) for live in self.live.objects())
            self._oldest = oldest_first(spec for spec in found if spec is not None)
        return self._oldest

    def _read(self, live: Obj) -> ClusterEnvironmentSpec | None:
        meta = live["metadata"]
        version = (meta.get("generation"), meta.get("deletionTimestamp"))
        known = self._specs.get(meta["uid"])
        if known is None or known[0] != version:
            try:
                known = (version, read_policy(live))
            except ConfigError:
                known = (version, None)
            self._specs[meta["uid"]] = known
        return known[1]

    def turn_of(self, key: ObjectKey) -> NamespaceTurn:
        """What an Environment waits for; nothing without a ClusterEnvironment that has an order."""
        live = self._environments.get(key.namespace, key.name)
        uid = owner_uid(live) if live is not None else ""
        tally = self._known_tallies().get(uid) if uid else None
        return NO_TURN if tally is None else tally.turn_of(key.namespace)

    def on_turn(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` with each Environment that may have to wait no longer."""
        self._listeners.append(notify)

    def _known_tallies(self) -> dict[str, OrderTally]:
        if self._tallies is None:
            self._tallies = {spec.uid: OrderTally(spec) for spec in self.specs() if spec.order}
            for live in self._environments.objects() if self._tallies else ():
                self._note(self._tallies, live)
        return self._tallies

    def _note(self, tallies: dict[str, OrderTally], live: Obj) -> bool:
        tally = tallies.get(owner_uid(live))
        if tally is None:
            return False
        namespace = namespace_of(live)
        labels = {NAME_LABEL: namespace, **texts_at(self.namespace(namespace), "metadata", "labels")}
        return tally.note(namespace, tally.spec.group_of(labels), progress_of(live))

    def _on_policy(self, old: Obj | None, new: Obj | None) -> None:
        if new is None and old is not None:
            self._specs.pop(old["metadata"]["uid"], None)
        self._oldest = self._tallies = None

    def _on_namespace(self, old: Obj | None, new: Obj | None) -> None:
        if texts_at(old, "metadata", "labels") != texts_at(new, "metadata", "labels"):
            self._tallies = None

    def _on_environment(self, old: Obj | None, new: Obj | None) -> None:
        if self._tallies is None or not self._tallies:
            return
        done = False
        if new is None:
            for tally in self._tallies.values():
                tally.forget(namespace_of(old))
            done = True
        elif old is None or progress_of(old) != progress_of(new) or owner_uid(old) != owner_uid(new):
            done = self._note(self._tallies, new)
        if done:
            self._announce(owner_uid(new or old or {}))

    def _announce(self, uid: str) -> None:
        for live in self._environments.objects() if uid in (self._tallies or {}) else ():
            if owner_uid(live) == uid:
                key = ObjectKey(ENVIRONMENTS.kind, namespace_of(live), name_of(live))
                for notify in self._listeners:
                    notify(key)


def _spec_of(name: str) -> InformerSpec:
    selection = Selection(fields=f"metadata.name={name}" if name else "")
    return InformerSpec(resource=NAMESPACES, transform=_keep_namespace, selection=selection)


_KEPT = ("name", "uid", "resourceVersion", "labels", "creationTimestamp", "deletionTimestamp")


def _keep_namespace(live: Obj) -> Obj:
    """Trim a namespace to its name, labels and deletion: annotations may have 256 KiB."""
    meta = {name: value for name, value in live["metadata"].items() if name in _KEPT}
    return {"kind": NAMESPACES.kind, "metadata": meta}
