from tests.localkube.controllers.bare_cluster import BareCluster, Obj, behaving


def ready(pod: Obj) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"]["conditions"])


def with_image(deployment: Obj, image: str) -> Obj:
    template = deployment["spec"]["template"]
    containers = [{**template["spec"]["containers"][0], "image": image}]
    template = {**template, "spec": {**template["spec"], "containers": containers}}
    return {**deployment, "spec": {**deployment["spec"], "template": template}}


async def test_a_deployment_becomes_pods_that_are_ready_after_their_start_up_time(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=3, startup_seconds="5"))
    await cluster.seconds(4)
    assert [pod["status"]["phase"] for pod in cluster.pods()] == ["Running"] * 3
    assert not any(ready(pod) for pod in cluster.pods())
    await cluster.seconds(2)
    assert all(ready(pod) for pod in cluster.pods())
    deployment = cluster.get("apps/v1", "Deployment", "web")
    assert deployment["status"]["readyReplicas"] == deployment["status"]["availableReplicas"] == 3
    assert deployment["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
    assert deployment["metadata"]["generation"] == deployment["status"]["observedGeneration"] == 1


async def test_the_status_is_the_one_a_real_cluster_shows(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=2))
    await cluster.seconds(2)
    status = cluster.get("apps/v1", "Deployment", "web")["status"]
    (replicaset,) = cluster.all("apps/v1", "ReplicaSet")
    times = {"lastUpdateTime": "2026-03-02T08:00:01Z", "lastTransitionTime": "2026-03-02T08:00:01Z"}
    started = {"lastUpdateTime": "2026-03-02T08:00:01Z", "lastTransitionTime": "2026-03-02T08:00:00Z"}
    progressed = f'ReplicaSet "{replicaset["metadata"]["name"]}" has successfully progressed.'
    assert status == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
        "conditions": [
            {
                "type": "Available",
                "status": "True",
                "reason": "MinimumReplicasAvailable",
                "message": "Deployment has minimum availability.",
                **times,
            },
            {
                "type": "Progressing",
                "status": "True",
                "reason": "NewReplicaSetAvailable",
                "message": progressed,
                **started,
            },
        ],
    }


async def test_scaling_to_zero_and_back_removes_and_makes_pods(cluster: BareCluster) -> None:
    deployment = cluster.create(behaving(replicas=2))
    await cluster.seconds(2)
    cluster.scale(deployment, 0)
    await cluster.seconds(0)
    assert cluster.pods() == []
    assert "replicas" not in cluster.get("apps/v1", "Deployment", "web")["status"]
    cluster.scale(deployment, 1)
    await cluster.seconds(2)
    assert [ready(pod) for pod in cluster.pods()] == [True]
    assert len(cluster.all("apps/v1", "ReplicaSet")) == 1


async def test_scaling_down_keeps_the_pods_that_are_ready(cluster: BareCluster) -> None:
    deployment = cluster.create(behaving(replicas=2, startup_seconds="10"))
    await cluster.seconds(11)
    kept = {pod["metadata"]["name"] for pod in cluster.pods()}
    cluster.scale(deployment, 4)
    await cluster.seconds(1)
    cluster.scale(deployment, 2)
    await cluster.seconds(1)
    assert {pod["metadata"]["name"] for pod in cluster.pods()} == kept


async def test_a_deleted_pod_is_replaced(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=1))
    await cluster.seconds(2)
    (pod,) = cluster.pods()
    cluster.delete(pod)
    await cluster.seconds(2)
    (other,) = cluster.pods()
    assert other["metadata"]["name"] != pod["metadata"]["name"]


async def test_a_new_template_is_rolled_out_without_losing_availability(cluster: BareCluster) -> None:
    deployment = cluster.create(behaving(replicas=4, startup_seconds="2"))
    await cluster.seconds(3)
    cluster.edit(deployment, lambda d: with_image(d, "example/app:2"))
    least = 4
    for _ in range(40):
        await cluster.seconds(0.5)
        least = min(least, sum(1 for pod in cluster.pods() if ready(pod)))
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.pods()} == {"example/app:2"}
    assert len(cluster.pods()) == 4
    assert least >= 3
    assert cluster.get("apps/v1", "Deployment", "web")["metadata"]["annotations"] == {
        "deployment.kubernetes.io/revision": "2"
    }


async def test_recreate_takes_the_old_pods_away_first(cluster: BareCluster) -> None:
    body = behaving(replicas=2)
    deployment = cluster.create({**body, "spec": {**body["spec"], "strategy": {"type": "Recreate"}}})
    await cluster.seconds(2)
    cluster.edit(deployment, lambda d: with_image(d, "example/app:2"))
    await cluster.seconds(2)
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.pods()} == {"example/app:2"}


async def test_going_back_to_an_old_template_uses_its_replicaset_again(cluster: BareCluster) -> None:
    deployment = cluster.create(behaving(replicas=1))
    await cluster.seconds(2)
    cluster.edit(deployment, lambda d: with_image(d, "example/app:2"))
    await cluster.seconds(4)
    cluster.edit(deployment, lambda d: with_image(d, "example/app"))
    await cluster.seconds(4)
    sizes = sorted(r["spec"]["replicas"] for r in cluster.all("apps/v1", "ReplicaSet"))
    assert sizes == [0, 1]
    revision = cluster.get("apps/v1", "Deployment", "web")["metadata"]["annotations"][
        "deployment.kubernetes.io/revision"
    ]
    assert revision == "3"


async def test_min_ready_seconds_delay_availability(cluster: BareCluster) -> None:
    body = behaving(replicas=1)
    cluster.create({**body, "spec": {**body["spec"], "minReadySeconds": 30}})
    await cluster.seconds(20)
    status = cluster.get("apps/v1", "Deployment", "web")["status"]
    assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (1, 0)
    await cluster.seconds(15)
    assert cluster.get("apps/v1", "Deployment", "web")["status"]["availableReplicas"] == 1


async def test_each_step_is_reported_as_an_event(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=1))
    await cluster.seconds(1)
    (replicaset,) = cluster.all("apps/v1", "ReplicaSet")
    (pod,) = cluster.pods()
    assert sorted(cluster.events()) == [
        ("ScalingReplicaSet", f"Scaled up replica set {replicaset['metadata']['name']} from 0 to 1"),
        ("SuccessfulCreate", f"Created pod: {pod['metadata']['name']}"),
    ]


async def test_events_are_gone_after_an_hour(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=1))
    await cluster.seconds(3500)
    assert cluster.events()
    await cluster.seconds(200)
    assert cluster.events() == []


async def test_an_invalid_start_up_time_is_reported_on_the_pod(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=1, startup_seconds="soon"))
    await cluster.seconds(5)
    assert [pod["status"]["phase"] for pod in cluster.pods()] == ["Pending"]
    (message,) = [message for reason, message in cluster.events() if reason == "Failed"]
    assert "startup-seconds" in message
    assert "'soon'" in message
