from tests.builders import container, obj, usage
from tests.localkube.controllers.world import Obj, World


def job(completions: int = 1, parallelism: int = 1, **annotations: str) -> Obj:
    pod = {"containers": [container()], "restartPolicy": "Never"}
    template = {"metadata": {"annotations": usage(**annotations)}, "spec": pod}
    spec = {"completions": completions, "parallelism": parallelism, "backoffLimit": 1, "template": template}
    return obj("batch/v1", "Job", "batch", "default", spec=spec)


def status(world: World) -> Obj:
    found: Obj = world.get("batch/v1", "Job", "batch")["status"]
    return found


async def test_a_job_completes_when_its_pod_has_run(world: World) -> None:
    world.create(job(run_seconds="30"))
    await world.seconds(20)
    assert (status(world)["active"], "conditions" in status(world)) == (1, False)
    await world.seconds(15)
    assert status(world)["succeeded"] == 1
    assert [row["type"] for row in status(world)["conditions"]] == ["Complete"]
    assert [pod["status"]["phase"] for pod in world.pods()] == ["Succeeded"]


async def test_parallelism_bounds_the_pods_at_once(world: World) -> None:
    world.create(job(completions=5, parallelism=2, run_seconds="10"))
    await world.seconds(5)
    assert status(world)["active"] == 2
    await world.seconds(60)
    assert status(world)["succeeded"] == 5
    assert len(world.pods()) == 5


async def test_a_job_whose_pods_keep_failing_fails(world: World) -> None:
    world.create(job(run_seconds="1", exit_code="1"))
    await world.seconds(30)
    assert status(world)["failed"] == 2
    assert [row["reason"] for row in status(world)["conditions"]] == ["BackoffLimitExceeded"]
