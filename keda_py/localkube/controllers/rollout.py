"""The rolling update of a Deployment: pure arithmetic on the sizes of its ReplicaSets.

`deployments.py` asks for the next sizes on every event and writes those that differ, so a rollout advances as pods
become available. It follows the real controller: surge first, then remove as many old pods as availability allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from keda_py.schema.resources import Obj


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSetSize:
    """Desired and available pods of a ReplicaSet."""

    desired: int
    available: int


def limits(deployment: Obj) -> tuple[int, int]:
    """maxSurge (percentages round up) and maxUnavailable (down) in pods; never both 0, or nothing would advance."""
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    replicas = deployment["spec"].get("replicas", 1)
    surge = _pods_of(rolling.get("maxSurge", "25%"), replicas, up=True)
    unavailable = _pods_of(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    return surge, unavailable or (0 if surge else 1)


def next_sizes(deployment: Obj, new: ReplicaSetSize, old: Sequence[ReplicaSetSize]) -> tuple[int, list[int]]:
    """The next sizes of the new ReplicaSet and of each old one; the oldest shrinks first."""
    replicas = deployment["spec"].get("replicas", 1)
    if (deployment["spec"].get("strategy") or {}).get("type") == "Recreate":
        return (0 if any(size.desired for size in old) else replicas), [0 for _ in old]
    surge, unavailable = limits(deployment)
    grown = _surge_size(new.desired, replicas, surge, sum(size.desired for size in old))
    if grown != new.desired:
        return grown, [size.desired for size in old]
    return grown, _shrunk(new, old, replicas - unavailable)


def _surge_size(desired: int, replicas: int, surge: int, old: int) -> int:
    if desired >= replicas:
        return replicas
    room = replicas + surge - desired - old
    return desired + max(0, min(room, replicas - desired))


def _shrunk(new: ReplicaSetSize, old: Sequence[ReplicaSetSize], least_available: int) -> list[int]:
    """Shrink old ReplicaSets: unavailable pods first, then available ones down to the minimum."""
    # Pods of the new ReplicaSet that are not available yet must not be counted as removable: a broken template would
    # otherwise take down the pods that still work.
    everything = new.desired + sum(size.desired for size in old)
    removable = everything - least_available - (new.desired - new.available)
    sizes: list[ReplicaSetSize] = []
    for size in old:
        useless = min(max(removable, 0), size.desired - size.available)
        removable -= useless
        sizes.append(ReplicaSetSize(desired=size.desired - useless, available=size.available))
    removable = new.available + sum(size.available for size in sizes) - least_available
    result = []
    for size in sizes:
        going = min(max(removable, 0), size.desired)
        removable -= going
        result.append(size.desired - going)
    return result


def _pods_of(amount: int | str, replicas: int, *, up: bool) -> int:
    if isinstance(amount, int):
        return amount
    share = int(amount.rstrip("%")) * replicas / 100
    return ceil(share) if up else floor(share)
