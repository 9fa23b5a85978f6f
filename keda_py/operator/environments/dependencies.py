"""The objects that the controllers of environments work with, made once by `parts.py`."""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.core.environment.namespaces.order import NamespaceTurn
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.environments.deletion.namespaces import NamespaceDeletions
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars
from keda_py.operator.environments.known.override_cache import Overriding
from keda_py.operator.environments.known.owners import Owners
from keda_py.operator.environments.known.sessions import SessionWatch
from keda_py.operator.environments.overlays import Overlays
from keda_py.operator.environments.waking.requests import WakeRequests
from keda_py.operator.gitops.flux import FluxAnnotations
from keda_py.operator.gitops.truces import Truces
from keda_py.operator.waking.waking import Waking


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDependencies:
    """Dependencies of environments beyond those of all controllers. `cluster` has the ScaledObjects.

    `acts` is true on the replica that stores and applies decisions: with several active replicas only the leader. The
    others compute the same decisions, and apply only the overlays of ScaledObjects. `turn_of` tells what an Environment
    waits for in other namespaces. `waking` and `requests` are None without wakers, `sessions` where no metric
    source is asked.
    """

    shared: Dependencies
    caches: EnvironmentCaches
    cluster: Caches
    calendars: Calendars
    overriding: Overriding
    owners: Owners
    overlays: Overlays
    bounds: Overlays
    acts: Callable[[], bool]
    waking: Waking | None
    requests: WakeRequests | None
    truces: Truces
    flux: FluxAnnotations
    deletions: NamespaceDeletions
    sessions: SessionWatch | None
    turn_of: Callable[[ObjectKey], NamespaceTurn]
