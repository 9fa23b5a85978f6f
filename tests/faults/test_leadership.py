"""The Lease is lost at any step of the work and comes back later, in the same process: nothing is done twice or by halves.

A step is a turn of the event loop: after so many of them, from none to a few hundred, somebody else holds the Lease.
"""

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, LEASES, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.faults.ordeal import Ordeal, ordeal
from tests.sweeps import WHOLE
from tests.waiting import turns

LEASE = "operator.keda.sh"
STEPS = (0, 10, 25, 50, 80, 120, 180, 260, 400)[:: 1 if WHOLE else 3]


def hand_lease_to(one: Ordeal, holder: str) -> None:
    store = one.world.cluster.store
    kind = store.resources.get(LEASES.api_version, LEASES.kind)
    lease = store.get(kind, "keda", LEASE)
    metadata = {name: value for name, value in lease["metadata"].items() if name != "resourceVersion"}
    store.update(kind, {**lease, "metadata": metadata, "spec": {**lease["spec"], "holderIdentity": holder}})


async def lose_and_regain(one: Ordeal, steps: int) -> None:
    await turns(steps)
    hand_lease_to(one, "somebody-else")
    await one.live(3, step=3)
    hand_lease_to(one, "")
    await one.live(9, step=3)


def is_up(one: Ordeal, name: str) -> bool:
    return one.world.replicas(name) == 1 and one.world.condition("Active", name)[0] == "True"


def is_gone(one: Ordeal, name: str) -> bool:
    found = (one.world.find(SCALED_OBJECTS, name), one.world.find(HORIZONTAL_POD_AUTOSCALERS, f"keda-hpa-{name}"))
    return found == (None, None)


@ordeal
async def test_on_the_way_up_and_out_the_lease_may_be_lost_at_any_step(one: Ordeal) -> None:
    world = one.world
    await world.operator.stop()
    world.operator.flags |= {"leader-elect": "true"}
    await world.operator.start()
    await one.wake()
    for steps in STEPS:
        name = f"app-{steps}"
        await world.create(deployment(name, replicas=0))
        counts = world.writes_of(DEPLOYMENTS, name)
        restored = {"restoreToOriginalReplicaCount": True}
        await world.create(scaled_object(metrics_api(world.url), name=name, cooldownPeriod=30, advanced=restored))
        await lose_and_regain(one, steps)
        await one.until(lambda name=name: is_up(one, name) and world.condition("Ready", name)[0] == "True", 30)
        assert {version["spec"]["replicas"] for version in counts} <= {0, 1}
        assert world.status(name)["originalReplicaCount"] == 0
        await world.delete(SCALED_OBJECTS, name)
        await lose_and_regain(one, steps)
        await one.until(lambda name=name: is_gone(one, name), 30)
        assert world.replicas(name) == 0
    await one.assert_sound()
