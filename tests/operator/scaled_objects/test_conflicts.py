"""Somebody else writes first: the operator looks again and decides anew, it never overwrites."""

from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.meddler import meddling
from tests.worlds.world import World


async def test_who_woke_the_workload_first_is_not_overruled(world: World) -> None:
    async def wake() -> None:
        await world.patch(DEPLOYMENTS, {"spec": {"replicas": 4}})

    async with meddling(world, wake) as asked:
        world.jobs(1)
        await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300))
        await world.seconds(10)
        assert (world.replicas(), asked) == (4, [1])
    assert world.condition("Active") == ("True", "ScalerActive")
    assert "KEDAScaleTargetActivated" not in world.reasons()


async def test_a_harmless_write_in_between_is_no_reason_to_give_up(world: World) -> None:
    async def label() -> None:
        await world.patch(DEPLOYMENTS, {"metadata": {"labels": {"touched": str(len(asked))}}})

    async with meddling(world, label, label) as asked:
        world.jobs(1)
        await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300))
        await world.seconds(0.5)
        assert (world.replicas(), asked) == (1, [1, 1, 1])
    assert world.get(DEPLOYMENTS)["metadata"]["labels"] == {"touched": "2"}


async def test_who_always_writes_first_delays_the_scale_to_the_next_poll(world: World) -> None:
    async def label() -> None:
        await world.patch(DEPLOYMENTS, {"metadata": {"labels": {"touched": str(len(asked))}}})

    async with meddling(world, *[label] * 3) as asked:
        world.jobs(1)
        await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300, pollingInterval=30))
        await world.seconds(0.5)
        assert world.replicas() == 0
        assert "KEDAScaleTargetActivationFailed" in world.reasons()
        await world.seconds(40)
        assert world.replicas() == 1


async def test_a_workload_that_was_scaled_up_while_it_was_to_sleep_is_looked_at_again(world: World) -> None:
    async def scale_up() -> None:
        await world.patch(DEPLOYMENTS, {"spec": {"replicas": 5}})

    async with meddling(world, scale_up) as asked:
        await world.create(deployment(replicas=1), scaled_object(metrics_api(world.url)))
        await world.seconds(5)
        assert (world.replicas(), asked) == (0, [0, 0])
    note = "Deactivated apps/v1.Deployment default/app from 5 to 0"
    assert ("KEDAScaleTargetDeactivated", note) in world.notes()


async def test_a_workload_that_disappears_while_it_is_scaled_is_told(world: World) -> None:
    async def remove() -> None:
        await world.delete(DEPLOYMENTS)

    async with meddling(world, remove):
        world.jobs(1)
        await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300))
        await world.seconds(5)
        assert world.condition("Ready")[0] == "False"
        assert world.find(DEPLOYMENTS) is None
    await world.create(deployment())
    await world.seconds(5)
    assert (world.replicas(), world.condition("Ready")) == (1, ("True", "ScaledObjectReady"))


async def test_a_finalizer_of_somebody_else_survives_ours(world: World) -> None:
    wanted = scaled_object(metrics_api(world.url))
    wanted["metadata"]["finalizers"] = ["example.com/first"]
    await world.create(deployment(), wanted)
    await world.seconds(2)
    assert world.get(SCALED_OBJECTS)["metadata"]["finalizers"] == ["example.com/first", "finalizer.keda.sh"]
    await world.delete(SCALED_OBJECTS)
    await world.seconds(2)
    assert world.get(SCALED_OBJECTS)["metadata"]["finalizers"] == ["example.com/first"]
