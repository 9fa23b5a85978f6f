"""ScaledJobs: which Jobs there are, what status and Events say."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS, SCALED_JOBS, SCALED_OBJECTS, Obj
from tests.builders import bare_scaled_object, config_map, deployment, metadata, scaled_job, usage
from tests.http_server import HttpServer
from tests.operator.world import World, build_world
from tests.waiting import eventually

POLL = 10
RUNS = 100


class JobWorld:
    """A cluster with an operator, and short words for ScaledJob `work` and its Jobs."""

    def __init__(self, world: World) -> None:
        self.cluster = world

    def wait(self, count: int | None, queue: str = "q") -> None:
        """How much is waiting from now on; None: the queue cannot be asked."""
        self.cluster.server.answers.pop(f"/{queue}", None)
        if count is not None:
            self.cluster.server.answers[f"/{queue}"] = f'{{"n": {count}}}'

    def trigger(self, queue: str = "q", **more: Any) -> Obj:
        """One Job for two pieces of work."""
        url = f"{self.cluster.server.url}/{queue}"
        return {"type": "metrics-api", "metadata": {"url": url, "valueLocation": "n", "targetValue": "2"}, **more}

    async def seconds(self, seconds: float) -> None:
        await self.cluster.seconds(seconds)

    async def create(
        self, *triggers: Obj, labels: Obj | None = None, annotations: Obj | None = None, **spec: Any
    ) -> None:
        manifest = scaled_job(*triggers, annotations=usage(run_seconds=str(RUNS)), **{"pollingInterval": POLL, **spec})
        manifest["metadata"] = metadata("work", "default", labels=labels, annotations=annotations)
        await self.cluster.client.create(SCALED_JOBS, manifest)

    async def change(self, **spec: Any) -> None:
        await self.cluster.patch(SCALED_JOBS, {"spec": spec}, "work")

    async def pause(self, value: str) -> None:
        change = {"metadata": {"annotations": {"autoscaling.keda.sh/paused": value}}}
        await self.cluster.patch(SCALED_JOBS, change, "work")

    def scaled_job(self) -> Obj:
        return self.cluster.get(SCALED_JOBS, "work")

    def jobs(self) -> list[Obj]:
        jobs = self.cluster.all(JOBS, "default")
        return [job for job in jobs if job["metadata"]["labels"].get("scaledjob.keda.sh/name") == "work"]

    def names(self) -> set[str]:
        return {job["metadata"]["name"] for job in self.jobs()}

    def finished(self) -> list[Obj]:
        return [job for job in self.jobs() if (job.get("status") or {}).get("conditions")]

    def condition(self, kind: str) -> tuple[str, str, str]:
        rows = (self.scaled_job().get("status") or {}).get("conditions") or []
        row = next((row for row in rows if row["type"] == kind), {})
        return row.get("status", ""), row.get("reason", ""), row.get("message", "")

    def events(self) -> list[tuple[str, str, str]]:
        return self.cluster.events("work", "ScaledJob")

    def requests(self) -> list[str]:
        """What the API server has counted, watches aside."""
        page = bytes(self.cluster.cluster.routes.metrics.answer().body).decode()
        lines = [line for line in page.splitlines() if line.startswith("apiserver_request_total{")]
        return [line for line in lines if 'verb="WATCH"' not in line and "leases" not in line]

    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.events()]


@pytest.fixture
async def world(tmp_path: Path, server: HttpServer) -> AsyncIterator[JobWorld]:
    async with build_world(tmp_path, server) as cluster:
        await cluster.start()
        yield JobWorld(cluster)


async def test_a_job_runs_for_each_share_of_the_queue_and_no_more(world: JobWorld) -> None:
    world.wait(5)
    await world.create(world.trigger(), maxReplicaCount=10)
    await world.seconds(1)
    assert len(world.jobs()) == 3
    await world.seconds(5 * POLL)
    assert len(world.jobs()) == 3
    assert world.condition("Ready") == (
        "True",
        "ScaledJobReady",
        "ScaledJob is defined correctly and is ready for scaling",
    )
    assert world.condition("Active") == (
        "True",
        "ScalerActive",
        "Scaling is performed because triggers are active",
    )
    assert [world.condition("Fallback")[0], world.condition("Paused")[0]] == ["Unknown", "False"]


async def test_a_scaled_job_that_works_is_told_of_in_keda_s_words(world: JobWorld) -> None:
    world.wait(3)
    await world.create(world.trigger(), maxReplicaCount=10)
    await world.seconds(1)
    world.wait(0)
    await world.seconds(2 * POLL)
    assert set(world.events()) == {
        ("Normal", "KEDAScalersStarted", "Scaler metrics-api is built"),
        ("Normal", "KEDAScalersStarted", "Started scalers watch"),
        ("Normal", "ScaledJobReady", "ScaledJob is ready for scaling"),
        ("Normal", "ScaledJobActive", "Scaling is performed because triggers are active"),
        ("Normal", "KEDAJobsCreated", "Created 2 jobs"),
        ("Normal", "ScaledJobInactive", "Scaling is not performed because triggers are not active"),
    }
    status = world.scaled_job()["status"]
    assert (status["triggersTypes"], status["authenticationsTypes"]) == ("metrics-api", "")
    assert status["triggersActivity"] == {"s0-metric-api-n": {"isActive": False}}
    assert status["lastActiveTime"]


async def test_finished_jobs_make_room_for_new_ones(world: JobWorld) -> None:
    world.wait(100)
    await world.create(world.trigger(), maxReplicaCount=4)
    await world.seconds(RUNS / 2)
    assert len(world.jobs()) == 4
    await world.seconds(RUNS)
    assert (len(world.finished()), len(world.jobs())) == (4, 8)


async def test_a_quiet_scaled_job_costs_no_request_to_the_api_server(world: JobWorld) -> None:
    world.wait(3)
    await world.create(world.trigger(), maxReplicaCount=10)
    await world.seconds(5)
    before = world.requests()
    await world.seconds(8 * POLL)
    assert world.requests() == before != []


async def test_the_minimum_runs_without_any_work(world: JobWorld) -> None:
    world.wait(0)
    await world.create(world.trigger(), minReplicaCount=2, maxReplicaCount=10)
    await world.seconds(3 * POLL)
    assert len(world.jobs()) == 2
    assert world.condition("Active")[0] == "True"


async def test_history_limits_keep_the_latest_finished_jobs(world: JobWorld) -> None:
    world.wait(4)
    await world.create(world.trigger(), maxReplicaCount=10, successfulJobsHistoryLimit=1)
    await world.seconds(5)
    world.wait(0)
    await world.seconds(RUNS + 2 * POLL)
    assert len(world.jobs()) == len(world.finished()) == 1


async def test_a_changed_scaled_job_replaces_its_jobs(world: JobWorld) -> None:
    world.wait(4)
    await world.create(world.trigger(), maxReplicaCount=10)
    await world.seconds(5)
    before = world.names()
    await world.change(maxReplicaCount=9)
    await world.seconds(5)
    after = world.jobs()
    assert len(after) == 2
    assert before.isdisjoint(world.names())
    assert {job["metadata"]["annotations"]["scaledjob.keda.sh/generation"] for job in after} == {"2"}
    note = "2 jobs owned by the previous version of the scaledJob"
    assert ("Normal", "ScaledJobRolloutCleanupStarted", f"Deleting {note}") in world.events()
    assert ("Normal", "ScaledJobRolloutCleanupCompleted", f"Deleted {note}") in world.events()


async def test_a_gradual_rollout_leaves_running_jobs_alone(world: JobWorld) -> None:
    world.wait(4)
    await world.create(world.trigger(), rollout={"strategy": "gradual"})
    await world.seconds(5)
    before = world.names()
    await world.change(maxReplicaCount=9)
    await world.seconds(2 * POLL)
    assert world.names() == before


async def test_excluded_labels_stay_away_from_jobs(world: JobWorld) -> None:
    world.wait(1)
    labels = {"team": "backend", "foo.bar/environment": "bf50", "foo.bar/version": "1"}
    excluded = {"scaledjob.keda.sh/job-excluded-labels": "foo.bar/environment,foo.bar/version"}
    await world.create(world.trigger(), labels=labels, annotations=excluded)
    await world.seconds(5)
    (job,) = world.jobs()
    assert job["metadata"]["labels"]["team"] == "backend"
    assert not {"foo.bar/environment", "foo.bar/version"} & set(job["metadata"]["labels"])


async def test_a_paused_scaled_job_creates_nothing_and_goes_on_after(world: JobWorld) -> None:
    world.wait(0)
    await world.create(world.trigger())
    await world.seconds(5)
    await world.pause("true")
    await world.seconds(1)
    world.wait(2)
    await world.seconds(5 * POLL)
    assert world.jobs() == []
    assert world.condition("Paused") == ("True", "ScaledJobPaused", "ScaledJob is paused")
    assert world.condition("Ready") == ("True", "ScaledJobReady", "ScaledJob is paused, skipping reconcile loop")
    await world.pause("false")
    await world.seconds(2)
    assert len(world.jobs()) == 1
    assert world.condition("Paused")[:2] == ("False", "ScaledJobUnpaused")
    assert [world.reasons().count(one) for one in ("ScaledJobPaused", "ScaledJobUnpaused", "KEDAScalersStopped")] == [
        1,
        1,
        1,
    ]


async def test_some_triggers_that_fail_leave_ready_unknown(world: JobWorld) -> None:
    world.wait(3)
    await world.create(world.trigger(), world.trigger("broken"))
    await world.seconds(2)
    assert world.condition("Ready") == (
        "Unknown",
        "PartialTriggerError",
        "Some triggers defined in ScaledJob are not working correctly",
    )
    assert world.condition("Active")[0] == "True"
    assert len(world.jobs()) == 2


async def test_triggers_that_all_fail_make_it_not_ready_until_they_answer(world: JobWorld) -> None:
    world.wait(None)
    await world.create(world.trigger())
    await world.seconds(3 * POLL)
    assert world.condition("Ready") == (
        "False",
        "TriggerError",
        "Triggers defined in ScaledJob are not working correctly",
    )
    assert world.condition("Active")[:2] == ("False", "ScalerNotActive")
    assert world.reasons().count("KEDAScalerFailed") == 1
    world.wait(2)
    await world.seconds(2 * POLL)
    assert world.condition("Ready")[0] == "True"
    assert len(world.jobs()) == 1


@pytest.mark.parametrize(
    ("change", "message", "told"),
    [
        pytest.param(
            {"type": "rdis"}, "Failed to ensure ScaledJob is correctly created", "rdis", id="a type that does not exist"
        ),
        pytest.param(
            {"metadata": {}}, "Failed to ensure ScaledJob is correctly created", "url", id="a trigger without its url"
        ),
        pytest.param(
            {"metricType": "Value"}, "Cannot set metricType in ScaledJob triggers", "metricType", id="a metric type"
        ),
        pytest.param(
            {"useCachedMetrics": True, "type": "cron"},
            "ScaledJob doesn't have correct triggers specification",
            "useCachedMetrics",
            id="cached cron",
        ),
    ],
)
async def test_a_wrong_scaled_job_is_reported_and_mended(world: JobWorld, change: Obj, message: str, told: str) -> None:
    world.wait(2)
    await world.create(world.trigger() | change)
    await world.seconds(5 * POLL)
    assert world.condition("Ready") == ("False", "ScaledJobCheckFailed", message)
    assert world.condition("Active") == ("Unknown", "UnknownState", "ScaledJob check failed")
    assert world.events().count(("Warning", "ScaledJobCheckFailed", message)) == 1
    assert any(reason == "KEDAScalerFailed" and told in note for _, reason, note in world.events())
    assert world.jobs() == []
    await world.change(triggers=[world.trigger()])
    await world.seconds(2)
    assert world.condition("Ready")[0] == "True"
    assert len(world.jobs()) == 1


async def test_jobs_that_are_refused_are_told_of(world: JobWorld) -> None:
    world.wait(2)
    refused = {"template": {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Always"}}}
    await world.create(world.trigger(), jobTargetRef=refused)
    await world.seconds(5)
    assert world.jobs() == []
    notes = [note for kind, reason, note in world.events() if (kind, reason) == ("Warning", "KEDAJobCreateFailed")]
    assert notes
    assert all(note.startswith("Failed to create job work-: ") for note in notes)


async def test_a_deleted_scaled_job_takes_its_jobs_along(world: JobWorld) -> None:
    world.wait(4)
    await world.create(world.trigger())
    await world.seconds(5)
    assert world.scaled_job()["metadata"]["finalizers"] == ["finalizer.keda.sh"]
    await world.cluster.delete(SCALED_JOBS, "work")
    await world.seconds(5)
    assert world.cluster.find(SCALED_JOBS, "work") is None
    assert world.jobs() == []
    assert ("Warning", "ScaledJobDeleted", "ScaledJob was deleted") in world.events()


async def test_a_restarted_operator_counts_the_jobs_that_are_there(world: JobWorld) -> None:
    world.wait(6)
    await world.create(world.trigger())
    await world.seconds(5)
    assert len(world.jobs()) == 3
    await world.cluster.stop()
    await world.cluster.start()
    await world.seconds(2 * POLL)
    assert len(world.jobs()) == 3
    assert world.reasons().count("ScaledJobActive") == 1


async def test_a_scaled_object_of_the_same_name_is_something_else(world: JobWorld) -> None:
    world.wait(4)
    world.wait(6, "other")
    await world.cluster.create(deployment("work"), bare_scaled_object(world.trigger("other"), name="work"))
    await world.create(world.trigger())
    await world.seconds(5)
    assert len(world.jobs()) == 2
    assert world.cluster.replicas("work", DEPLOYMENTS) >= 1
    await world.cluster.delete(SCALED_JOBS, "work")
    await world.seconds(5)
    assert world.cluster.find(SCALED_OBJECTS, "work") is not None


async def test_a_number_that_is_written_makes_a_job_at_once(world: JobWorld) -> None:
    keys = {"resourceKind": "ConfigMap", "resourceName": "depth", "key": "jobs", "targetValue": "2"}
    await world.cluster.create(config_map("depth", jobs="0"))
    await world.create({"type": "kubernetes-resource", "metadata": keys}, pollingInterval=3600)
    await world.seconds(1)
    assert world.jobs() == []
    now = world.cluster.clock.monotonic()
    await world.cluster.patch(CONFIG_MAPS, {"data": {"jobs": "2"}}, "depth")
    await eventually(world.jobs)
    assert world.cluster.clock.monotonic() == now
