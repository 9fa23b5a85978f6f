"""What a demo plays: manifests, what happens to them and when, and which changes must follow. Pure but for the acts.

`four_days.py` and `week.py` make one each; `command.py` plays it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.kube.client import KubeClient

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A change between 0 and 1 that must happen at `at`, or up to `tolerance` later."""

    name: str
    at: datetime
    up: bool
    tolerance: timedelta = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a person or another controller does to the cluster at an instant."""

    at: datetime
    does: Callable[[KubeClient], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """`names` are the workloads that are watched; `manifests` takes the address of a queue, in the order to apply."""

    title: str
    zone: ZoneInfo
    start: datetime
    end: datetime
    names: tuple[str, ...]
    manifests: Callable[[str], list[Manifest]]
    acts: Sequence[Act]
    expected: Sequence[Expected]
    replicas: int = 1
    """Of each workload that is always on."""
    hpa_sync_seconds: float = 60.0
    """Onlookers see a metric change the replicas so much later at most."""
    environment: str = ""
    """Drawn as one lane where there is one."""
    watch: str = "deploy"
    """What to look at with kubectl."""
    hint: str = ""
    """Said at the end."""
