"""Settings of the process, its log and its shadow mode; part of `settings.py`."""

from dataclasses import dataclass

from keda_py.apis.go_values import parse_bool
from keda_py.settings.options import option
from keda_py.settings.parsers import Address, one_of, parse_log_level, parse_loopback

_ON_8082 = Address(host="127.0.0.1", port=8082)


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
