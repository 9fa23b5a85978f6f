"""The sizes of ReplicaSets in the course of a rolling update."""

import pytest

from keda_py.localkube.controllers.rollout import ReplicaSetSize, limits, next_sizes
from tests.localkube.controllers.bare_cluster import Obj


def rolling(replicas: int, surge: int | str = "25%", unavailable: int | str = "25%") -> Obj:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(10, "25%", "25%", (3, 2), id="surge rounds up, unavailable down"),
        pytest.param(1, "25%", "25%", (1, 0), id="a lone pod is never missed"),
        pytest.param(4, 0, "10%", (0, 1), id="both zero would never move"),
        pytest.param(5, 2, 1, (2, 1), id="counts are taken as they are"),
    ],
)
def test_limits_are_counted_in_pods(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    assert limits(rolling(replicas, surge, unavailable)) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param((0, 0), [(4, 4)], (1, [4]), id="first the surge"),
        pytest.param((1, 0), [(4, 4)], (1, [3]), id="then what may be unavailable"),
        pytest.param((1, 0), [(3, 3)], (2, [3]), id="the room is used again"),
        pytest.param((2, 2), [(3, 3)], (2, [1]), id="available new pods free old ones"),
        pytest.param((4, 4), [(1, 1)], (4, [0]), id="the last old pod goes"),
        pytest.param((1, 1), [(4, 1)], (1, [2]), id="old pods that serve nobody go first"),
    ],
)
def test_each_step_keeps_enough_pods_available(
    new: tuple[int, int], old: list[tuple[int, int]], expected: tuple[int, list[int]]
) -> None:
    sizes = [ReplicaSetSize(desired=desired, available=available) for desired, available in old]
    assert next_sizes(rolling(4), ReplicaSetSize(desired=new[0], available=new[1]), sizes) == expected
