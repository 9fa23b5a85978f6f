from tests.builders import job, usage
from tests.localkube.controllers.bare_cluster import BareCluster, Obj


def batch(completions: int = 1, parallelism: int = 1, **annotations: str) -> Obj:
    """Build a Job that may fail once; annotations go to its pods."""
    counts = {"completions": completions, "parallelism": parallelism, "backoffLimit": 1}
    return job("batch", "default", annotations=usage(**annotations), **counts)


def status(cluster: BareCluster) -> Obj:
    found: Obj = cluster.get("batch/v1", "Job", "batch")["status"]
    return found


async def test_a_job_completes_when_its_pod_has_run(cluster: BareCluster) -> None:
    cluster.create(batch(run_seconds="30"))
    await cluster.seconds(20)
    assert (status(cluster)["active"], "conditions" in status(cluster)) == (1, False)
    await cluster.seconds(15)
    assert status(cluster)["succeeded"] == 1
    assert [row["type"] for row in status(cluster)["conditions"]] == ["Complete"]
    assert [pod["status"]["phase"] for pod in cluster.pods()] == ["Succeeded"]


async def test_parallelism_bounds_the_pods_at_once(cluster: BareCluster) -> None:
    cluster.create(batch(completions=5, parallelism=2, run_seconds="10"))
    await cluster.seconds(5)
    assert status(cluster)["active"] == 2
    await cluster.seconds(60)
    assert status(cluster)["succeeded"] == 5
    assert len(cluster.pods()) == 5


async def test_a_job_whose_pods_keep_failing_fails(cluster: BareCluster) -> None:
    cluster.create(batch(run_seconds="1", exit_code="1"))
    await cluster.seconds(30)
    assert status(cluster)["failed"] == 2
    assert [row["reason"] for row in status(cluster)["conditions"]] == ["BackoffLimitExceeded"]
