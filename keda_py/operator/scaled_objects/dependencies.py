"""What reconciler and scale loop of ScaledObjects work with, made once by `assembly.py`."""

from dataclasses import dataclass

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.spec import ScalingSpec
from keda_py.core.spec_source import SpecSource
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.cluster.namespaces import Namespaces
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.scaled_objects.hpas import Hpas
from keda_py.operator.scaled_objects.targets import Targets
from keda_py.operator.waking.request_triggers import RequestTriggers


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledObjectDependencies:
    """What ScaledObjects need beside what every kind shares: the cluster as it is known, targets, HPAs, specs."""

    shared: Dependencies
    caches: Caches
    namespaces: Namespaces
    targets: Targets
    hpas: Hpas
    specs: SpecSource[ScaledObject, ScalingSpec]
    reader: ClusterReader
    requests: RequestTriggers | None = None
    """None without wakers, and for a shadow, which keeps no Service reachable."""
