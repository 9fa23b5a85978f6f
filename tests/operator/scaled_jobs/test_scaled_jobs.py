"""ScaledJobs in a world: their Jobs, status and Events."""

from typing import Any

import pytest

from keda_py.kube.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS, SCALED_JOBS, SCALED_OBJECTS, Obj
from tests.builders import bare_scaled_object, config_map, deployment, metadata, scaled_job, usage
from tests.waiting import eventually
from tests.worlds.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

POLL = 10
RUNS = 100


class Work:
    """ScaledJob `work` in a world: its queue and its Jobs."""

    def __init__(self, world: World) -> None:
        self.world = world

    def wait(self, count: int | None, queue: str = "q") -> None:
        """Set how much is waiting from now on; None: the queue cannot be asked."""
        self.world.server.answers.pop(f"/{queue}", None)
        if count is not None:
            self.world.server.answers[f"/{queue}"] = f'{{"n": {count}}}'

    def trigger(self, queue: str = "q", **more: Any) -> Obj:
        """One Job for two pieces of work."""
        url = f"{self.world.server.url}/{queue}"
        return {"type": "metrics-api", "metadata": {"url": url, "valueLocation": "n", "targetValue": "2"}, **more}

    async def seconds(self, seconds: float) -> None:
        await self.world.seconds(seconds)

    async def create(
        self, *triggers: Obj, labels: Obj | None = None, annotations: Obj | None = None, **spec: Any
    ) -> None:
        manifest = scaled_job(*triggers, annotations=usage(run_seconds=str(RUNS)), **{"pollingInterval": POLL, **spec})
        manifest["metadata"] = metadata("work", self.world.namespace, labels=labels, annotations=annotations)
        await self.world.client.create(SCALED_JOBS, manifest)

    async def change(self, **spec: Any) -> None:
        await self.world.patch(SCALED_JOBS, {"spec": spec}, "work")

    async def pause(self, value: str) -> None:
        change = {"metadata": {"annotations": {"autoscaling.keda.sh/paused": value}}}
        await self.world.patch(SCALED_JOBS, change, "work")

    def scaled_job(self) -> Obj:
        return self.world.get(SCALED_JOBS, "work")

    def jobs(self) -> list[Obj]:
        jobs = self.world.all(JOBS, self.world.namespace)
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
        return self.world.events("work", "ScaledJob")

    def requests(self) -> list[str]:
        """Return the requests that the API server has counted, watches aside."""
        page = bytes(self.world.cluster.routes.metrics.answer().body).decode()
        lines = [line for line in page.splitlines() if line.startswith("apiserver_request_total{")]
        return [line for line in lines if 'verb="WATCH"' not in line and "leases" not in line]

    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.events()]


@pytest.fixture
def work(room: World) -> Work:
    return Work(room)


async def test_a_job_runs_for_each_share_of_the_queue_and_no_more(work: Work) -> None:
    work.wait(5)
    await work.create(work.trigger(), maxReplicaCount=10)
    await work.seconds(1)
    assert len(work.jobs()) == 3
    await work.seconds(5 * POLL)
    assert len(work.jobs()) == 3
    assert work.condition("Ready") == (
        "True",
        "ScaledJobReady",
        "ScaledJob is defined correctly and is ready for scaling",
    )
    assert work.condition("Active") == (
        "True",
        "ScalerActive",
        "Scaling is performed because triggers are active",
    )
    assert [work.condition("Fallback")[0], work.condition("Paused")[0]] == ["Unknown", "False"]


async def test_a_scaled_job_that_works_is_told_of_in_keda_s_words(work: Work) -> None:
    work.wait(3)
    await work.create(work.trigger(), maxReplicaCount=10)
    await work.seconds(1)
    work.wait(0)
    await work.seconds(2 * POLL)
    assert set(work.events()) == {
        ("Normal", "KEDAScalersStarted", "Scaler metrics-api is built"),
        ("Normal", "KEDAScalersStarted", "Started scalers watch"),
        ("Normal", "ScaledJobReady", "ScaledJob is ready for scaling"),
        ("Normal", "ScaledJobActive", "Scaling is performed because triggers are active"),
        ("Normal", "KEDAJobsCreated", "Created 2 jobs"),
        ("Normal", "ScaledJobInactive", "Scaling is not performed because triggers are not active"),
    }
    status = work.scaled_job()["status"]
    assert (status["triggersTypes"], status["authenticationsTypes"]) == ("metrics-api", "")
    assert status["triggersActivity"] == {"s0-metric-api-n": {"isActive": False}}
    assert status["lastActiveTime"]


async def test_finished_jobs_make_room_for_new_ones(work: Work) -> None:
    work.wait(100)
    await work.create(work.trigger(), maxReplicaCount=4)
    await work.seconds(RUNS / 2)
    assert len(work.jobs()) == 4
    await work.seconds(RUNS)
    assert (len(work.finished()), len(work.jobs())) == (4, 8)


async def test_a_quiet_scaled_job_costs_no_request_to_the_api_server(alone: World) -> None:
    work = Work(alone)
    work.wait(3)
    await work.create(work.trigger(), maxReplicaCount=10)
    await work.seconds(5)
    before = work.requests()
    await work.seconds(8 * POLL)
    assert work.requests() == before != []


async def test_the_minimum_runs_without_any_work(work: Work) -> None:
    work.wait(0)
    await work.create(work.trigger(), minReplicaCount=2, maxReplicaCount=10)
    await work.seconds(3 * POLL)
    assert len(work.jobs()) == 2
    assert work.condition("Active")[0] == "True"


async def test_history_limits_keep_the_latest_finished_jobs(work: Work) -> None:
    work.wait(4)
    await work.create(work.trigger(), maxReplicaCount=10, successfulJobsHistoryLimit=1)
    await work.seconds(5)
    work.wait(0)
    await work.seconds(RUNS + 2 * POLL)
    assert len(work.jobs()) == len(work.finished()) == 1


async def test_a_changed_scaled_job_replaces_its_jobs(work: Work) -> None:
    work.wait(4)
    await work.create(work.trigger(), maxReplicaCount=10)
    await work.seconds(5)
    before = work.names()
    await work.change(maxReplicaCount=9)
    await work.seconds(5)
    after = work.jobs()
    assert len(after) == 2
    assert before.isdisjoint(work.names())
    assert {job["metadata"]["annotations"]["scaledjob.keda.sh/generation"] for job in after} == {"2"}
    note = "2 jobs owned by the previous version of the scaledJob"
    assert ("Normal", "ScaledJobRolloutCleanupStarted", f"Deleting {note}") in work.events()
    assert ("Normal", "ScaledJobRolloutCleanupCompleted", f"Deleted {note}") in work.events()


async def test_a_gradual_rollout_leaves_running_jobs_alone(work: Work) -> None:
    work.wait(4)
    await work.create(work.trigger(), rollout={"strategy": "gradual"})
    await work.seconds(5)
    before = work.names()
    await work.change(maxReplicaCount=9)
    await work.seconds(2 * POLL)
    assert work.names() == before


async def test_excluded_labels_stay_away_from_jobs(work: Work) -> None:
    work.wait(1)
    labels = {"team": "backend", "foo.bar/environment": "bf50", "foo.bar/version": "1"}
    excluded = {"scaledjob.keda.sh/job-excluded-labels": "foo.bar/environment,foo.bar/version"}
    await work.create(work.trigger(), labels=labels, annotations=excluded)
    await work.seconds(5)
    (job,) = work.jobs()
    assert job["metadata"]["labels"]["team"] == "backend"
    assert not {"foo.bar/environment", "foo.bar/version"} & set(job["metadata"]["labels"])


async def test_a_paused_scaled_job_creates_nothing_and_goes_on_after(work: Work) -> None:
    work.wait(0)
    await work.create(work.trigger())
    await work.seconds(5)
    await work.pause("true")
    await work.seconds(1)
    work.wait(2)
    await work.seconds(5 * POLL)
    assert work.jobs() == []
    assert work.condition("Paused") == ("True", "ScaledJobPaused", "ScaledJob is paused")
    assert work.condition("Ready") == ("True", "ScaledJobReady", "ScaledJob is paused, skipping reconcile loop")
    await work.pause("false")
    await work.seconds(2)
    assert len(work.jobs()) == 1
    assert work.condition("Paused")[:2] == ("False", "ScaledJobUnpaused")
    assert [work.reasons().count(one) for one in ("ScaledJobPaused", "ScaledJobUnpaused", "KEDAScalersStopped")] == [
        1,
        1,
        1,
    ]


async def test_some_triggers_that_fail_leave_ready_unknown(work: Work) -> None:
    work.wait(3)
    await work.create(work.trigger(), work.trigger("broken"))
    await work.seconds(2)
    assert work.condition("Ready") == (
        "Unknown",
        "PartialTriggerError",
        "Some triggers defined in ScaledJob are not working correctly",
    )
    assert work.condition("Active")[0] == "True"
    assert len(work.jobs()) == 2


async def test_triggers_that_all_fail_make_it_not_ready_until_they_answer(work: Work) -> None:
    work.wait(None)
    await work.create(work.trigger())
    await work.seconds(3 * POLL)
    assert work.condition("Ready") == (
        "False",
        "TriggerError",
        "Triggers defined in ScaledJob are not working correctly",
    )
    assert work.condition("Active")[:2] == ("False", "ScalerNotActive")
    assert work.reasons().count("KEDAScalerFailed") == 1
    work.wait(2)
    await work.seconds(2 * POLL)
    assert work.condition("Ready")[0] == "True"
    assert len(work.jobs()) == 1


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
async def test_a_wrong_scaled_job_is_reported_and_mended(work: Work, change: Obj, message: str, told: str) -> None:
    work.wait(2)
    await work.create(work.trigger() | change)
    await work.seconds(5 * POLL)
    assert work.condition("Ready") == ("False", "ScaledJobCheckFailed", message)
    assert work.condition("Active") == ("Unknown", "UnknownState", "ScaledJob check failed")
    assert work.events().count(("Warning", "ScaledJobCheckFailed", message)) == 1
    assert any(reason == "KEDAScalerFailed" and told in note for _, reason, note in work.events())
    assert work.jobs() == []
    await work.change(triggers=[work.trigger()])
    await work.seconds(2)
    assert work.condition("Ready")[0] == "True"
    assert len(work.jobs()) == 1


async def test_jobs_that_are_refused_are_told_of_once(work: Work, caplog: pytest.LogCaptureFixture) -> None:
    work.wait(2)
    refused = {"template": {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Always"}}}
    await work.create(work.trigger(), jobTargetRef=refused)
    await work.seconds(5 * POLL)
    assert work.jobs() == []
    notes = {note for kind, reason, note in work.events() if (kind, reason) == ("Warning", "KEDAJobCreateFailed")}
    (note,) = notes  # without the name that the API server makes up at each try
    assert note.startswith('Failed to create job work-: Job.batch "work-" is invalid: ')
    assert [one.message for one in caplog.records].count("jobs were not created") == 1


async def test_a_deleted_scaled_job_takes_its_jobs_along(work: Work) -> None:
    work.wait(4)
    await work.create(work.trigger())
    await work.seconds(5)
    assert work.scaled_job()["metadata"]["finalizers"] == ["finalizer.keda.sh"]
    await work.world.delete(SCALED_JOBS, "work")
    await work.seconds(5)
    assert work.world.find(SCALED_JOBS, "work") is None
    assert work.jobs() == []
    assert ("Warning", "ScaledJobDeleted", "ScaledJob was deleted") in work.events()


async def test_a_restarted_operator_counts_the_jobs_that_are_there(alone: World) -> None:
    work = Work(alone)
    work.wait(6)
    await work.create(work.trigger())
    await work.seconds(5)
    assert len(work.jobs()) == 3
    await work.world.operator.stop()
    await work.world.operator.start()
    await work.seconds(2 * POLL)
    assert len(work.jobs()) == 3
    assert work.reasons().count("ScaledJobActive") == 1


async def test_a_scaled_object_of_the_same_name_is_something_else(work: Work) -> None:
    work.wait(4)
    work.wait(6, "other")
    await work.world.create(deployment("work"), bare_scaled_object(work.trigger("other"), name="work"))
    await work.create(work.trigger())
    await work.seconds(5)
    assert len(work.jobs()) == 2
    assert work.world.replicas("work", DEPLOYMENTS) >= 1
    await work.world.delete(SCALED_JOBS, "work")
    await work.seconds(5)
    assert work.world.find(SCALED_OBJECTS, "work") is not None


async def test_a_number_that_is_written_makes_a_job_at_once(work: Work) -> None:
    keys = {"resourceKind": "ConfigMap", "resourceName": "depth", "key": "jobs", "targetValue": "2"}
    await work.world.create(config_map("depth", jobs="0"))
    await work.create({"type": "kubernetes-resource", "metadata": keys}, pollingInterval=3600)
    await work.seconds(1)
    assert work.jobs() == []
    now = work.world.clock.monotonic()
    await work.world.patch(CONFIG_MAPS, {"data": {"jobs": "2"}}, "depth")
    await eventually(work.jobs)
    assert work.world.clock.monotonic() == now
