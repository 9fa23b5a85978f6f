"""What is simulated: versions of an object over time, what its triggers read, and the cluster around it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from keda_py.core.hpa.controller import ControllerOptions
from keda_py.replay.engine.source import Source
from keda_py.replay.engine.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """How the cluster behaves: when a new pod is Ready, how often the HPA controller looks, and by which flags.

    `requests`: cpu and memory that each pod requests, milli. Durations are seconds.
    """

    ready_after: float = 0.0
    sync_seconds: float = 15.0
    options: ControllerOptions = field(default_factory=ControllerOptions)
    requests: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`versions` are (second, version), the first when the object is created; `sources` are by trigger index.

    Second 0 is `origin`, aware. `begin` may be negative: what comes before second 0 happens, and is not recorded.
    """

    versions: Sequence[tuple[float, Subject]]
    sources: Mapping[int, Source]
    origin: datetime
    end: float
    replicas: int = 0
    cluster: Cluster = field(default_factory=Cluster)
