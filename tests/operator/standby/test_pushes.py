"""Streams of activity belong to the replica that leads."""

from collections.abc import AsyncIterator

import pytest

from tests.builders import deployment, scaled_object
from tests.operator.replicas import LEASE, Replicas, question
from tests.scalers.grpc.conftest import External, external_server
from tests.waiting import eventually


@pytest.fixture
async def external() -> AsyncIterator[External]:
    async with external_server() as external:
        external.active = False
        external.values["jobs"] = [{"metricValue": 0}]
        yield external


async def pushing(replicas: Replicas, external: External) -> None:
    """An object that is not polled again before long."""
    trigger = {"type": "external-push", "metadata": {"scalerAddress": external.address}}
    await replicas.create(deployment(), scaled_object(trigger, pollingInterval=3600))
    await replicas.until_condition("Active", "False")
    await eventually(lambda: external.open_streams == 1)


async def test_a_replica_that_loses_the_lease_lets_go_of_its_streams_and_takes_them_up_again(
    replicas: Replicas, external: External
) -> None:
    await replicas.start("one")
    await pushing(replicas, external)
    await replicas.client.patch(LEASE, {"spec": {"holderIdentity": "ghost", "leaseDurationSeconds": 3600}})
    await eventually(lambda: external.open_streams == 0)
    await replicas.client.patch(LEASE, {"spec": {"holderIdentity": ""}})
    await eventually(lambda: external.open_streams == 1)
    external.active, external.values["jobs"] = True, [{"metricValue": 3}]
    external.told.put_nowait(True)
    await replicas.scaled_to(1)


async def test_a_replica_that_answers_by_itself_while_another_leads_holds_no_stream(
    replicas: Replicas, external: External
) -> None:
    leader = await replicas.start("one")
    await replicas.held_by("one")
    follower = await replicas.start("two")
    await pushing(replicas, external)
    await replicas.kill(leader)
    await eventually(lambda: external.open_streams == 0)
    assert replicas.holder() == "one"
    status, _ = await follower.get(question("s0-jobs"))
    assert (status, external.streams) == (200, 1)
    await replicas.held_by("two")
    await eventually(lambda: external.open_streams == 1)
    assert external.streams == 2
