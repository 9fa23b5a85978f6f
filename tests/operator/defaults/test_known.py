"""Defaults in the operator: laid under every manifest within seconds, and kept while they cannot be read."""

from typing import Any

import pytest

from keda_py.kube.resources import (
    CLUSTER_KEDA_DEFAULTS,
    JOBS,
    KEDA_DEFAULTS,
    NAMESPACES,
    SCALED_JOBS,
    SCALED_OBJECTS,
    Obj,
)
from tests.builders import a_namespace, deployment, keda_defaults, metrics_api, scaled_job, scaled_object, usage
from tests.operator.environments.builders import labelled
from tests.worlds.world import World


@pytest.fixture
async def cluster(quiet_world: World) -> World:
    """One whose operator obeys both kinds."""
    quiet_world.operator.flags = {"keda-defaults": "true"}
    await quiet_world.operator.start()
    return quiet_world


def plain(world: World, name: str = "app", **spec: Any) -> Obj:
    """A ScaledObject that says nothing of its counts and times."""
    nothing = dict.fromkeys(("pollingInterval", "cooldownPeriod", "maxReplicaCount"))
    return scaled_object(metrics_api(world.url), name=name, **nothing | spec)


def bounds(world: World, name: str = "app", namespace: str = "") -> tuple[int, int]:
    """The HPA's."""
    found = world.hpa(f"keda-hpa-{name}", namespace)
    assert found is not None
    return found["spec"]["minReplicas"], found["spec"]["maxReplicas"]


async def test_a_new_default_reaches_objects_within_seconds_and_its_deletion_gives_kedas_back(cluster: World) -> None:
    await cluster.create(deployment(), plain(cluster))
    await cluster.seconds(5)
    assert bounds(cluster) == (1, 100)
    await cluster.create(keda_defaults(minReplicaCount=2, maxReplicaCount=9))
    await cluster.seconds(3)
    assert bounds(cluster) == (2, 9)
    assert cluster.replicas() == 2
    await cluster.patch(KEDA_DEFAULTS, {"spec": {"maxReplicaCount": 7}}, "team")
    await cluster.seconds(3)
    assert bounds(cluster) == (2, 7)
    await cluster.delete(KEDA_DEFAULTS, "team")
    await cluster.seconds(3)
    assert bounds(cluster) == (1, 100)
    await cluster.seconds(280)
    assert cluster.replicas() == 2, "it cools down first"
    await cluster.seconds(40)
    assert cluster.replicas() == 0


async def test_the_manifest_stays_as_it_was_written(cluster: World) -> None:
    await cluster.create(keda_defaults(pollingInterval=60, maxReplicaCount=9))
    await cluster.create(deployment(), plain(cluster))
    written = cluster.get(SCALED_OBJECTS)["spec"]
    await cluster.seconds(5)
    assert cluster.get(SCALED_OBJECTS)["spec"] == written
    assert bounds(cluster) == (1, 9)


async def test_a_default_interval_is_the_interval_of_polls(cluster: World) -> None:
    await cluster.create(keda_defaults(pollingInterval=300))
    await cluster.create(deployment(), plain(cluster))
    await cluster.seconds(10)
    cluster.jobs(10)
    await cluster.seconds(200)
    assert cluster.replicas() == 0
    await cluster.seconds(110)
    assert cluster.replicas() > 0


async def test_defaults_of_a_namespace_stay_in_it_and_cluster_bounds_hold_over_them(cluster: World) -> None:
    await cluster.create(a_namespace("shop"), a_namespace("blog"))
    for namespace in ("shop", "blog"):
        await cluster.create(deployment(), plain(cluster), namespace=namespace)
    await cluster.create(
        keda_defaults(maxReplicaCount=40, bounds={"maxReplicaCount": {"atMost": 90}}), namespace="shop"
    )
    await cluster.create(keda_defaults("all", "ClusterKedaDefaults", bounds={"maxReplicaCount": {"atMost": 20}}))
    await cluster.seconds(5)
    assert bounds(cluster, namespace="shop") == (1, 20)
    assert bounds(cluster, namespace="blog") == (1, 20)
    await cluster.delete(CLUSTER_KEDA_DEFAULTS, "all")
    await cluster.seconds(5)
    assert bounds(cluster, namespace="shop") == (1, 40)
    assert bounds(cluster, namespace="blog") == (1, 100)


async def test_a_namespace_gets_the_cluster_defaults_of_its_labels_as_they_change(cluster: World) -> None:
    await cluster.create(a_namespace("shop"))
    await cluster.create(deployment(), plain(cluster), namespace="shop")
    selector = {"namespaceSelector": {"matchLabels": {"tier": "prod"}}}
    await cluster.create(keda_defaults("prod", "ClusterKedaDefaults", maxReplicaCount=8, **selector))
    await cluster.seconds(5)
    assert bounds(cluster, namespace="shop") == (1, 100)
    await cluster.patch(NAMESPACES, {"metadata": {"labels": {"tier": "prod"}}}, "shop")
    await cluster.seconds(5)
    assert bounds(cluster, namespace="shop") == (1, 8)
    await cluster.patch(NAMESPACES, {"metadata": {"labels": {"tier": None}}}, "shop")
    await cluster.seconds(5)
    assert bounds(cluster, namespace="shop") == (1, 100)


async def test_an_object_beyond_a_bound_works_within_it_and_says_so_once(cluster: World) -> None:
    await cluster.create(keda_defaults(bounds={"maxReplicaCount": {"atMost": 3}}))
    await cluster.create(deployment(), plain(cluster, maxReplicaCount=50))
    await cluster.seconds(30)
    assert bounds(cluster) == (1, 3)
    said = "maxReplicaCount 3: the bound of KedaDefaults team in this namespace; the manifest asks for 50"
    assert cluster.full_condition("Bounded") == ("True", "BeyondBounds", said)
    assert [one for one in cluster.events() if one[1] == "ScaledObjectBounded"] == [
        ("Warning", "ScaledObjectBounded", said)
    ]
    assert cluster.condition("Ready") == ("True", "ScaledObjectReady")
    await cluster.patch(SCALED_OBJECTS, {"spec": {"maxReplicaCount": 2}})
    await cluster.seconds(5)
    assert cluster.condition("Bounded") == ("False", "WithinBounds")


async def test_scaled_jobs_keep_within_the_bound_and_say_so(cluster: World) -> None:
    await cluster.create(keda_defaults(bounds={"maxReplicaCount": {"atMost": 2}}))
    cluster.jobs(50)
    slow = usage(run_seconds="100")
    await cluster.create(scaled_job(metrics_api(cluster.url, target=1), annotations=slow, maxReplicaCount=10))
    await cluster.seconds(10)
    assert len(cluster.all(JOBS)) == 2
    (said,) = [one for one in cluster.get(SCALED_JOBS, "work")["status"]["conditions"] if one["type"] == "Bounded"]
    assert (
        said["message"]
        == "maxReplicaCount 2: the bound of KedaDefaults team in this namespace; the manifest asks for 10"
    )
    await cluster.patch(KEDA_DEFAULTS, {"spec": {"bounds": {"maxReplicaCount": {"atMost": 5}}}}, "team")
    await cluster.seconds(5)
    assert len(cluster.all(JOBS)) == 5


async def test_the_installation_has_defaults_without_any_object(quiet_world: World) -> None:
    quiet_world.operator.flags = {
        "default-values": '{"maxReplicaCount": 6, "bounds": {"minReplicaCount": {"atMost": 1}}}'
    }
    await quiet_world.operator.start()
    await quiet_world.create(deployment(), plain(quiet_world, minReplicaCount=4))
    await quiet_world.seconds(5)
    assert bounds(quiet_world) == (1, 6)
    assert "the bound of the defaults of this installation" in quiet_world.message("Bounded")


async def test_an_object_that_becomes_invalid_stays_in_force_as_it_was_and_says_so(cluster: World) -> None:
    await cluster.create(keda_defaults(minReplicaCount=2, maxReplicaCount=9))
    await cluster.create(deployment(), plain(cluster))
    await cluster.seconds(5)
    await cluster.patch(KEDA_DEFAULTS, {"spec": {"minReplicaCount": 20}}, "team")
    await cluster.seconds(400)
    assert bounds(cluster) == (2, 9)
    assert cluster.replicas() == 2
    (valid,) = cluster.get(KEDA_DEFAULTS, "team")["status"]["conditions"]
    assert valid["status"] == "False"
    assert valid["message"].startswith("spec.minReplicaCount: 20 is more than maxReplicaCount 9; lower it")
    await cluster.patch(KEDA_DEFAULTS, {"spec": {"minReplicaCount": 3}}, "team")
    await cluster.seconds(5)
    assert bounds(cluster) == (3, 9)


async def test_a_replica_that_has_never_seen_it_valid_scales_nothing_there_until_it_is(cluster: World) -> None:
    await cluster.create(keda_defaults(minReplicaCount=2))
    await cluster.create(deployment(), plain(cluster))
    await cluster.seconds(5)
    await cluster.operator.stop()
    await cluster.patch(KEDA_DEFAULTS, {"spec": {"maxReplicaCount": 1}}, "team")
    await cluster.operator.start()
    await cluster.seconds(600)
    assert cluster.replicas() == 2
    assert "KedaDefaults team cannot be used, so the defaults here are not known" in cluster.message("Ready")
    await cluster.patch(KEDA_DEFAULTS, {"spec": {"maxReplicaCount": 4}}, "team")
    await cluster.seconds(5)
    assert bounds(cluster) == (2, 4)
    assert cluster.condition("Ready") == ("True", "ScaledObjectReady")


async def test_of_two_cluster_defaults_the_younger_says_which_come_first(cluster: World) -> None:
    for name in ("first", "second"):
        await cluster.create(keda_defaults(name, "ClusterKedaDefaults", pollingInterval=10))
        await cluster.seconds(2)
    conditions = {one["type"]: one for one in cluster.get(CLUSTER_KEDA_DEFAULTS, "second")["status"]["conditions"]}
    assert "first come first: one with a selector before one without" in conditions["Overlap"]["message"]
    (valid,) = cluster.get(CLUSTER_KEDA_DEFAULTS, "first")["status"]["conditions"]
    assert valid["status"] == "True"


async def test_a_change_writes_only_what_it_changes_and_a_restart_writes_nothing(cluster: World) -> None:
    await cluster.create(keda_defaults(pollingInterval=20))
    await cluster.create(deployment(), plain(cluster), deployment("own"), plain(cluster, "own", maxReplicaCount=3))
    await cluster.seconds(30)
    written = cluster.writes_of(SCALED_OBJECTS, "own")
    defaults = cluster.writes_of(KEDA_DEFAULTS, "team")
    await cluster.patch(KEDA_DEFAULTS, {"spec": {"maxReplicaCount": 30}}, "team")
    await cluster.seconds(60)
    assert written == []
    await cluster.operator.stop()
    await cluster.operator.start()
    await cluster.seconds(60)
    assert [one["metadata"]["generation"] for one in defaults] == [2], "only the user's own change"


async def test_namespaces_that_are_deleted_leave_no_warning(cluster: World, caplog: pytest.LogCaptureFixture) -> None:
    """Previews come and go, and are not unknown because of that."""
    labels = {"matchLabels": {"tier": "preview"}}
    await cluster.create(keda_defaults("previews", "ClusterKedaDefaults", namespaceSelector=labels, maxReplicaCount=5))
    for name in ("pr-1", "pr-2"):
        await cluster.create(labelled(a_namespace(name), tier="preview"))
        await cluster.create(deployment(namespace=name), namespace=name)
        await cluster.create(plain(cluster), namespace=name)
    await cluster.seconds(5)
    assert bounds(cluster, namespace="pr-1") == (1, 5)
    for name in ("pr-1", "pr-2"):
        await cluster.delete(NAMESPACES, name)
    await cluster.seconds(30)
    assert [one.message for one in caplog.records if one.name.startswith("keda_py.operator.defaults")] == []
