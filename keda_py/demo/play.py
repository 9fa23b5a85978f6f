"""Play of a demo: manifests, acts upon them with their times, and the changes that must follow. Pure but for the acts.

`command.py` makes one and plays it, `week.py` makes the other.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.clock import Clock
from keda_py.kube.client import KubeClient
from keda_py.localkube.store.store import Store

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A change between 0 and 1 that must happen at `at`, or up to `tolerance` later."""

    name: str
    at: datetime
    up: bool
    tolerance: timedelta = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What acts see: the cluster by its API and its events, and the screen."""

    client: KubeClient
    store: Store
    clock: Clock
    tell: Callable[[str, str], None]
    """Says who does what."""
    namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Act of a person or another controller upon the cluster at an instant."""

    at: datetime
    does: Callable[[Stage], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Play of a demo; `names` are the watched workloads, `manifests` takes a queue's address, in the order to apply."""

    title: str
    zone: ZoneInfo
    start: datetime
    end: datetime
    names: tuple[str, ...]
    manifests: Callable[[str], list[Manifest]]
    acts: Sequence[Act]
    expected: Sequence[Expected]
    replicas: int = 1
    """Replicas of each workload if it were always on, for the comparison."""
    hpa_sync_seconds: float = 60.0
    """Period of the HPA controller: a metric changes the replicas at most that much later."""
    waker: bool = False
    """Whether a waker runs, which holds requests for what sleeps."""
    environment: str = ""
    """Environment that is drawn as one lane; empty for none."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Watched workloads beside `names`, which the picture leaves out, and the reason why they change."""
    watch: str = "deploy"
    """Resource that onlookers should watch with kubectl."""
    hint: str = ""
    """Sentence that is printed at the end."""
