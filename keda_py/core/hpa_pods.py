"""Pods as the HorizontalPodAutoscaler sees them: which of them count, which are held back, which are unknown.

`hpa_metrics.py` asks this file for usage, requests and groups of pods; nothing here knows a target. Amounts are milli
(1500 is 1.5 cores, or 1.5 bytes), as in Kubernetes, whose controller computes on `MilliValue()` too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

Amounts = Mapping[str, Mapping[str, int]]
"""container -> resource ("cpu", "memory") -> milli."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSample:
    """What metrics.k8s.io last said of one pod."""

    timestamp: datetime
    window: timedelta
    usage: Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod that the scale target's selector finds."""

    name: str
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] = "Running"
    deleting: bool = False
    ready: bool | None = None
    """The Ready condition; None: the pod has no such condition yet."""
    ready_changed_at: datetime | None = None
    """lastTransitionTime of the Ready condition."""
    started_at: datetime | None = None
    """status.startTime."""
    requests: Amounts = field(default_factory=dict)
    """Every container has an entry, an empty one where it requests nothing."""
    sample: UsageSample | None = None
