"""The setting of a replay: what the triggers of the object read, and the cluster around it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from keda_py.core.hpa.controller import ControllerOptions
from keda_py.replay.engine.source import Source


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
class Setting:
    """Second 0 is `origin`, aware; `sources` are by trigger index; `replicas` is the count to begin with.

    With `foreseen` every source says when it changes, as windows do. Then polls and syncs that would find what the
    last one found are left out, and each change happens at its exact moment. Without it, polls keep to their grid, as
    the operator's do, and a source may say another thing at each of them.
    """

    sources: Mapping[int, Source]
    origin: datetime
    replicas: int = 0
    cluster: Cluster = field(default_factory=Cluster)
    foreseen: bool = False
