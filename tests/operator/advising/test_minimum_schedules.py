"""A ScalingSchedule as `keda-py advise` proposes it, in an operator: the minimum is lower outside of the busy hours."""

from keda_py.advice.proposals.workload import MinimumSchedule
from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS, SCALING_SCHEDULES
from tests.advice.queues import QueueLoad, found_for, worker
from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.environments.builders import until
from tests.worlds.world import HPA, NAMESPACE, World


async def test_replicas_that_its_triggers_never_asked_for_are_gone_after_the_busy_hours(world: World) -> None:
    found = await found_for(worker(), QueueLoad(windows=[("Mon-Fri", "09:00", "12:15")]).history())
    assert isinstance(found, MinimumSchedule), found
    proposed = {**found.body, "metadata": {"name": "worker-minimum", "namespace": NAMESPACE}}
    proposed["spec"] = {**found.body["spec"], "names": ["app"]}
    world.jobs(10)
    kept = scaled_object(metrics_api(world.url), pollingInterval=60, minReplicaCount=8, maxReplicaCount=20)
    await world.create(deployment(), kept, proposed)
    await until(world, 20, "12:10")
    assert (_minimum(world), world.replicas()) == (8, 8)
    await until(world, 20, "12:25")
    assert (_minimum(world), world.replicas()) == (3, 3)
    assert world.get(SCALED_OBJECTS)["spec"]["minReplicaCount"] == 8
    assert world.get(SCALING_SCHEDULES, "worker-minimum")["status"]["nextChange"]["to"] == "at-least-8"


def _minimum(world: World) -> int:
    least: int = world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"]["minReplicas"]
    return least
