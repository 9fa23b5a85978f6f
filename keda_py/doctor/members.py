"""Members: workloads whose count an Environment or a ScaledObject changes, found among listed objects.

In: objects of a cluster. Out: one `Member` for each workload, with who scales it. Who is a member of an Environment is
the rule of `core/environment/spec.py`; what it put to sleep stands in its status.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at, texts_at, value_at
from keda_py.core.environment.decision.state import Stage
from keda_py.core.environment.spec import EnvironmentSpec, build_environment, owner_of
from keda_py.core.gitops.argocd import CountField
from keda_py.environments.requests import read_environment
from keda_py.errors import ConfigError
from keda_py.kube.resources import CRON_JOBS, DEPLOYMENTS, ENVIRONMENTS, SCALED_OBJECTS, STATEFUL_SETS, Obj
from keda_py.migration.installation import Installation

KINDS = (DEPLOYMENTS, STATEFUL_SETS, CRON_JOBS)
Key = tuple[str, str, str]
"""(kind, namespace, name)."""


_AT_PEACE = ("", Stage.RISING, Stage.KEPT)
"""Stages in which a member is up by the count of its owner, so that nothing is left to ignore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOpsChoice:
    """What an Environment asks the operator to tell Argo CD and Flux; `error` says why that failed, or is ""."""

    argocd: bool = False
    flux: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Workload that is scaled; `live` is the object, and `remembered` its entry in the Environment's status."""

    live: Obj
    environment: str = ""
    scaled_object: str = ""
    remembered: Mapping[str, Any] = field(default_factory=dict)
    gitops: GitOpsChoice = GitOpsChoice()

    @property
    def argocd_is_told(self) -> bool:
        """Whether the operator itself adds the lines to its Application before it goes to sleep."""
        return self.gitops.argocd and self._is_at_peace

    @property
    def flux_is_told(self) -> bool:
        """Whether the operator itself annotates it for Flux before it goes to sleep."""
        return self.gitops.flux and self._is_at_peace and self.kind in {resource.kind for resource in KINDS}

    @property
    def _is_at_peace(self) -> bool:
        # By day a ScaledObject writes the count, too, and the operator adds lines only for the night.
        stage = self.remembered.get("stage", "")
        return not self.scaled_object and not self.gitops.error and stage in _AT_PEACE

    @property
    def kind(self) -> str:
        return text_at(self.live, "kind")

    @property
    def group(self) -> str:
        """Return the API group, "" for the core group."""
        return text_at(self.live, "apiVersion").rpartition("/")[0]

    @property
    def namespace(self) -> str:
        return namespace_of(self.live)

    @property
    def name(self) -> str:
        return name_of(self.live)

    @property
    def key(self) -> Key:
        return self.kind, self.namespace, self.name

    @property
    def title(self) -> str:
        """Return its name for messages, such as "Deployment shop/web"."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def field(self) -> str:
        """Return the field of the spec that is changed: `replicas`, or `suspend` of a CronJob."""
        return "suspend" if self.kind == CRON_JOBS.kind else "replicas"

    @property
    def pointer(self) -> str:
        """Return the JSON pointer of that field."""
        return f"/spec/{self.field}"

    @property
    def count_field(self) -> CountField:
        """Return the field that holds the count, as rules of Argo CD and Flux name it."""
        by_hpa = bool(self.scaled_object) and self.kind != CRON_JOBS.kind
        return CountField(
            group=self.group,
            kind=self.kind,
            namespace=self.namespace,
            name=self.name,
            field=self.field,
            by_hpa=by_hpa,
        )

    @property
    def pod_template(self) -> Obj:
        """Return the template of its pods; empty for a kind that keeps it elsewhere."""
        path = ("spec", "jobTemplate", "spec", "template") if self.kind == CRON_JOBS.kind else ("spec", "template")
        return map_at(self.live, *path)

    @property
    def count(self) -> int:
        """Return the replicas that its spec asks for now; the API server's default is 1."""
        found = value_at(self.live, "spec", "replicas")
        return found if isinstance(found, int) else 1

    @property
    def count_awake(self) -> int:
        """Return the replicas that it has when it wakes: those to restore, or those of now."""
        found = self.remembered.get("replicas")
        return max(found, self.count) if isinstance(found, int) else self.count

    @property
    def sleeps(self) -> bool:
        """Whether an Environment has put it to sleep, or it is at 0 under a ScaledObject."""
        return bool(self.remembered.get("stage")) or (bool(self.scaled_object) and self.count == 0)


def find_members(installation: Installation, environments: "GoverningEnvironments") -> list[Member]:
    """Find the members in the order of their names."""
    workloads = _workloads(installation)
    scaled = {_target_of(one): one for one in installation.of(SCALED_OBJECTS)}
    found = (_member(live, scaled.get(key), environments) for key, live in workloads.items())
    return sorted((member for member in found if member is not None), key=lambda member: member.key)


def _workloads(installation: Installation) -> dict[Key, Obj]:
    """Return what can be a member: the usual kinds, and the further kinds that were listed because they were named."""
    known = {resource.kind for resource in KINDS} | _further_kinds(installation)
    return {
        (kind, namespace_of(live), name_of(live)): live for kind in known for live in installation.objects.get(kind, ())
    }


def _further_kinds(installation: Installation) -> set[str]:
    named = {text_at(one, "spec", "scaleTargetRef", "kind") for one in installation.of(SCALED_OBJECTS)}
    for environment in installation.of(ENVIRONMENTS):
        named |= {text_at(one, "kind") for one in maps_at(environment, "spec", "kinds")}
    return named - {""}


def _member(live: Obj, scaled_object: Obj | None, governed: "GoverningEnvironments") -> Member | None:
    subject = scaled_object if scaled_object is not None else live
    kind = SCALED_OBJECTS.kind if scaled_object is not None else text_at(live, "kind")
    environment, remembered = governed.of(subject, kind)
    if scaled_object is None and not environment:
        return None
    return Member(
        live=live,
        environment=environment,
        scaled_object="" if scaled_object is None else name_of(scaled_object),
        remembered=remembered,
        gitops=governed.gitops_of(namespace_of(live), environment),
    )


def _target_of(scaled_object: Obj) -> Key:
    reference = map_at(scaled_object, "spec", "scaleTargetRef")
    return text_at(reference, "kind") or DEPLOYMENTS.kind, namespace_of(scaled_object), text_at(reference, "name")


class GoverningEnvironments:
    """Environments by namespace, and what their statuses remember.

    An invalid one has only the members that it remembers; `invalid` has each with what is wrong.
    """

    def __init__(self, installation: Installation) -> None:
        self._specs: dict[str, list[EnvironmentSpec]] = {}
        self._remembered: dict[Key, tuple[str, Obj]] = {}
        self._errors: dict[tuple[str, str], str] = {}
        self.invalid: list[tuple[Obj, str]] = []
        for live in installation.of(ENVIRONMENTS):
            namespace = namespace_of(live)
            self._errors[namespace, name_of(live)] = text_at(live, "status", "gitops")
            for key, entry in map_at(live, "status", "members").items():
                kind, _, name = key.partition("/")
                if isinstance(entry, dict):
                    self._remembered[kind, namespace, name] = name_of(live), entry
            try:
                self._specs.setdefault(namespace, []).append(build_environment(read_environment(live)))
            except ConfigError as error:
                self.invalid.append((live, str(error)))

    def gitops_of(self, namespace: str, name: str) -> GitOpsChoice:
        """Return what the Environment of that name asks for; nothing for "", and for one that is invalid."""
        spec = next((one for one in self._specs.get(namespace, ()) if one.name == name), None)
        if spec is None:
            return GitOpsChoice()
        return GitOpsChoice(argocd=spec.argocd, flux=spec.flux, error=self._errors[namespace, name])

    def of(self, subject: Obj, kind: str) -> tuple[str, Obj]:
        """Return the name of the Environment that has the object, "" for none, and what it remembers of it."""
        namespace = namespace_of(subject)
        if found := self._remembered.get((kind, namespace, name_of(subject))):
            return found
        labels, annotations = texts_at(subject, "metadata", "labels"), texts_at(subject, "metadata", "annotations")
        usual = kind == SCALED_OBJECTS.kind or kind in {resource.kind for resource in KINDS}
        specs = [
            spec
            for spec in self._specs.get(namespace, ())
            if usual or (text_at(subject, "apiVersion"), kind) in spec.kinds
        ]
        owner = owner_of(specs, labels, annotations)
        return ("", {}) if owner is None else (owner.name, {})


def by_key(members: Sequence[Member]) -> Mapping[Key, Member]:
    """Index members by kind, namespace and name."""
    return {member.key: member for member in members}


def by_namespace(members: Sequence[Member]) -> Mapping[str, Sequence[Member]]:
    """Group members by namespace."""
    grouped: defaultdict[str, list[Member]] = defaultdict(list)
    for member in members:
        grouped[member.namespace].append(member)
    return grouped


def failures_of(members: Sequence[Member]) -> str:
    """Name the first Environment whose opt-in to tell Argo CD or Flux failed, and why; "" if none did."""
    failed = (one for one in members if one.gitops.error and (one.gitops.argocd or one.gitops.flux))
    first = next(failed, None)
    return "" if first is None else f"Environment {first.namespace}/{first.environment} says: {first.gitops.error}"
