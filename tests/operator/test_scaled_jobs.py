"""ScaledJobs on the embedded cluster, on a clock that jumps: which Jobs there are, what status and Events say."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from keda_py.apis.crds import build_crds
from keda_py.clock import SteppedClock
from keda_py.localkube.cluster import LocalCluster
from keda_py.operator.app import run_operator
from keda_py.settings import load_settings
from tests.http_server import HttpServer, http_server

Obj = dict[str, Any]
START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
POLL = 10
RUNS = 100


class World:
    """The cluster, its clock, the queue's length, and short words for what is in the cluster."""

    def __init__(self, cluster: LocalCluster, clock: SteppedClock, server: HttpServer, kubeconfig: Path) -> None:
        self.cluster, self.clock, self._server, self._kubeconfig = cluster, clock, server, kubeconfig
        self.waiting: dict[str, int | None] = {}
        self.asked = 0

    def trigger(self, queue: str = "q", **more: Any) -> Obj:
        """A trigger on a queue of `waiting`; None there makes it fail. One Job for two pieces of work."""

        async def answer(_: web.Request) -> web.Response:
            with self.clock.busy():
                waiting = self.waiting.get(queue)
                return web.json_response({"n": waiting}, status=200 if waiting is not None else 503)

        self._server.answers[f"/{queue}"] = answer
        metadata = {"url": f"{self._server.url}/{queue}", "valueLocation": "n", "targetValue": "2"}
        return {"type": "metrics-api", "metadata": metadata, **more}

    async def seconds(self, seconds: float) -> None:
        await self.clock.run_until(self.clock.now() + timedelta(seconds=seconds))

    async def apply(self, *triggers: Obj, name: str = "work", labels: Obj | None = None, **spec: Any) -> None:
        template = {
            "metadata": {"annotations": {"local.keda-py.dev/run-seconds": str(RUNS)}},
            "spec": {"containers": [{"name": "main", "image": "worker"}]},
        }
        body = {"jobTargetRef": {"template": template}, "pollingInterval": POLL, "triggers": list(triggers), **spec}
        meta = {"name": name, "namespace": "default", "labels": labels or {}}
        await self.cluster.apply(
            [{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": meta, "spec": body}]
        )

    def edit(self, change: Callable[[Obj], Obj]) -> None:
        self.cluster.store.update(self._resource("keda.sh/v1alpha1", "ScaledJob"), change(self.scaled_job()))

    def annotate(self, **annotations: str) -> None:
        written = {f"autoscaling.keda.sh/{name}": value for name, value in annotations.items()}
        self.edit(lambda live: {**live, "metadata": {**live["metadata"], "annotations": written}})

    def delete(self, api_version: str, kind: str, name: str) -> None:
        self.cluster.store.delete(self._resource(api_version, kind), "default", name, propagation="Background")

    def find(self, api_version: str, kind: str, name: str) -> Obj | None:
        return self.cluster.store.find(self._resource(api_version, kind), "default", name)

    def scaled_job(self) -> Obj:
        return self.cluster.store.get(self._resource("keda.sh/v1alpha1", "ScaledJob"), "default", "work")

    def jobs(self, name: str = "work") -> list[Obj]:
        jobs = self.cluster.store.list(self._resource("batch/v1", "Job"), "default")
        return [job for job in jobs if job["metadata"]["labels"].get("scaledjob.keda.sh/name") == name]

    def finished(self) -> list[Obj]:
        return [job for job in self.jobs() if (job.get("status") or {}).get("conditions")]

    def condition(self, kind: str) -> tuple[str, str, str]:
        rows = (self.scaled_job().get("status") or {}).get("conditions") or []
        row = next((row for row in rows if row["type"] == kind), {})
        return row.get("status", ""), row.get("reason", ""), row.get("message", "")

    def events(self) -> list[tuple[str, str, str]]:
        events = self.cluster.store.list(self._resource("v1", "Event"), "default")
        return [(e["type"], e["reason"], e["message"]) for e in events if e["involvedObject"]["kind"] == "ScaledJob"]

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[None]:
        """An operator, until the block ends."""
        stopping, started = asyncio.Event(), asyncio.Event()
        flags = {
            "kubeconfig": str(self._kubeconfig),
            "bind-address": "127.0.0.1",
            "secure-port": "0",
            "webhook-port": "0",
            "metrics-bind-address": "0",
            "health-probe-bind-address": "0",
        }
        settings = load_settings({flag: [value] for flag, value in flags.items()}, {"KEDA_SHUTDOWN_DELAY": "0"})
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(run_operator(settings, self.clock, stopping, lambda _: started.set()))
            waiting = tasks.create_task(started.wait())
            await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
            yield
            stopping.set()

    def _resource(self, api_version: str, kind: str) -> Any:
        return self.cluster.store.resources.get(api_version, kind)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[World]:
    """A cluster without an operator."""
    clock = SteppedClock(START)
    async with LocalCluster(clock) as cluster, http_server() as server:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(cluster.kubeconfig())
        await cluster.apply(build_crds())
        yield World(cluster, clock, server, kubeconfig)


@pytest.fixture
async def world(cluster: World) -> AsyncIterator[World]:
    """A cluster with an operator."""
    async with cluster.operator():
        yield cluster


async def test_a_job_runs_for_each_share_of_the_queue_and_no_more(world: World) -> None:
    world.waiting["q"] = 5
    await world.apply(world.trigger(), maxReplicaCount=10)
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


async def test_a_scaled_job_that_works_is_told_of_in_keda_s_words(world: World) -> None:
    world.waiting["q"] = 3
    await world.apply(world.trigger(), maxReplicaCount=10)
    await world.seconds(1)
    world.waiting["q"] = 0
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


async def test_finished_jobs_make_room_for_new_ones(world: World) -> None:
    world.waiting["q"] = 100
    await world.apply(world.trigger(), maxReplicaCount=4)
    await world.seconds(RUNS / 2)
    assert len(world.jobs()) == 4
    await world.seconds(RUNS)
    assert (len(world.finished()), len(world.jobs())) == (4, 8)


async def test_a_quiet_scaled_job_costs_no_request_to_the_api_server(world: World) -> None:
    world.waiting["q"] = 3
    await world.apply(world.trigger(), maxReplicaCount=10)
    await world.seconds(5)
    version, jobs = world.scaled_job()["metadata"]["resourceVersion"], world.jobs()
    await world.seconds(8 * POLL)
    assert world.scaled_job()["metadata"]["resourceVersion"] == version
    assert world.jobs() == jobs


async def test_the_minimum_runs_without_any_work(world: World) -> None:
    world.waiting["q"] = 0
    await world.apply(world.trigger(), minReplicaCount=2, maxReplicaCount=10)
    await world.seconds(3 * POLL)
    assert len(world.jobs()) == 2
    assert world.condition("Active")[0] == "True"


async def test_history_limits_keep_the_latest_finished_jobs(world: World) -> None:
    world.waiting["q"] = 4
    await world.apply(world.trigger(), maxReplicaCount=10, successfulJobsHistoryLimit=1)
    await world.seconds(5)
    world.waiting["q"] = 0
    await world.seconds(RUNS + 2 * POLL)
    assert len(world.jobs()) == len(world.finished()) == 1


async def test_a_changed_scaled_job_replaces_its_jobs(world: World) -> None:
    world.waiting["q"] = 4
    await world.apply(world.trigger(), maxReplicaCount=10)
    await world.seconds(5)
    before = {job["metadata"]["name"] for job in world.jobs()}
    await world.apply(world.trigger(), maxReplicaCount=9)
    await world.seconds(5)
    after = world.jobs()
    assert len(after) == 2
    assert before.isdisjoint(job["metadata"]["name"] for job in after)
    assert {job["metadata"]["annotations"]["scaledjob.keda.sh/generation"] for job in after} == {"2"}
    note = "2 jobs owned by the previous version of the scaledJob"
    assert ("Normal", "ScaledJobRolloutCleanupStarted", f"Deleting {note}") in world.events()
    assert ("Normal", "ScaledJobRolloutCleanupCompleted", f"Deleted {note}") in world.events()


async def test_a_gradual_rollout_leaves_running_jobs_alone(world: World) -> None:
    world.waiting["q"] = 4
    await world.apply(world.trigger(), rollout={"strategy": "gradual"})
    await world.seconds(5)
    before = {job["metadata"]["name"] for job in world.jobs()}
    await world.apply(world.trigger(), rollout={"strategy": "gradual"}, maxReplicaCount=9)
    await world.seconds(2 * POLL)
    assert {job["metadata"]["name"] for job in world.jobs()} == before


async def test_excluded_labels_stay_away_from_jobs(world: World) -> None:
    world.waiting["q"] = 1
    await world.apply(world.trigger(), labels={"team": "backend", "foo.bar/version": "1"})
    world.edit(
        lambda live: {
            **live,
            "metadata": {
                **live["metadata"],
                "annotations": {"scaledjob.keda.sh/job-excluded-labels": "foo.bar/environment,foo.bar/version"},
            },
        }
    )
    await world.seconds(5)
    (job,) = world.jobs()
    assert job["metadata"]["labels"]["team"] == "backend"
    assert "foo.bar/version" not in job["metadata"]["labels"]


async def test_a_paused_scaled_job_creates_nothing_and_goes_on_after(world: World) -> None:
    world.waiting["q"] = 0
    await world.apply(world.trigger())
    await world.seconds(5)
    world.annotate(paused="true")
    await world.seconds(1)
    world.waiting["q"] = 2
    await world.seconds(5 * POLL)
    assert world.jobs() == []
    assert world.condition("Paused") == ("True", "ScaledJobPaused", "ScaledJob is paused")
    assert world.condition("Ready") == ("True", "ScaledJobReady", "ScaledJob is paused, skipping reconcile loop")
    world.annotate(paused="false")
    await world.seconds(2)
    assert len(world.jobs()) == 1
    assert world.condition("Paused")[:2] == ("False", "ScaledJobUnpaused")
    reasons = [reason for _, reason, _ in world.events()]
    assert [reasons.count(one) for one in ("ScaledJobPaused", "ScaledJobUnpaused", "KEDAScalersStopped")] == [1, 1, 1]


async def test_some_triggers_that_fail_leave_ready_unknown(world: World) -> None:
    world.waiting |= {"q": 3, "broken": None}
    await world.apply(world.trigger(), world.trigger("broken"))
    await world.seconds(2)
    assert world.condition("Ready") == (
        "Unknown",
        "PartialTriggerError",
        "Some triggers defined in ScaledJob are not working correctly",
    )
    assert world.condition("Active")[0] == "True"
    assert len(world.jobs()) == 2


async def test_triggers_that_all_fail_make_it_not_ready_until_they_answer(world: World) -> None:
    world.waiting["q"] = None
    await world.apply(world.trigger())
    await world.seconds(3 * POLL)
    assert world.condition("Ready") == (
        "False",
        "TriggerError",
        "Triggers defined in ScaledJob are not working correctly",
    )
    assert world.condition("Active")[:2] == ("False", "ScalerNotActive")
    assert [reason for _, reason, _ in world.events()].count("KEDAScalerFailed") == 1
    world.waiting["q"] = 2
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
async def test_a_wrong_scaled_job_is_reported_and_mended(world: World, change: Obj, message: str, told: str) -> None:
    world.waiting["q"] = 2
    await world.apply(world.trigger() | change)
    await world.seconds(5 * POLL)
    assert world.condition("Ready") == ("False", "ScaledJobCheckFailed", message)
    assert world.condition("Active") == ("Unknown", "UnknownState", "ScaledJob check failed")
    assert world.events().count(("Warning", "ScaledJobCheckFailed", message)) == 1
    assert any(reason == "KEDAScalerFailed" and told in note for _, reason, note in world.events())
    assert world.jobs() == []
    await world.apply(world.trigger())
    await world.seconds(2)
    assert world.condition("Ready")[0] == "True"
    assert len(world.jobs()) == 1


async def test_jobs_that_are_refused_are_told_of(world: World) -> None:
    world.waiting["q"] = 2
    refused = {"template": {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Always"}}}
    await world.apply(world.trigger(), jobTargetRef=refused)
    await world.seconds(5)
    assert world.jobs() == []
    notes = [note for kind, reason, note in world.events() if (kind, reason) == ("Warning", "KEDAJobCreateFailed")]
    assert notes
    assert all(note.startswith("Failed to create job work-: ") for note in notes)


async def test_a_deleted_scaled_job_takes_its_jobs_along(world: World) -> None:
    world.waiting["q"] = 4
    await world.apply(world.trigger())
    await world.seconds(5)
    assert world.scaled_job()["metadata"]["finalizers"] == ["finalizer.keda.sh"]
    world.delete("keda.sh/v1alpha1", "ScaledJob", "work")
    await world.seconds(5)
    assert world.find("keda.sh/v1alpha1", "ScaledJob", "work") is None
    assert world.jobs() == []
    assert ("Warning", "ScaledJobDeleted", "ScaledJob was deleted") in world.events()


async def test_a_restarted_operator_counts_the_jobs_that_are_there(cluster: World) -> None:
    cluster.waiting["q"] = 6
    async with cluster.operator():
        await cluster.apply(cluster.trigger())
        await cluster.seconds(5)
        assert len(cluster.jobs()) == 3
    async with cluster.operator():
        await cluster.seconds(2 * POLL)
        assert len(cluster.jobs()) == 3
    assert [reason for _, reason, _ in cluster.events()].count("ScaledJobActive") == 1


async def test_a_scaled_object_of_the_same_name_is_something_else(world: World) -> None:
    world.waiting |= {"q": 4, "other": 6}
    labels = {"app": "work"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    deployment = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}
    spec = {"scaleTargetRef": {"name": "work"}, "triggers": [world.trigger("other")]}
    meta = {"name": "work", "namespace": "default"}
    await world.cluster.apply(
        [
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": deployment},
            {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": meta, "spec": spec},
        ]
    )
    await world.apply(world.trigger())
    await world.seconds(5)
    assert len(world.jobs()) == 2
    found = world.find("apps/v1", "Deployment", "work")
    assert found is not None
    assert found["spec"]["replicas"] >= 1
    world.delete("keda.sh/v1alpha1", "ScaledJob", "work")
    await world.seconds(5)
    assert world.find("keda.sh/v1alpha1", "ScaledObject", "work") is not None
