"""The owner of an object: the oldest Environment of its namespace that selects it."""

from collections.abc import Iterator, Mapping
from heapq import nsmallest

from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at, texts_at
from keda_py.apis.parsing import parse_manifest
from keda_py.core.environment.decision.state import key_of_workload
from keda_py.core.environment.spec import EnvironmentSpec, build_environment, owner_of
from keda_py.errors import ConfigError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.environments.known.own_pod import OwnPod
from keda_py.operator.environments.known.targets import workload_of

# Environments of a namespace that are read: each of them asks for every member whether another one owns it.
MOST_ENVIRONMENTS = 20


class Owners:
    """Parses each generation of each Environment once, and finds the owners of objects."""

    def __init__(self, environments: Informer, own: OwnPod) -> None:
        self._environments, self._own = environments, own
        self._specs: dict[str, tuple[tuple[object, ...], EnvironmentSpec | None]] = {}
        self._known: dict[str, list[Obj]] = {}
        self._labels: dict[str, frozenset[str]] = {}
        environments.subscribe(self._hear)

    def of(self, live: Obj) -> str:
        """The name of the Environment that owns this object; "" if none does."""
        if self.is_own(live):
            return ""
        labels, annotations = texts_at(live, "metadata", "labels"), texts_at(live, "metadata", "annotations")
        return self.by(live["metadata"]["namespace"], labels, annotations)

    def is_own(self, live: Obj) -> bool:
        """Whether the operator itself runs in that workload, or this ScaledObject's: no Environment may own it."""
        kind, namespace, name = text_at(live, "kind"), live["metadata"]["namespace"], name_of(live)
        if kind == SCALED_OBJECTS.kind:
            _, kind, name = workload_of(live).rsplit("/", 2)
        return self._own.is_of(kind, namespace, name)

    def by(self, namespace: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
        """The owner of an object of which only labels and annotations are known."""
        owner = owner_of(list(self.within(namespace)), labels, annotations)
        return "" if owner is None else owner.name

    def holds(self, namespace: str, uid: str) -> Mapping[str, str]:
        """Map KIND/NAME of members that other Environments still remember to the names of those Environments.

        They give a member back first: an original count that is taken over before would be the 0 of a sleeping
        workload. Environments beyond `MOST_ENVIRONMENTS` never ruled and remember nothing, since the oldest stay the
        oldest.
        """
        found: dict[str, str] = {}
        for live in self._oldest(namespace):
            if live["metadata"]["uid"] != uid:
                for key, member in map_at(live, "status", "members").items():
                    found[key] = name_of(live)
                    if workload := text_at(member, "workload"):
                        found[key_of_workload(workload)] = name_of(live)
        return found

    def within(self, namespace: str) -> Iterator[EnvironmentSpec]:
        """The Environments that can be parsed; unreadable ones have no members."""
        for live in self._oldest(namespace):
            if (spec := self._read(live)) is not None:
                yield spec

    def labels(self, namespace: str) -> frozenset[str]:
        """The label keys that decide which Environment of the namespace owns an object, and its wave."""
        if (known := self._labels.get(namespace)) is None:
            known = frozenset(key for spec in self.within(namespace) for key in spec.label_keys())
            if self._known.get(namespace):
                self._labels[namespace] = known
        return known

    def check_room(self, live: Obj) -> None:
        """Raise ConfigError for an Environment beyond MOST_ENVIRONMENTS."""
        uids = {one["metadata"]["uid"] for one in self._oldest(live["metadata"]["namespace"])}
        if len(uids) == MOST_ENVIRONMENTS and live["metadata"]["uid"] not in uids:
            text = f"the namespace has {MOST_ENVIRONMENTS} older Environments, which is the most"
            raise ConfigError(f"{text}; delete some of them, and apply this one anew", field="metadata.namespace")

    def _oldest(self, namespace: str) -> list[Obj]:
        if (known := self._known.get(namespace)) is None:
            lives = self._environments.objects(namespace)
            known = lives if len(lives) <= MOST_ENVIRONMENTS else nsmallest(MOST_ENVIRONMENTS, lives, key=_age)
            if known:
                self._known[namespace] = known
        return known

    def _hear(self, old: Obj | None, new: Obj | None) -> None:
        namespace = namespace_of(new or old)
        self._known.pop(namespace, None)
        self._labels.pop(namespace, None)

    def _read(self, live: Obj) -> EnvironmentSpec | None:
        meta = live["metadata"]
        version = (meta.get("generation"), meta.get("deletionTimestamp"))
        known = self._specs.get(meta["uid"])
        if known is None or known[0] != version:
            try:
                known = (version, build_environment(parse_manifest(Environment, live)))
            except ConfigError:
                known = (version, None)
            self._specs[meta["uid"]] = known
        return known[1]

    def forget(self, uid: str) -> None:
        self._specs.pop(uid, None)


def _age(live: Obj) -> tuple[str, str]:
    return text_at(live, "metadata", "creationTimestamp"), live["metadata"]["uid"]
