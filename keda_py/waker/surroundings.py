"""What all Services of one waker share: bounds, places, metrics, clock, and the group of its tasks."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from keda_py.clock import Clock
from keda_py.telemetry.waker_metrics import WakerMetrics
from keda_py.waker.limits import Limits
from keda_py.waker.seats import Seats

if TYPE_CHECKING:
    from keda_py.waker.service_port import ServicePort


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Parts of one waker. `pod_name` is its answer to the operator's probes, `host` where it listens, "" everywhere."""

    limits: Limits
    seats: Seats
    metrics: WakerMetrics
    clock: Clock
    tasks: asyncio.TaskGroup
    pod_name: str
    host: str = ""
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(64 * 1024)))
    """Into which all connections read, one after the other: 10 000 buffers of their own would be 640 MB."""
    busy: set["ServicePort"] = field(default_factory=set)
    """Ports that have connections, also after their Service has gone."""
    active: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """`active` is set while a port has any, `idle` while none has."""

    def begin(self, port: "ServicePort") -> None:
        """Note that a port has connections."""
        self.busy.add(port)
        self.active.set()
        self.idle.clear()

    def end(self, port: "ServicePort") -> None:
        """Note that a port has none any more."""
        self.busy.discard(port)
        if not self.busy:
            self.active.clear()
            self.idle.set()
