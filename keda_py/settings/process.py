"""Settings of the process, its log and its shadow mode, and those that every process has; part of `settings.py`."""

from dataclasses import dataclass

from keda_py.apis.go_values import parse_bool
from keda_py.settings.options import option
from keda_py.settings.parsers import Address, one_of, parse_address, parse_log_level, parse_loopback

_ON_8080: Address | None = Address(host="", port=8080)
_ON_8081: Address | None = Address(host="", port=8081)
_ON_8082 = Address(host="127.0.0.1", port=8082)


def kubeconfig_option() -> str:
    """Declare the kubeconfig, a setting of operator and waker."""
    text = "kubeconfig of the cluster; default: $KUBECONFIG, in-cluster, ~/.kube/config"
    return option("", str, text, flag="kubeconfig")


def metrics_option() -> Address | None:
    """Declare the address of the metrics page, a setting of operator and waker."""
    text = "address of Prometheus /metrics; 0: off"
    return option(_ON_8080, parse_address, text, flag="metrics-bind-address")


def probes_option() -> Address | None:
    """Declare the address of the kubelet's probes, a setting of operator and waker."""
    text = "address of /healthz and /readyz; 0: off"
    return option(_ON_8081, parse_address, text, flag="health-probe-bind-address")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Level and format of the log. Encoder "" is console on a terminal and JSON elsewhere."""

    level: int | None = option(None, parse_log_level, "debug, info, warn, error or a number", flag="zap-log-level")
    encoder: str = option("", one_of("json", "console"), "json or console", flag="zap-encoder")
    time_encoding: str = option(
        "rfc3339",
        one_of("epoch", "millis", "nano", "iso8601", "rfc3339", "rfc3339nano"),
        "epoch, millis, nano, iso8601, rfc3339 or rfc3339nano",
        flag="zap-time-encoding",
    )
    devel: bool = option(False, parse_bool, "console and debug, unless said otherwise", flag="zap-devel")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """State of the process that survives its restart."""

    state_dir: str = option(
        "",
        str,
        "directory that outlives the process, for a note of what is under way; empty: one of this user's, 0: none",
        flag="state-dir",
        env="KEDA_PY_STATE_DIR",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowSettings:
    """Shadow mode: the operator runs beside another autoscaler, to compare."""

    enabled: bool = option(
        False,
        parse_bool,
        "watch, read and decide beside KEDA, and write nothing; `keda-py shadow report` tells what differs",
        flag="shadow",
        env="KEDA_PY_SHADOW",
    )
    report: Address = option(
        _ON_8082,
        parse_loopback,
        "loopback address where a shadow serves its report",
        flag="shadow-report-address",
        env="KEDA_PY_SHADOW_REPORT_ADDRESS",
    )
