"""Kubernetes versions, and what keda-py uses of them from which one on: the one table.

COMPATIBILITY.md shows it (`python -m keda_py.core.values.kubernetes` prints it); `schema/hpa_rules.py` asks it which
feature gates are on. A version is its minor number: 37 is Kubernetes 1.37.
"""

import sys
from dataclasses import dataclass
from typing import Final

import re2

from keda_py.errors import ConfigError

OLDEST: Final = 26
NEWEST: Final = 37
SCALE_TO_ZERO: Final = "HPAScaleToZero"
TOLERANCE: Final = "HPAConfigurableTolerance"
CONTAINER_METRICS: Final = "HPAContainerMetrics"
_VERSION = re2.compile(r"v?1\.([0-9]{1,3})(?:[.+-].{0,100})?")
_BAR = "\\|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One thing that a cluster has from a version on. `gate` is its feature gate, "" for what needs none."""

    since: int
    name: str
    used_for: str
    before: str
    gate: str = ""


FEATURES: Final = (
    Feature(
        since=26,
        name="`autoscaling/v2`, `events.k8s.io/v1`, `batch/v1`, rules in CRDs, time zones of CronJobs",
        used_for="all that is not in the rows below",
        before="the chart refuses to be installed",
    ),
    Feature(
        since=27,
        name="aggregated discovery",
        used_for="the API server reads all groups of the metrics server with one request",
        before="it reads them group by group, which is served, too",
    ),
    Feature(
        since=27,
        name="metrics of one container, `type: ContainerResource`",
        gate=CONTAINER_METRICS,
        used_for="cpu and memory triggers with `containerName`",
        before="the API server refuses such an HPA; leave `containerName` out",
    ),
    Feature(
        since=28,
        name="`matchConditions` of webhooks",
        used_for="the webhook is not asked about updates of what it does not judge",
        before="it is asked about all updates",
    ),
    Feature(
        since=30,
        name="`ValidatingAdmissionPolicy`",
        used_for="operator and waker write only EndpointSlices that lead to wakers, and the operator alone says that a "
        "request asked for an Override (`waker.admissionPolicy`)",
        before="set `waker.admissionPolicy: false`; roles alone confine them",
    ),
    Feature(
        since=35,
        name="`tolerance` in the behavior of an HPA",
        gate=TOLERANCE,
        used_for="`horizontalPodAutoscalerConfig.behavior.scaleUp.tolerance` and `scaleDown.tolerance`",
        before="the API server drops the field, and the tolerance of kube-controller-manager counts (0.1)",
    ),
    Feature(
        since=37,
        name="HPAs with `minReplicas: 0`, condition `ScaledToZero`",
        gate=SCALE_TO_ZERO,
        used_for="members of Environments with such an HPA stay asleep, and get the mark of their zero back; "
        "the HPA of a ScaledObject does not use it",
        before="the API server refuses `minReplicas: 0`; ScaledObjects go to zero on every version",
    ),
)


def parse_version(text: str, *, field: str) -> int:
    """The minor number of "1.37", "v1.37.2" or "1.37.0-gke.100". Raises ConfigError for all else."""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ConfigError(f'{field}: "{text}" is not a version of Kubernetes; write it as 1.{NEWEST}', field=field)
    return int(found[1])


def parse_supported_version(text: str, *, field: str) -> int:
    """`parse_version` of one that keda-py runs on. Raises ConfigError."""
    version = parse_version(text, field=field)
    if not OLDEST <= version <= NEWEST:
        known = f"1.{OLDEST} to 1.{NEWEST}"
        raise ConfigError(f"{field}: {text} is not known; give a version from {known}", field=field)
    return version


def gates_on(version: int) -> frozenset[str]:
    """The feature gates of the table that are on by default in this version."""
    return frozenset(feature.gate for feature in FEATURES if feature.gate and feature.since <= version)


def since(gate: str) -> int:
    """The version from which on this gate of the table is on by default."""
    return next(feature.since for feature in FEATURES if feature.gate == gate)


def render_table() -> str:
    """Write the features by version as Markdown."""
    rows = [
        ("from", "what", "keda-py uses it for", "before"),
        ("---", "---", "---", "---"),
        *((f"1.{one.since}", one.name + _gate(one), one.used_for, one.before) for one in FEATURES),
    ]
    return "\n".join(f"| {' | '.join(cell.replace('|', _BAR) for cell in row)} |" for row in rows) + "\n"


def _gate(feature: Feature) -> str:
    return f" (feature gate `{feature.gate}`)" if feature.gate else ""


if __name__ == "__main__":
    sys.stdout.write(render_table())
