"""Labels of a series -> the workload that it is about.

Where they name a Service, its workload is taken to have the same name.
"""

from collections.abc import Mapping

from keda_py.advice.proposals.workload import Workload

_NAMESPACES = ("exported_namespace", "destination_workload_namespace", "namespace")
"""The first that a series has: a scrape renames what a target says itself to `exported_...`."""
_NAMES = {
    "scaledObject": "ScaledObject",
    "deployment": "Deployment",
    "statefulset": "StatefulSet",
    "destination_workload": "Deployment",
    "exported_service": "Deployment",
    "service": "Deployment",
    "workload": "Deployment",
}
KNOWN = (*_NAMESPACES, *_NAMES, "envoy_cluster_name")


def workload_of(labels: Mapping[str, str], namespace: str) -> Workload | None:
    """Return the workload that labels name, None if they name none. `namespace` "": any."""
    found = _envoy(labels["envoy_cluster_name"]) if "envoy_cluster_name" in labels else _plain(labels, namespace)
    return found if found is not None and namespace in ("", found.namespace) else None


def _plain(labels: Mapping[str, str], namespace: str) -> Workload | None:
    key = next((key for key in _NAMES if labels.get(key)), "")
    where = next((labels[label] for label in _NAMESPACES if labels.get(label)), "")
    if key.endswith("service") and "@" in labels[key]:
        return _traefik(labels[key], namespace)
    return Workload(where, _NAMES[key], labels[key]) if key and where else None


def _traefik(text: str, namespace: str) -> Workload | None:
    """`shop-web-80@kubernetes`: without a namespace to go by, it ends at the first dash."""
    name, _, provider = text.partition("@")
    if not provider.startswith("kubernetes"):
        return None
    where = namespace if namespace and name.startswith(f"{namespace}-") else name.partition("-")[0]
    service = name[len(where) + 1 :].rpartition("-")[0]
    return Workload(where, "Deployment", service) if service else None


def _envoy(text: str) -> Workload | None:
    """`outbound|80||web.shop.svc.cluster.local` of a mesh, `httproute/shop/web/rule/0` of Envoy Gateway."""
    host = text.rpartition("|")[2].split(".")
    if "|" in text and len(host) > 2 and host[2] == "svc":
        return Workload(host[1], "Deployment", host[0])
    parts = text.split("/")
    return Workload(parts[1], "Deployment", parts[2]) if parts[0].endswith("route") and len(parts) > 2 else None
