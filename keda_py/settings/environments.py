"""Settings of sleeping and waking outside of Environments; part of `settings.py`."""

from dataclasses import dataclass

from keda_py.apis.go_values import parse_bool
from keda_py.settings.options import option

DOWNSCALER_RESOURCES = (
    *("deployments", "statefulsets", "cronjobs", "jobs", "daemonsets"),
    *("horizontalpodautoscalers", "poddisruptionbudgets", "scaledobjects"),
)
"""Resources that the annotations of py-kube-downscaler can scale down here."""


def parse_downscaler_resources(text: str) -> tuple[str, ...]:
    """Parse plural names, comma separated."""
    names = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    if not names or not set(names) <= set(DOWNSCALER_RESOURCES):
        raise ValueError(f"is not a list of resources; use some of {','.join(DOWNSCALER_RESOURCES)}")
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSettings:
    """Settings of ClusterEnvironments, deletions of namespaces, the downscaler's annotations, and waking on request."""

    cluster_environments: bool = option(
        False,
        parse_bool,
        "act on ClusterEnvironments, which create an Environment in each namespace that they select",
        flag="cluster-environments",
        env="KEDA_PY_CLUSTER_ENVIRONMENTS",
    )
    delete_namespaces: bool = option(
        False,
        parse_bool,
        "delete namespaces as deleteAfter of an Environment asks for, if they have the label that allows it",
        flag="delete-namespaces",
        env="KEDA_PY_DELETE_NAMESPACES",
    )
    downscaler_annotations: bool = option(
        False,
        parse_bool,
        "obey the annotations of py-kube-downscaler on workloads and namespaces",
        flag="downscaler-annotations",
        env="KEDA_PY_DOWNSCALER_ANNOTATIONS",
    )
    downscaler_resources: tuple[str, ...] = option(
        ("deployments",),
        parse_downscaler_resources,
        "what these annotations put down, comma separated; a workload under a ScaledObject goes through that",
        flag="downscaler-include-resources",
        env="KEDA_PY_DOWNSCALER_INCLUDE_RESOURCES",
    )
    waker_service: str = option(
        "",
        str,
        "headless Service of the wakers, in the operator's namespace; empty: requests wake nothing",
        flag="waker-service",
        env="KEDA_PY_WAKER_SERVICE",
    )
