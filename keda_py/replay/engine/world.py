"""What the parts of a simulation share: the version that is in force, the pods, the readings, and what is recorded."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.replay.engine.meters import Meters
from keda_py.replay.engine.plan import Plan
from keda_py.replay.engine.pods import Pods
from keda_py.replay.engine.subject import Subject

Changed = Callable[[float, str], None]
"""Told the second, and why, after each change of the count that was asked for."""


@dataclass(slots=True, kw_only=True)
class World:
    """The state of one simulation."""

    plan: Plan
    subject: Subject
    meters: Meters
    pods: Pods
    changed: Changed
    composite: float | None = None
    """What a formula last gave."""

    def now(self, at: float) -> datetime:
        """The wall clock at a second."""
        return self.plan.origin + timedelta(seconds=at)

    def scale(self, replicas: int, at: float, why: str) -> None:
        """Ask for so many pods."""
        if replicas != self.pods.replicas:
            self.pods.scale(replicas, at)
            self.changed(at, why)
