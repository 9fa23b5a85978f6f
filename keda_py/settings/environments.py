"""Settings of sleeping and waking outside of Environments; part of `settings.py`."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from keda_py.apis.environments.keda_defaults import DefaultsBounds, KedaDefaultsSpec
from keda_py.apis.go_values import parse_bool
from keda_py.apis.parsing import parse_object
from keda_py.apis.wire import Wire
from keda_py.errors import ConfigError
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


def parse_defaults(text: str) -> KedaDefaultsSpec:
    """Parse the spec of a KedaDefaults that is written as JSON."""
    try:
        body = orjson.loads(text)
    except ValueError:
        raise ValueError('is not JSON; write for example {"pollingInterval": 60}') from None
    if not isinstance(body, dict):
        raise ValueError('is not the spec of a KedaDefaults; write for example {"pollingInterval": 60}')
    bounds = body.get("bounds")
    unknown = [
        *_unknown(body, KedaDefaultsSpec),
        *(_unknown(bounds, DefaultsBounds) if isinstance(bounds, dict) else ()),
    ]
    if unknown:
        raise ValueError(f"has {', '.join(unknown)[:100]}, which a KedaDefaults has not; see `keda-py crds`")
    try:
        return parse_object(KedaDefaultsSpec, body)
    except ConfigError as error:
        raise ValueError(f"is not the spec of a KedaDefaults: {error}") from None


def _unknown(body: Mapping[str, object], model: type[Wire]) -> list[str]:
    return sorted(set(body) - {field.alias or name for name, field in model.model_fields.items()})


def parse_prometheus(text: str) -> str:
    """Parse the address of a server; a password in it would be seen by all who may see the process."""
    url = urlsplit(text)
    if text and (url.scheme not in ("http", "https") or not url.hostname or url.username is not None):
        raise ValueError('is not a URL without user; use for example "http://prometheus.monitoring.svc:9090"')
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSettings:
    """Settings of defaults, ClusterEnvironments, deletions, the downscaler's annotations, waking, and advice."""

    default_values: KedaDefaultsSpec | None = option(
        None,
        parse_defaults,
        "defaults and bounds for all ScaledObjects and ScaledJobs: the spec of a KedaDefaults as JSON",
        flag="default-values",
        env="KEDA_PY_DEFAULT_VALUES",
    )
    keda_defaults: bool = option(
        False,
        parse_bool,
        "obey KedaDefaults and ClusterKedaDefaults",
        flag="keda-defaults",
        env="KEDA_PY_KEDA_DEFAULTS",
    )

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
    advise_prometheus: str = option(
        "",
        parse_prometheus,
        "Prometheus that is asked once a month whether the hours of each Environment still fit; empty: none is",
        flag="advise-prometheus",
        env="KEDA_PY_ADVISE_PROMETHEUS",
    )
    advise_token_file: str = option(
        "",
        str,
        "file with a bearer token for --advise-prometheus",
        flag="advise-bearer-token-file",
        env="KEDA_PY_ADVISE_BEARER_TOKEN_FILE",
    )
    idle_prometheus: str = option(
        "",
        parse_prometheus,
        "Prometheus that is asked each minute by --idle-query; empty: no session is watched",
        flag="idle-prometheus",
        env="KEDA_PY_IDLE_PROMETHEUS",
    )
    idle_query: str = option(
        "",
        str,
        "query with a series for each namespace, above 0 where exec or port-forward was used within 10 minutes",
        flag="idle-query",
        env="KEDA_PY_IDLE_QUERY",
    )
    idle_token_file: str = option(
        "",
        str,
        "file with a bearer token for --idle-prometheus",
        flag="idle-bearer-token-file",
        env="KEDA_PY_IDLE_BEARER_TOKEN_FILE",
    )
