"""Queries that are known by name: what ingress controllers, gateways, meshes and keda-py itself count."""

from dataclasses import dataclass

REQUESTS, ACTIVE, CORES = "requests/s", "active triggers", "cores"
_POD = "[bcdfghjklmnpqrstvwxz2456789]"
"""Letters of generated names of pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownQuery:
    """`metric` tells whether a server has it. A `spare` one counts where a workload has no other."""

    name: str
    metric: str
    query: str
    unit: str = REQUESTS
    spare: bool = False


def _requests(name: str, metric: str, labels: str, matching: str = "") -> KnownQuery:
    return KnownQuery(name=name, metric=metric, query=f"sum by ({labels}) (rate({metric}{matching}[5m]))")


_CPU = 'rate(container_cpu_usage_seconds_total{container!="", container!="POD"}[5m])'
OF_DEPLOYMENT = f'"deployment", "$1", "pod", "(.+)-{_POD}{{6,10}}-{_POD}{{5}}"'
OF_SET = '"statefulset", "$1", "pod", "(.+)-[0-9]+"'

KNOWN = (
    _requests(
        "istio",
        "istio_requests_total",
        "destination_workload_namespace, destination_workload",
        '{reporter="destination"}',
    ),
    _requests("linkerd", "request_total", "namespace, deployment, statefulset", '{direction="inbound"}'),
    _requests(
        "ingress-nginx",
        "nginx_ingress_controller_requests",
        "namespace, exported_namespace, service, exported_service",
    ),
    _requests("traefik", "traefik_service_requests_total", "service, exported_service"),
    _requests("envoy", "envoy_cluster_upstream_rq_total", "envoy_cluster_name"),
    KnownQuery(
        name="triggers",
        metric="keda_scaler_active",
        query="max by (namespace, exported_namespace, scaledObject) (max_over_time(keda_scaler_active[5m]))",
        unit=ACTIVE,
    ),
    KnownQuery(
        name="cpu",
        metric="container_cpu_usage_seconds_total",
        query=f"sum by (namespace, deployment, statefulset) "
        f"(label_replace(label_replace({_CPU}, {OF_DEPLOYMENT}), {OF_SET}))",
        unit=CORES,
        spare=True,
    ),
)
"""The most telling first."""
