"""Replicas that share the ScaledObjects out: the leader writes the slices, and the owner of an object scales it."""

from keda_py.core.waking.rules import LABEL
from keda_py.localkube.store.subscriptions import Event
from tests.builders import deployment, scaled_object
from tests.operator.replicas import Replicas
from tests.operator.sharding.crew import leader, owned, three
from tests.operator.waking.stand_in import SERVICE, our_slices, service, two_wakers
from tests.operator.waking.test_replicas import post
from tests.waiting import eventually

WEBS = tuple(f"web-{number}" for number in range(6))


async def test_each_is_led_to_wakers_before_its_owner_scales_it_also_when_the_leader_is_killed(
    replicas: Replicas,
) -> None:
    crew = await three(replicas, waker_service=SERVICE)
    early: list[str] = []

    def hear(event: Event) -> None:
        if event.resource.kind == "Deployment" and event.type == "MODIFIED" and not event.object["spec"]["replicas"]:
            led = {
                one["metadata"]["labels"]["kubernetes.io/service-name"]
                for one in our_slices(replicas)
                if one["endpoints"]
            }
            early.extend({event.name} - led)

    replicas.listen(hear)
    async with two_wakers(replicas):
        trigger = {"type": "request", "metadata": {"activeFor": "1h"}}
        for number, name in enumerate(WEBS):
            await replicas.create(deployment(name, 1), service(name, f"127.96.0.{20 + number}"))
            await replicas.create(scaled_object(trigger, name=name, pollingInterval=1))
        await eventually(lambda: any(one["endpoints"] for one in our_slices(replicas)))
        first = leader(crew)
        assert first is not None
        crew.remove(first)
        await replicas.kill(first)
        await eventually(lambda: all(replicas.replicas(name) == 0 for name in WEBS))
        assert early == []
        assert all(LABEL in one["metadata"]["labels"] for one in our_slices(replicas))
        assert len(our_slices(replicas)) == len(WEBS)
        await eventually(lambda: leader(crew) is not None)
        other = next(one for one in crew if one is not leader(crew))
        assert owned(other)
        for name in WEBS:
            assert await post(replicas, other, service=name) == 202
        await eventually(lambda: all(replicas.replicas(name) == 1 for name in WEBS))
