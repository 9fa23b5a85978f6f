"""The control plane without the API server: every controller, wired to one store. Wiring only.

`cluster.py` adds the server and its identities; tests of controllers start here.
"""

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from keda_py.core.hpa.controller import ControllerOptions
from keda_py.localkube.apiserver.aggregation import Aggregation
from keda_py.localkube.controllers.api_services import ApiServices
from keda_py.localkube.controllers.autoscaling.custom_metrics import CustomMetrics
from keda_py.localkube.controllers.autoscaling.external_metrics import ExternalMetrics
from keda_py.localkube.controllers.autoscaling.horizontal import SYNC_SECONDS, HorizontalPodAutoscalers
from keda_py.localkube.controllers.autoscaling.hpa_inputs import HpaInputs
from keda_py.localkube.controllers.definitions import Definitions
from keda_py.localkube.controllers.deployments import Deployments
from keda_py.localkube.controllers.endpoint_slices import EndpointSlices
from keda_py.localkube.controllers.garbage import GarbageCollector
from keda_py.localkube.controllers.jobs import Jobs
from keda_py.localkube.controllers.kubelet import Kubelet
from keda_py.localkube.controllers.namespaces import Namespaces
from keda_py.localkube.controllers.replicasets import ReplicaSets
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.index import Index
from keda_py.localkube.controllers.shared.loop import ControlLoop
from keda_py.localkube.controllers.shared.recorder import EventRecorder
from keda_py.localkube.controllers.shared.usage import Usage
from keda_py.localkube.controllers.statefulsets import StatefulSets
from keda_py.localkube.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneOptions:
    """The flags of kube-controller-manager; `certificate_authority` (PEM) goes into each kube-root-ca.crt."""

    hpa: ControllerOptions = field(default_factory=ControllerOptions)
    hpa_sync_seconds: float = SYNC_SECONDS
    certificate_authority: str = ""


class ControlPlane:
    """All controllers of one store; they run while its asynchronous context is entered."""

    def __init__(self, store: Store, aggregation: Aggregation, options: PlaneOptions) -> None:
        clock = store.clock
        self.index, self._loop, self._events = Index(), ControlLoop(clock), EventRecorder(store, clock)
        self.context = ControllerContext(
            store=store, clock=clock, index=self.index, loop=self._loop, events=self._events
        )
        self.usage = Usage(self.context)
        self.api_services = ApiServices(self.context, aggregation)
        external, custom = ExternalMetrics(aggregation), CustomMetrics(aggregation, store)
        inputs = HpaInputs(self.context, external, custom, self.usage)
        self._hpas = HorizontalPodAutoscalers(self.context, inputs, options.hpa, options.hpa_sync_seconds)
        self._loop.register(
            Namespaces(self.context, options.certificate_authority),
            GarbageCollector(self.context),
            Definitions(self.context),
            Deployments(self.context),
            ReplicaSets(self.context),
            StatefulSets(self.context),
            EndpointSlices(self.context),
            Jobs(self.context),
            Kubelet(self.context),
            self._hpas,
            self.api_services,
        )
        # The index comes first: recorder and controllers look up relations while they handle the same event.
        for listener in (self.index.on_event, self._events.on_event, self._loop.on_event):
            store.listen(listener)
        self._running = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._running.__aenter__()
        self._tasks = [self._running.create_task(self._hpas.run()), self._running.create_task(self.api_services.run())]
        # In this turn of the loop both tasks open their groups; a sync before that could start no task.
        await asyncio.sleep(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel running work and stop."""
        # Timers stop before tasks: one that fires in between would start work in a group that is ending.
        self._hpas.close()
        self.api_services.close()
        self._events.close()
        self._loop.close()
        for task in self._tasks:
            task.cancel()
        await self._running.__aexit__(kind, error, trace)
