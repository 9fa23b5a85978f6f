"""Settings of `keda-py waker`; `settings.py` has the operator's."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from keda_py.apis.go_values import parse_bool
from keda_py.errors import ConfigError
from keda_py.settings.options import Flags, option, read_options
from keda_py.settings.parsers import Address, parse_namespaces, parse_origin, parse_positive_int, parse_wait
from keda_py.settings.process import LogSettings, kubeconfig_option, metrics_option, probes_option


@dataclass(frozen=True, slots=True, kw_only=True)
class WakerClusterSettings:
    """Cluster, and the operator that is called."""

    kubeconfig: str = kubeconfig_option()
    watch_namespaces: tuple[str, ...] = option(
        (),
        parse_namespaces,
        "namespaces whose Services may be woken, comma separated; empty: all",
        flag="watch-namespace",
        env="WATCH_NAMESPACE",
    )
    pod_namespace: str = option("keda", str, "the operator's namespace, and the waker's", env="POD_NAMESPACE")
    pod_name: str = option("", str, "the waker's pod, its answer to the operator's probes", env="POD_NAME")
    pod_ip: str = option("", str, "its address, to which nothing is ever passed on", env="POD_IP")
    operator_url: str = option(
        "",
        parse_origin,
        "https URL of the operator; default: Service keda-operator in the own namespace",
        flag="operator-url",
        env="KEDA_PY_OPERATOR_URL",
    )
    operator_ca_file: str = option(
        "/certs/ca.crt",
        str,
        "CA of the operator's certificate",
        flag="operator-ca-file",
        env="KEDA_PY_OPERATOR_CA_FILE",
    )
    patch_slices: bool = option(
        False,
        parse_bool,
        "where the operator cannot be called, ask by an annotation; wants the right to patch EndpointSlices",
        flag="patch-slices",
        env="KEDA_PY_WAKER_PATCH_SLICES",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WakerServingSettings:
    """Ports, bounds and shutdown."""

    bind_address: str = option(
        "", str, "address of the ports on which requests arrive; empty: every interface", flag="bind-address"
    )
    metrics: Address | None = metrics_option()
    health: Address | None = probes_option()
    connections: int = option(
        20_000, parse_positive_int, "connections at once", flag="connections", env="KEDA_PY_WAKER_CONNECTIONS"
    )
    namespace_connections: int = option(
        10_000,
        parse_positive_int,
        "connections at once to the Services of one namespace",
        flag="connections-per-namespace",
        env="KEDA_PY_WAKER_CONNECTIONS_PER_NAMESPACE",
    )
    namespace_bytes: int = option(
        16 * 2**20,
        parse_positive_int,
        "bytes kept of connections that wait for one namespace",
        flag="buffered-bytes-per-namespace",
        env="KEDA_PY_WAKER_BUFFERED_BYTES_PER_NAMESPACE",
    )
    shutdown_delay: timedelta = option(
        timedelta(seconds=10),
        parse_wait,
        "after SIGTERM accept connections for this long, not ready: the operator takes the pod from its slices",
        flag="shutdown-delay",
        env="KEDA_PY_WAKER_SHUTDOWN_DELAY",
    )
    drain: timedelta = option(
        timedelta(seconds=150),
        parse_wait,
        "after that, wait for this long until the last connection has ended",
        flag="drain-period",
        env="KEDA_PY_WAKER_DRAIN_PERIOD",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WakerSettings:
    """All settings of `keda-py waker`."""

    cluster: WakerClusterSettings = field(default_factory=WakerClusterSettings)
    serving: WakerServingSettings = field(default_factory=WakerServingSettings)
    logs: LogSettings = field(default_factory=LogSettings)

    @property
    def operator_url(self) -> str:
        return self.cluster.operator_url or f"https://keda-operator.{self.cluster.pod_namespace}.svc"


WAKER_GROUPS: dict[str, type] = {
    "cluster": WakerClusterSettings,
    "serving": WakerServingSettings,
    "logs": LogSettings,
}


def load_waker_settings(flags: Flags, env: Mapping[str, str]) -> WakerSettings:
    """Read settings from flags and environment. Raises ConfigError that names every wrong value and its remedy."""
    wrong = list[str]()
    groups: dict[str, Any] = {name: read_options(group, flags, env, wrong) for name, group in WAKER_GROUPS.items()}
    settings = dataclasses.replace(WakerSettings(), **groups)
    if settings.serving.namespace_connections > settings.serving.connections:
        wrong.append("--connections-per-namespace: must not be more than --connections")
    if wrong:
        raise ConfigError("; ".join(wrong))
    return settings
