"""The table of built-in kinds: one row per resource, with the discovery data of a real API server 1.36.

A kind without a controller here is only stored and served. Mutating webhooks and admission policies are left out,
because a stored one without effect would mislead.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from keda_py.schema.builtin_kinds import schema_of
from keda_py.schema.hpa_rules import with_gates
from keda_py.schema.resources import ALL_VERBS, Group, Registry, Resource, ScalePaths

# The real server's group priorities: discovery sorts groups by them.
_PRIORITIES = {
    "": 18000,
    "apiregistration.k8s.io": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "discovery.k8s.io": 16200,
}

# group/version: plural Kind Scope [short=..] [categories=..] [sub=..] [as=group/plural]
_TABLE = """
v1
    configmaps               ConfigMap                N short=cm
    endpoints                Endpoints                N short=ep
    events                   Event                    N short=ev
    limitranges              LimitRange               N short=limits
    namespaces               Namespace                C short=ns sub=finalize,status
    nodes                    Node                     C short=no sub=proxy,status
    persistentvolumeclaims   PersistentVolumeClaim    N short=pvc sub=status
    persistentvolumes        PersistentVolume         C short=pv sub=status
    pods                     Pod                      N short=po categories=all sub=attach,binding,ephemeralcontainers,eviction,exec,log,portforward,proxy,resize,status
    resourcequotas           ResourceQuota            N short=quota sub=status
    secrets                  Secret                   N
    serviceaccounts          ServiceAccount           N short=sa sub=token
    services                 Service                  N short=svc categories=all sub=proxy,status
apiregistration.k8s.io/v1
    apiservices              APIService               C categories=api-extensions sub=status
apps/v1
    controllerrevisions      ControllerRevision       N
    daemonsets               DaemonSet                N short=ds categories=all sub=status
    deployments              Deployment               N short=deploy categories=all sub=scale,status
    replicasets              ReplicaSet               N short=rs categories=all sub=scale,status
    statefulsets             StatefulSet              N short=sts categories=all sub=scale,status
events.k8s.io/v1
    events                   Event                    N short=ev as=/events
authentication.k8s.io/v1
    selfsubjectreviews       SelfSubjectReview        C verbs=create
    tokenreviews             TokenReview              C verbs=create
authorization.k8s.io/v1
    localsubjectaccessreviews LocalSubjectAccessReview N verbs=create
    selfsubjectaccessreviews SelfSubjectAccessReview  C verbs=create
    selfsubjectrulesreviews  SelfSubjectRulesReview   C verbs=create
    subjectaccessreviews     SubjectAccessReview      C verbs=create
autoscaling/v2
    horizontalpodautoscalers HorizontalPodAutoscaler  N short=hpa categories=all sub=status
autoscaling/v1
    horizontalpodautoscalers HorizontalPodAutoscaler  N short=hpa categories=all sub=status as=autoscaling/horizontalpodautoscalers
batch/v1
    cronjobs                 CronJob                  N short=cj categories=all sub=status
    jobs                     Job                      N categories=all sub=status
networking.k8s.io/v1
    ingressclasses           IngressClass             C
    ingresses                Ingress                  N short=ing sub=status
    networkpolicies          NetworkPolicy            N short=netpol
policy/v1
    poddisruptionbudgets     PodDisruptionBudget      N short=pdb sub=status
rbac.authorization.k8s.io/v1
    clusterrolebindings      ClusterRoleBinding       C
    clusterroles             ClusterRole              C
    rolebindings             RoleBinding              N
    roles                    Role                     N
admissionregistration.k8s.io/v1
    validatingwebhookconfigurations ValidatingWebhookConfiguration C categories=api-extensions
apiextensions.k8s.io/v1
    customresourcedefinitions CustomResourceDefinition C short=crd,crds categories=api-extensions sub=status
scheduling.k8s.io/v1
    priorityclasses          PriorityClass            C short=pc
coordination.k8s.io/v1
    leases                   Lease                    N
discovery.k8s.io/v1
    endpointslices           EndpointSlice            N
"""  # noqa: E501 - one row per resource reads best unbroken

# The kinds whose objects have metadata.generation.
_COUNTED = frozenset(
    ("Pod", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "CronJob", "Job", "Ingress", "NetworkPolicy")
) | {
    "PodDisruptionBudget",
    "EndpointSlice",
    "PriorityClass",
    "CustomResourceDefinition",
    "ValidatingWebhookConfiguration",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A subresource as discovery describes it; kind "" stands for the parent's kind."""

    kind: str = ""
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...] = ("get", "patch", "update")


_PROXY_VERBS = ("create", "delete", "get", "patch", "update")
SUBRESOURCES = {
    "status": Subresource(),
    "scale": Subresource(kind="Scale", group="autoscaling", version="v1"),
    "finalize": Subresource(verbs=("update",)),
    "token": Subresource(kind="TokenRequest", group="authentication.k8s.io", version="v1", verbs=("create",)),
    "ephemeralcontainers": Subresource(),
    "resize": Subresource(),
    "log": Subresource(verbs=("get",)),
    "binding": Subresource(kind="Binding", verbs=("create",)),
    "eviction": Subresource(kind="Eviction", group="policy", version="v1", verbs=("create",)),
    "attach": Subresource(kind="{}AttachOptions", verbs=("create", "get")),
    "exec": Subresource(kind="{}ExecOptions", verbs=("create", "get")),
    "portforward": Subresource(kind="{}PortForwardOptions", verbs=("create", "get")),
    "proxy": Subresource(kind="{}ProxyOptions", verbs=_PROXY_VERBS),
}


def builtin_registry(gates: Collection[str] = ()) -> Registry:
    """Build a registry of the built-in kinds, without custom resources; `gates` are the feature gates that are on."""
    resources = [_gated(resource, gates) for resource in _table()]
    versions: dict[str, list[str]] = {}
    for resource in resources:
        if resource.version not in versions.setdefault(resource.group, []):
            versions[resource.group].append(resource.version)
    groups = [Group(name=g, versions=tuple(v), priority=_PRIORITIES[g]) for g, v in versions.items()]
    return Registry(groups, resources)


def _gated(resource: Resource, gates: Collection[str]) -> Resource:
    """The HPA with a schema of this server: what it may say depends on feature gates."""
    if resource.kind != "HorizontalPodAutoscaler":
        return resource
    schema = schema_of(resource.group, resource.version, resource.kind)
    if schema is None:
        return resource
    return replace(resource, schema=with_gates(schema, gates))


@cache
def _table() -> tuple[Resource, ...]:
    """Read the rows once for all clusters of a process; resources are frozen, so that clusters may share them."""
    return tuple(_rows(_TABLE.splitlines()))


def _rows(lines: Iterable[str]) -> Iterator[Resource]:
    api_version = ""
    for line in filter(None, lines):
        if line[0] != " ":
            api_version = line
            continue
        plural, kind, scope, *pairs = line.split()
        yield _resource(api_version, plural, kind, scope, dict(pair.split("=") for pair in pairs))


def _resource(api_version: str, plural: str, kind: str, scope: str, extra: dict[str, str]) -> Resource:
    def words(key: str) -> tuple[str, ...]:
        return tuple(extra[key].split(",")) if key in extra else ()

    group, _, version = api_version.rpartition("/")
    stored_group, _, stored_plural = extra.get("as", "").partition("/")
    # A real server does not offer deletecollection for namespaces.
    verbs = tuple(verb for verb in ALL_VERBS if (plural, verb) != ("namespaces", "deletecollection"))
    return Resource(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=scope == "N",
        short_names=words("short"),
        categories=words("categories"),
        verbs=words("verbs") or verbs,
        subresources=frozenset(words("sub")),
        storage=(stored_group, stored_plural) if stored_plural else None,
        has_generation=kind in _COUNTED,
        scale=ScalePaths() if "scale" in words("sub") else None,
    )
