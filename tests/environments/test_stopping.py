"""An operator that is stopped for an uninstall: while its pods end others write its Deployment, too."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from keda_py.clock import Clock, SystemClock
from keda_py.environments.release import stopped
from keda_py.errors import Conflict, Forbidden, KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import Obj, ObjectPath


@dataclass
class Deployment:
    """A client of a cluster with this one alone; `refusals` are what the next writes come to."""

    count: int = 2
    refusals: list[KubeError | None] = field(default_factory=list)
    clock: Clock = field(default_factory=SystemClock)

    async def get(self, path: ObjectPath) -> Obj:
        return {
            "metadata": {"resourceVersion": "1"},
            "spec": {"replicas": self.count},
            "status": {"replicas": self.count},
        }

    async def update(self, path: ObjectPath, body: Obj) -> Obj:
        refusal = self.refusals.pop(0) if self.refusals else None
        if refusal is not None:
            raise refusal
        self.count = body["spec"]["replicas"]
        return await self.get(path)


async def uninstall(operator: Deployment) -> None:
    """What fails while the operator is away."""
    async with stopped(cast(KubeClient, operator), "keda/keda-operator"):
        assert operator.count == 0
        raise KubeError("a count could not be given back")


async def test_writes_of_others_keep_it_neither_up_nor_down() -> None:
    operator = Deployment(refusals=[Conflict("changed"), None, Conflict("changed"), Conflict("changed")])
    with pytest.raises(KubeError, match="a count could not be given back"):
        await uninstall(operator)
    assert operator.count == 2


async def test_one_that_cannot_be_put_back_is_told_with_its_count_and_with_what_went_wrong_before() -> None:
    operator = Deployment(refusals=[None, Forbidden("no update of scale")])
    told = "a count could not be given back; and operator keda/keda-operator stays at 0: no update of scale; .* to 2"
    with pytest.raises(KubeError, match=told):
        await uninstall(operator)
