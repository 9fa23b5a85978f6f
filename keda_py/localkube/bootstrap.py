"""The objects that a fresh cluster holds: namespaces, default roles, and the configuration for aggregated APIs.

The roles are those that bindings refer to by name. The ConfigMap tells aggregated APIs whose certificates to trust.
"""

import orjson

from keda_py.localkube.access.identity import FRONT_PROXY, Identity
from keda_py.localkube.access.rbac import GROUP, MASTERS
from keda_py.localkube.store.namespaces import with_defaults
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

_EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
_REVIEWS = [
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
]
_SELF_REVIEWS = [
    {
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        "verbs": ["create"],
    },
    {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
]
_DISCOVERY_PATHS = ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz"]
_CLUSTER_ROLES: dict[str, list[Obj]] = {
    "cluster-admin": _EVERYTHING,
    "system:auth-delegator": _REVIEWS,
    "system:basic-user": _SELF_REVIEWS,
    "system:discovery": [{"nonResourceURLs": [*_DISCOVERY_PATHS, "/version", "/version/"], "verbs": ["get"]}],
    "system:public-info-viewer": [
        {"nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"], "verbs": ["get"]}
    ],
}
HPA_CONTROLLER = "system:controller:horizontal-pod-autoscaler"
# For metrics alone, which the controller reads as a client; it works on the store directly.
_HPA_RULES = [
    {"apiGroups": ["metrics.k8s.io"], "resources": ["pods"], "verbs": ["list"]},
    {
        "apiGroups": ["custom.metrics.k8s.io", "external.metrics.k8s.io"],
        "resources": ["*"],
        "verbs": ["get", "list"],
    },
]
_CLUSTER_BINDINGS = {
    "cluster-admin": (MASTERS,),
    "system:basic-user": ("system:authenticated",),
    "system:discovery": ("system:authenticated",),
    "system:public-info-viewer": ("system:authenticated", "system:unauthenticated"),
}
READER = "extension-apiserver-authentication-reader"


def create_initial_objects(store: Store, identity: Identity) -> None:
    """Create namespaces, roles, bindings and the authentication ConfigMap in an empty store."""
    for name in NAMESPACES:
        _create(store, "v1", "Namespace", with_defaults({"metadata": {"name": name}}))
    for role, rules in _CLUSTER_ROLES.items():
        _create(store, f"{GROUP}/v1", "ClusterRole", {"metadata": {"name": role}, "rules": rules})
    for role, groups in _CLUSTER_BINDINGS.items():
        subjects = [{"kind": "Group", "name": group, "apiGroup": GROUP} for group in groups]
        reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
        binding = {"metadata": {"name": role}, "roleRef": reference, "subjects": subjects}
        _create(store, f"{GROUP}/v1", "ClusterRoleBinding", binding)
    _bind_hpa_controller(store)
    _create(store, f"{GROUP}/v1", "Role", _reader_role())
    _create(store, "v1", "ConfigMap", authentication_config(identity))


def _bind_hpa_controller(store: Store) -> None:
    metadata = {"name": HPA_CONTROLLER}
    subject = {"kind": "ServiceAccount", "name": "horizontal-pod-autoscaler", "namespace": "kube-system"}
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": HPA_CONTROLLER}
    _create(store, f"{GROUP}/v1", "ClusterRole", {"metadata": metadata, "rules": _HPA_RULES})
    binding = {"metadata": metadata, "roleRef": reference, "subjects": [subject]}
    _create(store, f"{GROUP}/v1", "ClusterRoleBinding", binding)


def authentication_config(identity: Identity) -> Obj:
    """Build the ConfigMap by which an aggregated API tells the front proxy from ordinary clients."""

    def listed(*names: str) -> str:
        return orjson.dumps(names).decode()

    data = {
        "client-ca-file": identity.certificate_authority.decode(),
        "requestheader-allowed-names": listed(FRONT_PROXY),
        "requestheader-client-ca-file": identity.front_proxy_authority.decode(),
        "requestheader-extra-headers-prefix": listed("X-Remote-Extra-"),
        "requestheader-group-headers": listed("X-Remote-Group"),
        "requestheader-username-headers": listed("X-Remote-User"),
    }
    return {"metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"}, "data": data}


def _reader_role() -> Obj:
    rule = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["extension-apiserver-authentication"],
        "verbs": ["get", "list", "watch"],
    }
    return {"metadata": {"name": READER, "namespace": "kube-system"}, "rules": [rule]}


def _create(store: Store, api_version: str, kind: str, obj: Obj) -> None:
    store.create(store.resources.get(api_version, kind), obj)
