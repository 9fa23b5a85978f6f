"""The pods of the scale target: the count that is asked for, and when each pod becomes Ready."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.core.hpa.pods import Pod, UsageSample

_WINDOW = timedelta(seconds=15)


class Pods:
    """Pods are there at once and Ready after `ready_after` seconds; the youngest go first, before those that run."""

    def __init__(self, replicas: int, ready_after: float) -> None:
        self.replicas = self.ready = replicas
        self._ready_after = ready_after
        self._starting: deque[float] = deque()
        self.next_ready = math.inf
        """When the next pod becomes Ready; infinity: none is starting."""

    def settle(self, at: float) -> None:
        """Count pods as Ready that have become so by then."""
        while self._starting and self._starting[0] <= at:
            self._starting.popleft()
            self.ready += 1
        self.next_ready = self._starting[0] if self._starting else math.inf

    def scale(self, replicas: int, at: float) -> None:
        """Have so many from now on."""
        if not self._ready_after:
            # A preview may ask for a billion pods, and moves them without a step for each.
            self.replicas = self.ready = replicas
            return
        for _ in range(replicas - self.replicas):
            self._starting.append(at + self._ready_after)
        for _ in range(self.replicas - replicas):
            if self._starting:
                self._starting.pop()
            else:
                self.ready -= 1
        self.replicas = replicas
        self.settle(at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load behind resource metrics: what all Ready pods use together and what each requests; milli by resource."""

    usage: Mapping[str, int]
    requests: Mapping[str, int]
    container: str = "app"


def listed(pods: Pods, load: Load | None, now: datetime, born: datetime) -> tuple[Pod, ...]:
    """List the pods as the HPA controller sees them: Ready ones with a share of the load, others without a sample."""
    sample = None
    if load is not None and pods.ready:
        shares = {name: amount // pods.ready for name, amount in load.usage.items()}
        sample = UsageSample(timestamp=now, window=_WINDOW, usage={load.container: shares})
    requests = {load.container: load.requests} if load is not None else {}
    return tuple(
        Pod(
            name=f"pod-{index}",
            ready=index < pods.ready,
            ready_changed_at=born,
            started_at=born,
            requests=requests,
            sample=sample if index < pods.ready else None,
        )
        for index in range(pods.replicas)
    )
