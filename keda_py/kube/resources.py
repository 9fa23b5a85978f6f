"""REST resources: the paths of objects, and the resources known without asking the API server.

First in the flow of `kube/`: `client.py` sends requests to these paths; `discovery.py` finds resources that are not
listed here. Rule: no path is ever built from an empty or unsafe name, because `DELETE .../pods/` deletes all pods.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

from keda_py.apis.cloud_event_source import CloudEventSource, ClusterCloudEventSource
from keda_py.apis.environments.calendar import Calendar, ClusterCalendar
from keda_py.apis.environments.cluster_environment import ClusterEnvironment
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.keda_defaults import ClusterKedaDefaults, KedaDefaults
from keda_py.apis.environments.override import Override
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.kinds.kind import VERSION, KindRow
from keda_py.apis.kinds.table import KEDA_KINDS, KINDS, kind_of
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.trigger_authentication import ClusterTriggerAuthentication, TriggerAuthentication
from keda_py.errors import ConfigError

Obj: TypeAlias = dict[str, Any]


def safe_segment(field: str, value: str) -> str:
    """Return `value` as one path segment. Raises ConfigError for text that would reach another path."""
    if not value or value in (".", "..") or "/" in value or "%" in value:
        raise ConfigError(f"{field}: {value!r} cannot be the name of an object; correct the reference", field=field)
    return quote(value, safe="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Label and field selectors in Kubernetes' text form; "" selects everything."""

    labels: str = ""
    fields: str = ""

    def query(self) -> dict[str, str]:
        """Return the query parameters of a LIST or watch."""
        pairs = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return {name: value for name, value in pairs if value}


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPath:
    """One object, or one of its subresources, by name."""

    resource: "Resource"
    namespace: str
    name: str
    subresource: str = ""

    @property
    def path(self) -> str:
        segments = [self.resource.collection(self.namespace), safe_segment("name", self.name)]
        return "/".join([*segments, self.subresource] if self.subresource else segments)

    @property
    def label(self) -> str:
        """Return the resource's name in metrics: `deployments` or `deployments/scale`."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Kind as the API server serves it: group, version, plural name and scope."""

    group: str = ""
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """Return `apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def collection(self, namespace: str = "") -> str:
        """Return the URL path of all objects, or of those of one namespace."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{safe_segment('namespace', namespace)}" if namespace and self.namespaced else ""
        return f"{root}{scope}/{self.plural}"

    def named(self, namespace: str, name: str, subresource: str = "") -> ObjectPath:
        """Return the path of one object; `namespace` is ignored for a cluster-scoped kind."""
        return ObjectPath(resource=self, namespace=namespace, name=name, subresource=subresource)


CONFIG_MAPS = Resource(version="v1", kind="ConfigMap", plural="configmaps")
NAMESPACES = Resource(version="v1", kind="Namespace", plural="namespaces", namespaced=False)
NODES = Resource(version="v1", kind="Node", plural="nodes", namespaced=False)
PERSISTENT_VOLUME_CLAIMS = Resource(version="v1", kind="PersistentVolumeClaim", plural="persistentvolumeclaims")
PODS = Resource(version="v1", kind="Pod", plural="pods")
SECRETS = Resource(version="v1", kind="Secret", plural="secrets")
SERVICES = Resource(version="v1", kind="Service", plural="services")
SERVICE_ACCOUNTS = Resource(version="v1", kind="ServiceAccount", plural="serviceaccounts")
LIMIT_RANGES = Resource(version="v1", kind="LimitRange", plural="limitranges")
RESOURCE_QUOTAS = Resource(version="v1", kind="ResourceQuota", plural="resourcequotas")

DEPLOYMENTS = Resource(group="apps", version="v1", kind="Deployment", plural="deployments")
DAEMON_SETS = Resource(group="apps", version="v1", kind="DaemonSet", plural="daemonsets")
REPLICA_SETS = Resource(group="apps", version="v1", kind="ReplicaSet", plural="replicasets")
STATEFUL_SETS = Resource(group="apps", version="v1", kind="StatefulSet", plural="statefulsets")

CRON_JOBS = Resource(group="batch", version="v1", kind="CronJob", plural="cronjobs")
JOBS = Resource(group="batch", version="v1", kind="Job", plural="jobs")
EVENTS = Resource(group="events.k8s.io", version="v1", kind="Event", plural="events")
ENDPOINT_SLICES = Resource(group="discovery.k8s.io", version="v1", kind="EndpointSlice", plural="endpointslices")
LEASES = Resource(group="coordination.k8s.io", version="v1", kind="Lease", plural="leases")
HORIZONTAL_POD_AUTOSCALERS = Resource(
    group="autoscaling", version="v2", kind="HorizontalPodAutoscaler", plural="horizontalpodautoscalers"
)
POD_DISRUPTION_BUDGETS = Resource(
    group="policy", version="v1", kind="PodDisruptionBudget", plural="poddisruptionbudgets"
)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
)
API_SERVICES = Resource(
    group="apiregistration.k8s.io", version="v1", kind="APIService", plural="apiservices", namespaced=False
)
VALIDATING_WEBHOOK_CONFIGURATIONS = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingWebhookConfiguration",
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
MUTATING_WEBHOOK_CONFIGURATIONS = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingWebhookConfiguration",
    plural="mutatingwebhookconfigurations",
    namespaced=False,
)
APPLICATIONS = Resource(group="argoproj.io", version="v1alpha1", kind="Application", plural="applications")
TOKEN_REVIEWS = Resource(
    group="authentication.k8s.io", version="v1", kind="TokenReview", plural="tokenreviews", namespaced=False
)
SUBJECT_ACCESS_REVIEWS = Resource(
    group="authorization.k8s.io",
    version="v1",
    kind="SubjectAccessReview",
    plural="subjectaccessreviews",
    namespaced=False,
)


def resource_of(kind: KindRow) -> Resource:
    """Return the REST resource of a row of the table of kinds."""
    return Resource(
        group=kind.group, version=VERSION, kind=kind.name, plural=kind.plural, namespaced=kind.scope == "Namespaced"
    )


OURS = tuple(map(resource_of, KINDS))
KEDAS = tuple(map(resource_of, KEDA_KINDS))
"""Those of `OURS` that KEDA defines too."""
SCALED_OBJECTS = resource_of(kind_of(ScaledObject))
SCALED_JOBS = resource_of(kind_of(ScaledJob))
TRIGGER_AUTHENTICATIONS = resource_of(kind_of(TriggerAuthentication))
CLUSTER_TRIGGER_AUTHENTICATIONS = resource_of(kind_of(ClusterTriggerAuthentication))
CLOUD_EVENT_SOURCES = resource_of(kind_of(CloudEventSource))
CLUSTER_CLOUD_EVENT_SOURCES = resource_of(kind_of(ClusterCloudEventSource))
CALENDARS = resource_of(kind_of(Calendar))
CLUSTER_CALENDARS = resource_of(kind_of(ClusterCalendar))
ENVIRONMENTS = resource_of(kind_of(Environment))
CLUSTER_ENVIRONMENTS = resource_of(kind_of(ClusterEnvironment))
OVERRIDES = resource_of(kind_of(Override))
KEDA_DEFAULTS = resource_of(kind_of(KedaDefaults))
CLUSTER_KEDA_DEFAULTS = resource_of(kind_of(ClusterKedaDefaults))
SCALING_SCHEDULES = resource_of(kind_of(ScalingSchedule))
