"""Settings of `keda-py operator --shadow`."""

from dataclasses import dataclass

from keda_py.apis.go_values import parse_bool
from keda_py.settings.options import option
from keda_py.settings.parsers import Address, parse_loopback

_ON_8082 = Address(host="127.0.0.1", port=8082)


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
