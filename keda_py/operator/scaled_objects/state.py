"""What the operator remembers of one ScaledObject between two looks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from keda_py.core.activity import ActivityState
from keda_py.core.decision import Reason
from keda_py.core.fallback import FallbackState
from keda_py.core.hpa.manifest import Manifest
from keda_py.core.reading import Outcome
from keda_py.core.savings.ledger import Ledger
from keda_py.core.spec import ScalingSpec
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.informers.cache import Cache, NamespacedName
from keda_py.operator.controller.state import NOTHING, Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a look was made of that had nothing to do and nothing to write, and whose decision lasts.

    The same once more comes to nothing again; a whole look is taken after `until` (monotonic) all the same.
    """

    spec: ScalingSpec
    outcomes: tuple[Outcome, ...]
    health: Mapping[str, FallbackState]
    workloads: Cache
    workload: Mapping[str, Any]
    hpa: Mapping[str, Any] | None
    stored: Mapping[str, Any]
    told: Mapping[str, Any]
    reason: Reason
    look_again_at: datetime | None
    until: float


@dataclass(slots=True)
class ObjectState(Remembered):
    """The memory of a ScaledObject.

    `target` is what the scale loop scales, `missing` the one that a reconcile waits for. `written` is the version and
    count of our last scale, until the cache shows it. `odd` are the metrics of which an odd value has been told,
    `out_of_reach` is whether it has been told that the target can be neither read nor scaled. `sight` is None after a
    look that did something, or may have to. `hpa_version` is what the last reconcile made of the HPA, "" for nothing.
    `unmade` is the HPA of a new object, which is made as soon as the count from before it is stored.
    """

    spec: ScalingSpec | None = None
    target: ScaleTarget | None = None
    activity: ActivityState | None = None
    written: tuple[int, int] | None = None
    missing: NamespacedName | None = None
    odd: frozenset[str] = NOTHING
    out_of_reach: bool = False
    hpa_changed: bool = False
    hpa_lost: bool = False
    hpa_version: str = ""
    unmade: Manifest | None = None
    ledger: Ledger | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    sight: Sight | None = None

    def follow(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> None:
        """With the object that has changed goes what was seen of it."""
        Remembered.follow(self, old, new)
        if self.sight is not None and self.sight.stored is not self.stored:
            self.sight = None
