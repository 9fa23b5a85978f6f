"""One bound over the Jobs of all ScaledJobs of a namespace, and the other annotations of keda-py on ScaledJobs."""

import pytest

from keda_py.kube.resources import JOBS, SCALED_JOBS, Obj
from tests.builders import a_namespace, metadata, scaled_job, usage
from tests.worlds.world import World

MOST, WHEN, UNTIL = "keda-py.dev/namespace-max-jobs", "keda-py.dev/active-when", "keda-py.dev/paused-until"
POLL, RUNS = 10, 100


def work(world: World, name: str, *queues: str, most: str | None = "8", **more: str) -> Obj:
    """A ScaledJob with a Job for each piece of work in its queues."""
    triggers = [
        {
            "type": "metrics-api",
            "metadata": {"url": f"{world.server.url}/{one}", "valueLocation": "n", "targetValue": "1"},
        }
        for one in queues or (name,)
    ]
    built = scaled_job(*triggers, name=name, annotations=usage(run_seconds=str(RUNS)), pollingInterval=POLL)
    built["metadata"] = metadata(name, annotations={**({MOST: most} if most else {}), **more})
    return built


def waiting(world: World, **counts: int) -> None:
    for name, count in counts.items():
        world.server.answers[f"/{name}"] = f'{{"n": {count}}}'


def running(world: World, namespace: str = "default") -> dict[str, int]:
    counts: dict[str, int] = {}
    for job in world.all(JOBS, namespace):
        if not (job.get("status") or {}).get("conditions"):
            owner = job["metadata"]["labels"]["scaledjob.keda.sh/name"]
            counts[owner] = counts.get(owner, 0) + 1
    return counts


async def test_all_scaled_jobs_of_a_namespace_together_never_have_more_jobs(world: World) -> None:
    waiting(world, a=50, b=50, c=50)
    most: list[int] = []
    world.listen(lambda event: most.append(sum(running(world).values())) if event.resource.plural == "jobs" else None)
    await world.create(*(work(world, name) for name in "abc"))
    await world.seconds(POLL * 3)
    assert sum(running(world).values()) == 8
    await world.seconds(RUNS * 5)
    assert max(most) == 8
    assert sum(running(world).values()) == 8


async def test_room_that_finished_jobs_leave_is_used_by_the_others(world: World) -> None:
    waiting(world, a=8, b=0)
    await world.create(work(world, "a"), work(world, "b"))
    await world.seconds(POLL * 2)
    assert running(world) == {"a": 8}
    waiting(world, a=0, b=3)
    await world.seconds(POLL * 2)
    assert running(world) == {"a": 8}
    await world.seconds(RUNS)
    assert running(world) == {"b": 3}


async def test_one_without_the_annotation_is_counted_and_not_bounded(world: World) -> None:
    waiting(world, a=50, free=12)
    await world.create(work(world, "free", most=None))
    await world.seconds(POLL * 2)
    await world.create(work(world, "a"))
    await world.seconds(POLL * 2)
    assert running(world) == {"free": 12}


async def test_jobs_of_other_namespaces_do_not_count(world: World) -> None:
    waiting(world, a=5, far=9)
    await world.create(a_namespace("other"))
    await world.create(work(world, "far", most=None), namespace="other")
    await world.create(work(world, "a"))
    await world.seconds(POLL * 2)
    assert (running(world), running(world, "other")) == ({"a": 5}, {"far": 9})


async def test_a_restart_counts_what_runs(world: World) -> None:
    waiting(world, a=50, b=50)
    await world.create(work(world, "a"), work(world, "b"))
    await world.seconds(POLL * 2)
    await world.operator.kill()
    await world.operator.start()
    await world.seconds(POLL * 3)
    assert sum(running(world).values()) == 8


@pytest.mark.parametrize(
    ("annotation", "value", "told"),
    [(MOST, "some", '"some" is not a whole number from 1'), (WHEN, "both", '"both" is unknown; write "all" or "any"')],
)
async def test_a_wrong_value_is_told_and_no_job_is_created(
    world: World, annotation: str, value: str, told: str
) -> None:
    waiting(world, a=5)
    await world.create(work(world, "a", **{annotation: value}))
    await world.seconds(POLL * 2)
    assert running(world) == {}
    assert any(told in note for _, _, note in world.events("a", "ScaledJob"))


async def test_where_all_triggers_have_to_be_active_one_queue_alone_creates_nothing(world: World) -> None:
    waiting(world, a=5, gate=0)
    await world.create(work(world, "a", "a", "gate", **{WHEN: "all"}))
    await world.seconds(POLL * 2)
    assert running(world) == {}
    waiting(world, gate=1)
    await world.seconds(POLL * 2)
    assert running(world) == {"a": 5}


async def test_a_pause_ends_by_itself_at_its_time(world: World) -> None:
    waiting(world, a=5)
    await world.create(work(world, "a", **{UNTIL: "2026-11-20T12:10:00Z"}))
    await world.seconds(300)
    row = {one["type"]: one for one in world.get(SCALED_JOBS, "a")["status"]["conditions"]}["Paused"]
    assert (row["status"], row["message"]) == ("True", "ScaledJob is paused: until 2026-11-20T12:10:00Z")
    assert running(world) == {}
    await world.seconds(305)
    assert running(world) == {"a": 5}
