"""Several replicas: any of them takes a waker's report, and the leader alone asks for the wake."""

import json

from keda_py.kube.resources import OVERRIDES
from keda_py.localkube.access.identity import ADMIN
from tests.builders import deployment, environment, override
from tests.operator.replicas import Replica, Replicas, blind
from tests.operator.waking.stand_in import SERVICE, our_slices, service, two_wakers
from tests.waiting import eventually

REPORT = {"namespace": "default", "service": "web", "client": "10.1.2.3"}


async def post(replicas: Replicas, replica: Replica, **other: str) -> int:
    token = replicas.cluster.identity.issue(ADMIN)
    url = f"https://127.0.0.1:{replica.port}/wake"
    headers = {"Authorization": f"Bearer {token}"}
    async with replicas.session.post(url, data=json.dumps(REPORT | other), ssl=blind(), headers=headers) as answer:
        return answer.status


async def test_a_replica_that_does_not_lead_passes_the_report_on(replicas: Replicas) -> None:
    leader = await replicas.start("one", waker_service=SERVICE)
    await replicas.held_by("one")
    follower = await replicas.start("two", waker_service=SERVICE)
    async with two_wakers(replicas):
        target = {"kind": "Environment", "name": "dev"}
        await replicas.create(deployment("web", 2), service(), environment(wakeOnRequest={}))
        await replicas.create(override(state="Asleep", target=target))
        await eventually(lambda: replicas.replicas("web") == 0)
        assert len(our_slices(replicas)) == 1
        assert await post(replicas, follower) == 202
        assert len(replicas.all(OVERRIDES)) == 2
        await eventually(lambda: replicas.replicas("web") == 2)
        await replicas.kill(leader)
        # Until another replica leads, a waker is told to use the slice instead.
        assert await post(replicas, follower) == 503
        await replicas.held_by("two")


async def test_a_leader_that_is_killed_leaves_the_slices_to_the_next_one(replicas: Replicas) -> None:
    leader = await replicas.start("one", waker_service=SERVICE)
    await replicas.held_by("one")
    await replicas.start("two", waker_service=SERVICE)
    async with two_wakers(replicas):
        await replicas.create(deployment("web", 2), service(), environment(wakeOnRequest={}))
        await replicas.create(override(state="Asleep", target={"kind": "Environment", "name": "dev"}))
        await eventually(lambda: replicas.replicas("web") == 0)
        (before,) = our_slices(replicas)
        await replicas.kill(leader)
        await replicas.held_by("two")
        await replicas.delete(OVERRIDES, "evening")
        await replicas.create(override("late", state="Awake", target={"kind": "Environment", "name": "dev"}))
        await eventually(lambda: replicas.replicas("web") == 2)
        await eventually(lambda: our_slices(replicas) == [])
        assert before["endpoints"]
