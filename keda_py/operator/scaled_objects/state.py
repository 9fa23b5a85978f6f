"""What the operator remembers of one ScaledObject between two looks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keda_py.core.activity import ActivityState
from keda_py.core.hpa.manifest import Manifest
from keda_py.core.savings.ledger import Ledger
from keda_py.core.spec import ScalingSpec
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.informers.cache import Cache, NamespacedName
from keda_py.operator.controller.state import NOTHING, Remembered
from keda_py.operator.decisions.pruned_fields import OWN


@dataclass(slots=True)
class ObjectState(Remembered):
    """The memory of a ScaledObject.

    `target` is what the scale loop scales, `missing` the one that a reconcile waits for. `written` is the version and
    count of our last scale, until the cache shows it. `odd` are the metrics of which an odd value has been told,
    `out_of_reach` is whether it has been told that the target can be neither read nor scaled. `workloads` is the cache
    that had the target at the last snapshot. `hpa_version` is what the last reconcile made of the HPA, "" for nothing.
    `unmade` is the HPA of a new object, which is made as soon as the count from before it is stored.
    """

    spec: ScalingSpec | None = None
    target: ScaleTarget | None = None
    activity: ActivityState | None = None
    written: tuple[int, int] | None = None
    missing: NamespacedName | None = None
    workloads: Cache | None = None
    odd: frozenset[str] = NOTHING
    out_of_reach: bool = False
    hpa_changed: bool = False
    hpa_lost: bool = False
    hpa_version: str = ""
    unmade: Manifest | None = None
    rivals: tuple[str, ...] = ()
    """HPAs of others over its workload, as they were told."""
    rivals_changed: bool = False
    ledger: Ledger | None = None
    reason_fields: Mapping[str, Any] = field(default_factory=dict)

    def _take(self, live: Mapping[str, Any]) -> None:
        Remembered._take(self, live)  # a class with slots is made anew, which `super()` does not know
        if self.reason_fields and self.reason_fields == self.stored.get(OWN):
            self.reason_fields = self.stored[OWN]  # in memory once, not beside what the next look has written
