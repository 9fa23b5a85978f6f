"""The annotations of py-kube-downscaler on the embedded cluster: put down at night, given back, and nobody fights."""

from keda_py.kube.resources import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    POD_DISRUPTION_BUDGETS,
    STATEFUL_SETS,
    Obj,
)
from tests.builders import (
    container,
    cron_job,
    deployment,
    environment,
    hpa,
    job,
    metrics_api,
    obj,
    scaled_object,
    workload,
)
from tests.operator.downscaler.builders import NIGHT, ORIGINAL, mark_namespace, marked, obeying
from tests.operator.environments.builders import events, is_suspended, until
from tests.worlds.world import HPA, World


async def test_a_namespace_sleeps_and_gets_back_what_it_had_even_from_another_process(quiet_world: World) -> None:
    world = quiet_world
    await world.create(deployment("web", 3), workload("StatefulSet", "db", 2), cron_job())
    await world.create(
        marked(deployment("one", 2), downtime_replicas="1"), marked(deployment("out", 2), exclude="true")
    )
    await obeying(world)
    await mark_namespace(world, **NIGHT)
    await until(world, 20, "12:29")
    assert world.replicas("web") == 3
    await until(world, 20, "12:30")
    await world.seconds(1)
    assert (world.replicas("web"), world.replicas("db", STATEFUL_SETS), is_suspended(world)) == (0, 0, True)
    assert (world.replicas("one"), world.replicas("out")) == (1, 2)
    assert world.get(DEPLOYMENTS, "web")["metadata"]["annotations"][ORIGINAL] == "3"
    await world.operator.kill()
    await world.operator.start()
    await until(world, 20, "12:49")
    assert world.replicas("web") == 0
    await until(world, 20, "12:50")
    await world.seconds(1)
    assert (world.replicas("web"), world.replicas("db", STATEFUL_SETS), is_suspended(world)) == (3, 2, False)
    assert (world.replicas("one"), world.replicas("out")) == (2, 2)
    assert ORIGINAL not in (world.get(DEPLOYMENTS, "web")["metadata"].get("annotations") or {})
    assert not world.get(CRON_JOBS, "report")["metadata"].get("annotations")


async def test_what_the_program_put_down_is_given_back_and_what_is_young_is_left_up(quiet_world: World) -> None:
    world = quiet_world
    await world.create(marked(deployment("web", 0), original_replicas="4", **NIGHT))
    await obeying(world, "deployments")
    await world.seconds(1)
    assert world.replicas("web") == 4
    await until(world, 20, "12:20")
    await world.create(marked(deployment("young", 2), **NIGHT))
    await until(world, 20, "12:34")
    assert (world.replicas("web"), world.replicas("young")) == (0, 2)
    await until(world, 20, "12:37")
    assert world.replicas("young") == 0


def daemon_set(name: str) -> Obj:
    pod = {"containers": [container()], "nodeSelector": {"disk": "ssd"}}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    return obj("apps/v1", "DaemonSet", name, spec={"selector": {"matchLabels": {"app": name}}, "template": template})


async def test_each_kind_has_its_own_way_to_be_down(quiet_world: World) -> None:
    world = quiet_world
    budget = obj("policy/v1", "PodDisruptionBudget", "pdb", spec={"minAvailable": 2, "selector": {}})
    scaler = marked(hpa("hpa", "web", minReplicas=2), downtime_replicas="1")
    objects = [daemon_set("ds"), job("job", suspend=False), budget, scaler]
    kinds = (DAEMON_SETS, JOBS, POD_DISRUPTION_BUDGETS, HORIZONTAL_POD_AUTOSCALERS)

    def now() -> list[object]:
        daemons, once, pdb, autoscaler = (
            world.get(kind, body["metadata"]["name"])["spec"] for kind, body in zip(kinds, objects, strict=True)
        )
        selector = daemons["template"]["spec"]["nodeSelector"]
        return [selector, once.get("suspend"), pdb["minAvailable"], autoscaler["minReplicas"]]

    await world.create(deployment("web", 2), *objects)
    before = now()
    await obeying(world, ",".join(kind.plural for kind in kinds))
    await mark_namespace(world, **NIGHT)
    await until(world, 20, "12:35")
    assert now() == [{"disk": "ssd", "kube-downscaler-non-existent": "true"}, True, 0, 1]
    await until(world, 20, "12:52")
    assert now() == before


async def test_excluded_at_night_a_namespace_gets_everything_back_at_once(quiet_world: World) -> None:
    world = quiet_world
    world.jobs(10)
    await world.create(deployment("web", 3), deployment(), scaled_object(metrics_api(world.url), pollingInterval=60))
    await obeying(world)
    await mark_namespace(world, **NIGHT)
    await until(world, 20, "12:35")
    assert (world.replicas("web"), world.replicas()) == (0, 0)
    await mark_namespace(world, exclude="true")
    await world.seconds(5)
    assert (world.replicas("web"), world.replicas() > 0) == (3, True)


async def test_a_scaled_object_sleeps_by_the_annotation_of_its_workload_though_its_trigger_is_active(
    quiet_world: World,
) -> None:
    world = quiet_world
    world.jobs(10)
    await world.create(marked(deployment(), **NIGHT), scaled_object(metrics_api(world.url), pollingInterval=60))
    await obeying(world, "deployments")
    await until(world, 20, "12:29")
    assert world.replicas() >= 1
    await until(world, 20, "12:31")
    assert (world.replicas(), world.hpa(HPA)) == (0, None)
    assert "downscaler annotations" in world.full_condition("Paused")[2]
    assert ORIGINAL not in world.get(DEPLOYMENTS, "app")["metadata"]["annotations"]
    counts = world.writes_of(DEPLOYMENTS)
    await world.operator.kill()
    await world.operator.start()
    await until(world, 20, "12:49")
    assert {one["spec"]["replicas"] for one in counts} <= {0}
    await until(world, 20, "12:52")
    assert world.replicas() >= 1
    assert world.condition("Paused")[0] == "False"


async def test_what_another_client_puts_back_is_put_down_once_a_minute_and_not_at_once(quiet_world: World) -> None:
    world = quiet_world
    await world.create(marked(deployment("web", 3), **NIGHT))
    await obeying(world)
    await until(world, 20, "12:35")
    await world.seconds(10)
    for _ in range(3):
        await world.patch(DEPLOYMENTS, {"spec": {"replicas": 3}}, "web")
        await world.seconds(5)
    assert world.replicas("web") == 3
    await until(world, 20, "12:37")
    assert world.replicas("web") == 0


async def test_a_member_of_an_environment_is_left_to_it_and_that_is_said_once(quiet_world: World) -> None:
    world = quiet_world
    told = events(world, "Deployment")
    await world.create(marked(deployment("web", 3), **NIGHT), environment())
    await obeying(world)
    await until(world, 20, "12:35")
    assert world.replicas("web") == 3
    assert told.count(("Warning", "DownscalerAnnotationsIgnored")) == 1


async def test_switched_off_the_annotations_mean_nothing(world: World) -> None:
    await world.create(marked(deployment("web", 3), **NIGHT))
    await until(world, 20, "12:31")
    assert world.replicas("web") == 3
    assert world.operator.assembly is not None
    assert world.operator.assembly.downscaler is None
