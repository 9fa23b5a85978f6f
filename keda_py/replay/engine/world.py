"""The state that the parts of the engine share: the version in force, the pods, the readings, the last judgement."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from keda_py.core.hpa.walk import RescaleDecision
from keda_py.core.round import Judgement
from keda_py.replay.engine.meters import Meters
from keda_py.replay.engine.pods import Pods
from keda_py.replay.engine.setting import Setting
from keda_py.replay.engine.subject import Subject

Cause = Judgement | RescaleDecision | Literal["Paused", "PodReady"]
"""What changes a count: a look, a sync of the HPA, a pause at a count, or a pod that becomes Ready."""
Changed = Callable[[float, Cause], None]
"""Called with the second and the cause after each change of a count."""


@dataclass(slots=True, kw_only=True)
class World:
    """The state of one replay."""

    setting: Setting
    subject: Subject
    meters: Meters
    pods: Pods
    changed: Changed
    judgement: Judgement | None = None
    """The last one; None before the first, and while the object is paused."""
    composite: float | None = None
    """The value that a formula last gave."""

    def now(self, at: float) -> datetime:
        """Return the wall clock at a second."""
        return self.setting.origin + timedelta(seconds=at)

    def second(self, now: datetime | None) -> float:
        """Return the second of an instant; infinity for None, which never comes."""
        return float("inf") if now is None else (now - self.setting.origin).total_seconds()

    def scale(self, replicas: int, at: float, cause: Cause) -> None:
        """Ask for so many pods."""
        if replicas != self.pods.replicas:
            self.pods.scale(replicas, at)
            self.changed(at, cause)
