"""Release of files: the neighbours of each object, as a cluster has them while the files are applied.

If two objects collide the later one is reported. An object without a namespace is taken to be in `default`. Unreadable
objects of other kinds are skipped: they are not validated here.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject, ScaleTrigger
from keda_py.apis.trigger_authentication import ClusterTriggerAuthentication, TriggerAuthentication
from keda_py.apis.wire import ObjectMeta, Wire
from keda_py.apis.workloads import Container, HorizontalPodAutoscaler, LimitRange, Workload
from keda_py.core.admission.findings import Neighbourhood, Rival, rival_of
from keda_py.core.defaults.bodies import DefaultsOfBodies, installation_body
from keda_py.core.defaults.filling import FindLayers, fill_scaled_job, fill_scaled_object
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.meaning.target import LocatedObject
from keda_py.core.spec import ScalingSpec, TargetSpec
from keda_py.errors import ConfigError
from keda_py.kube.informers.cache import NamespacedName
from keda_py.validation.documents import Document

M = TypeVar("M", bound=BaseModel)
Text = dict[str, str | None]
Authentication = TriggerAuthentication | ClusterTriggerAuthentication


class Data(Wire):
    """Keys of a Secret or ConfigMap."""

    metadata: ObjectMeta
    data: Text | None = None
    string_data: Text | None = None
    binary_data: Text | None = None

    @property
    def keys(self) -> set[str]:
        """Return the keys that may be referred to."""
        return {key for part in (self.data, self.string_data, self.binary_data) for key in part or ()}


@dataclass(frozen=True, slots=True)
class WrittenScaledObject:
    """A ScaledObject of the files, and the spec that it is."""

    obj: ScaledObject
    spec: ScalingSpec

    @classmethod
    def read(cls, body: Mapping[str, object], layers: FindLayers) -> "WrittenScaledObject":
        """Raises ConfigError for one that cannot be read."""
        obj = parse_object(ScaledObject, body)
        return cls(obj, fill_scaled_object(obj, layers(obj.metadata.namespace)))


class Release:
    """Objects that others depend on, from all files, by kind, namespace and name."""

    def __init__(self, documents: Sequence[Document], defaults: Mapping[str, Any] | None = None) -> None:
        """`defaults` are those of the installation."""
        self.documents = documents
        self.completed: list[dict[str, Any]] = []
        """Every object as the API server would hand it on, in the order of the documents."""
        self.located: defaultdict[str, list[LocatedObject]] = defaultdict(list)
        """Name -> objects."""
        self.bodies: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        """Kind -> completed objects."""
        for document in documents:
            body = completed(document.body)
            self.completed.append(body)
            self.bodies[body["kind"]].append(body)
            place = _located(document.body)
            self.located[place.name].append(place)
        installed = [] if defaults is None else [installation_body(defaults)]
        self.layers = DefaultsOfBodies([*self.completed, *installed]).layers
        self._hpas = self._grouped("HorizontalPodAutoscaler", HorizontalPodAutoscaler)
        self._limit_ranges = self._grouped("LimitRange", LimitRange)
        self._workloads = {kind: self._named(kind, Workload) for kind in ("Deployment", "StatefulSet")}
        self._data = {kind: self._named(kind, Data) for kind in ("Secret", "ConfigMap")}
        self._authentications = self._named("TriggerAuthentication", TriggerAuthentication)
        self._cluster_authentications = self._named("ClusterTriggerAuthentication", ClusterTriggerAuthentication)
        self._by_target: dict[tuple[str, str, str], Rival] = {}
        self._by_hpa: dict[NamespacedName, Rival] = {}
        self._scaled_objects: dict[int, WrittenScaledObject] = {}
        self._index_scaled_objects()

    def scaled_object(self, body: Mapping[str, object]) -> WrittenScaledObject:
        """Read one of `completed`, once for every check of it. Raises ConfigError."""
        return self._scaled_objects.get(id(body)) or WrittenScaledObject.read(body, self.layers)

    def scaled_job(self, obj: ScaledJob) -> JobScalingSpec:
        """Build the spec of a ScaledJob of the files. Raises ConfigError."""
        return fill_scaled_job(obj, self.layers(obj.metadata.namespace))

    def spec_of(self, body: Mapping[str, object]) -> ScalingSpec | None:
        """The spec of one of `completed`; None for other kinds, and for a ScaledObject that cannot be read."""
        found = self._scaled_objects.get(id(body))
        return None if found is None else found.spec

    def neighbourhood(self, spec: ScalingSpec) -> Neighbourhood:
        """Return a ScaledObject's neighbours in its namespace; of ScaledObjects the first that could collide."""
        firsts = (self._by_target.get(_target(spec)), self._by_hpa.get((spec.namespace, spec.hpa_name)))
        return Neighbourhood(
            rivals=[first for first in firsts if first is not None],
            hpas=self._hpas[spec.namespace],
            limit_ranges=self._limit_ranges[spec.namespace],
            containers=self._containers(spec.target, spec.namespace),
            absent="is not in these files",
        )

    def owner_of(self, body: dict[str, Any]) -> Rival | None:
        """Find the first ScaledObject that scales this one of `completed`."""
        metadata = body["metadata"]
        kind_name = TargetSpec(name="", api_version=body["apiVersion"], kind=body["kind"], container="").kind_name
        return self._by_target.get((metadata["namespace"], kind_name, metadata["name"]))

    def scaled(self) -> Iterator[dict[str, Any]]:
        """Yield the workloads that ScaledObjects scale."""
        workloads = (body for kind in ("Deployment", "StatefulSet") for body in self.bodies[kind])
        return (body for body in workloads if self.owner_of(body) is not None)

    def parameters(self, trigger: ScaleTrigger, namespace: str) -> frozenset[str] | None:
        """Return the parameters that the trigger's authentication gives; None if they are unknown."""
        reference = trigger.authentication_ref
        if reference is None:
            return frozenset()
        found: Authentication | None
        if reference.kind == "ClusterTriggerAuthentication":
            found = self._cluster_authentications.get(("default", reference.name))
        else:
            found = self._authentications.get((namespace, reference.name))
        return _parameters(found) if found is not None else None

    def keys_of(self, kind: str, namespace: str, name: str) -> set[str] | None:
        """Return the keys of a Secret or ConfigMap; None if it is not in the files."""
        found = self._data[kind].get((namespace, name))
        return found.keys if found is not None else None

    def _containers(self, target: TargetSpec, namespace: str) -> Sequence[Container] | None:
        found = self._workloads.get(target.kind, {}).get((namespace, target.name))
        return found.spec.template.spec.containers if found is not None else None

    def _index_scaled_objects(self) -> None:
        for body in self.bodies["ScaledObject"]:
            try:
                found = WrittenScaledObject.read(body, self.layers)
            except ConfigError:
                continue
            # The key is an identity: two files may have objects of one name. `bodies` keeps each body alive.
            self._scaled_objects[id(body)], spec = found, found.spec
            self._by_target.setdefault(_target(spec), rival_of(spec))
            self._by_hpa.setdefault((spec.namespace, spec.hpa_name), rival_of(spec))

    def _grouped(self, kind: str, model: type[M]) -> defaultdict[str, list[M]]:
        """Group the objects of a kind by namespace, in the order of the files."""
        found: defaultdict[str, list[M]] = defaultdict(list)
        for body in self.bodies[kind]:
            try:
                found[body["metadata"]["namespace"]].append(parse_object(model, body))
            except ConfigError:
                continue
        return found

    def _named(self, kind: str, model: type[M]) -> dict[NamespacedName, M]:
        found = {}
        for body in self.bodies[kind]:
            try:
                found[body["metadata"]["namespace"], body["metadata"]["name"]] = parse_object(model, body)
            except ConfigError:
                continue
        return found


def completed(body: dict[str, Any]) -> dict[str, Any]:
    """Complete an object as the API server does: with a namespace and a name, and without null fields."""
    whole: dict[str, Any] = _without_nulls(body)
    name = name_of(whole) or f"{text_at(whole, 'metadata', 'generateName')}xxxxx"
    identity = {"namespace": namespace_of(whole) or "default", "name": name}
    return whole | {"metadata": map_at(whole, "metadata") | identity}


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value


def _located(body: dict[str, Any]) -> LocatedObject:
    kind_name = TargetSpec(name="", api_version=body["apiVersion"], kind=body["kind"], container="").kind_name
    return LocatedObject(kind_name, namespace_of(body), name_of(body))


def _target(spec: ScalingSpec) -> tuple[str, str, str]:
    return spec.namespace, spec.target.kind_name, spec.target.name


def _parameters(found: Authentication) -> frozenset[str] | None:
    """Return the parameters' names; None if a file or a login decides them."""
    spec = found.spec
    if spec.file_path or spec.pod_identity or spec.oauth2:
        return None
    stores = (spec.hashi_corp_vault, spec.azure_key_vault, spec.gcp_secret_manager, spec.aws_secret_manager)
    lists = (spec.env, spec.config_map_target_ref, spec.secret_target_ref, spec.bound_service_account_token)
    listed = {entry.parameter for entries in lists for entry in entries}
    return frozenset(listed | {secret.parameter for store in stores if store for secret in store.secrets})
