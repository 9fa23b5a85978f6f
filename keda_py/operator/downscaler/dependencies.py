"""The objects that the downscaler works with, made once by `operator/assembly.py`."""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.core.environment.downscaler.decision import DownscalerSettings
from keda_py.kube.client import KubeClient
from keda_py.kube.events import EventRecorder
from keda_py.kube.informers.informer import Informer
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.controller.activations import Activations
from keda_py.operator.downscaler.caches import DownscalerCaches
from keda_py.operator.environments.known.overriding import Overriding
from keda_py.operator.environments.known.owners import Owners
from keda_py.operator.environments.overlays import Overlays


@dataclass(frozen=True, slots=True, kw_only=True)
class DownscalerDependencies:
    """`client` refuses to write unless this replica leads; `includes_scaled_objects`: also those whose workload's kind
    is excluded.

    `acts`: this replica writes; with several active replicas the others only put ScaledObjects to sleep.
    """

    clock: Clock
    client: KubeClient
    events: EventRecorder
    caches: DownscalerCaches
    cluster: Caches
    owners: Owners
    overriding: Overriding
    activations: Activations
    overlays: Overlays
    settings: DownscalerSettings
    includes_scaled_objects: bool
    acts: Callable[[], bool]

    @property
    def scaled_objects(self) -> Informer:
        return self.cluster.scaled_objects
