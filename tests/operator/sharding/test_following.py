"""What every active replica follows of an Environment, and the leader alone tells."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from keda_py.clock import FakeClock
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import Unavailable
from keda_py.kube.resources import ENVIRONMENTS
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.kind import Environments
from keda_py.operator.environments.state import EnvironmentMemory
from keda_py.testing import A_SATURDAY
from tests.builders import environment


class Watched:
    """Dependencies of an Environment whose members cannot be listed."""

    def __init__(self, *, leads: bool) -> None:
        self.told: list[str] = []
        self.shared = self.environments = self.caches = self.events = self.status = self
        self.cluster = self.owners = SimpleNamespace(hpas=None)
        self.acts = lambda: leads
        self.waking = self.requests = None
        self.clock = FakeClock(A_SATURDAY)

    async def wait_members(self) -> None:
        raise Unavailable("the watch is down")

    async def write(self, *_: object) -> bool:
        return False

    def record(self, _: object, kind: str, reason: str, note: str) -> None:
        self.told.append(reason)


@pytest.mark.parametrize("leads", [True, False])
async def test_a_deletion_that_is_held_up_is_told_by_the_leader_alone(leads: bool) -> None:
    parts = Watched(leads=leads)
    live: dict[str, Any] = environment()
    state = EnvironmentMemory(resource=ENVIRONMENTS, key=ObjectKey.of(ENVIRONMENTS.kind, live), uid="1")
    for _ in range(2):
        with pytest.raises(Unavailable):
            await Environments(cast(EnvironmentDependencies, parts)).finalize(state, live)
    assert parts.told == (["EnvironmentHeldUp"] if leads else [])
