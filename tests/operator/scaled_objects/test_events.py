"""Kubernetes Events of a life: KEDA's reasons, types and actions, and none that is missing."""

from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import DEPLOYMENTS, EVENTS, NAMESPACES, SCALED_JOBS, SCALED_OBJECTS, Obj, Resource
from keda_py.localkube.cluster import ClusterOptions
from keda_py.localkube.model.calls import User
from tests import builders
from tests.builders import a_namespace, deployment, metrics_api, scaled_object
from tests.http_server import HttpServer
from tests.worlds.world import NAMESPACE, World, open_world

RBAC = {"group": "rbac.authorization.k8s.io", "version": "v1", "namespaced": False}
CLUSTER_ROLES = Resource(kind="ClusterRole", plural="clusterroles", **RBAC)
BINDINGS = Resource(kind="ClusterRoleBinding", plural="clusterrolebindings", **RBAC)
NO_STATUS = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch", "create", "update", "delete"]},
    {
        "apiGroups": ["keda.sh", "events.k8s.io"],
        "resources": ["scaledobjects", "scaledjobs", "events"],
        "verbs": ["patch"],
    },
]


def asking_job(url: str, **spec: Any) -> Obj:
    return builders.scaled_job(metrics_api(url), name="app", namespace=NAMESPACE, **spec)


def events(world: World, kind: str, namespace: str = NAMESPACE) -> list[tuple[str, str, str]]:
    """Type, reason and action of each; those of one moment in no order."""
    found = [one for one in world.all(EVENTS, namespace) if one["involvedObject"]["kind"] == kind]
    assert {one["reportingComponent"] for one in found} <= {"keda-operator"}
    return [(one["type"], one["reason"], one["action"]) for one in sorted(found, key=lambda one: one["eventTime"])]


async def test_begin_and_end_of_watching_are_told_with_kedas_actions(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.client.create(SCALED_JOBS, asking_job(world.url))
    await world.seconds(1)
    await world.delete(SCALED_OBJECTS)
    await world.delete(SCALED_JOBS)
    await world.seconds(1)
    for kind in ("ScaledObject", "ScaledJob"):
        told = events(world, kind)
        assert ("Normal", "KEDAScalersStarted", "ScalersWatchStarted") in told
        assert set(told[-2:]) == {
            ("Normal", "KEDAScalersStopped", "KEDAScalersStopped"),
            ("Warning", f"{kind}Deleted", f"{kind} was deleted"),
        }


async def test_a_status_that_may_not_be_written_is_told_once(tmp_path: Path, server: HttpServer) -> None:
    async with open_world(tmp_path, server, options=ClusterOptions(enforce_rbac=True)) as world:
        await allow(world, NO_STATUS)
        await world.operator.start()
        await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=10))
        await world.client.create(SCALED_JOBS, asking_job(world.url, pollingInterval=10))
        await world.seconds(300)
        for kind in ("ScaledObject", "ScaledJob"):
            failed = [one for one in events(world, kind) if one[1] == f"{kind}UpdateFailed"]
            assert [(one[0], f"{kind.lower()}s/status" in one[2]) for one in failed] == [("Warning", True)]


async def test_no_event_is_written_into_a_namespace_that_goes_away(world: World) -> None:
    await world.client.create(NAMESPACES, a_namespace("team"))
    bodies = (deployment(), scaled_object(metrics_api(world.url)))
    for resource, body in zip((DEPLOYMENTS, SCALED_OBJECTS), bodies, strict=True):
        body["metadata"]["namespace"] = "team"
        await world.client.create(resource, body)
    await world.seconds(1)
    refused = world.operator.assembly.parts.shared.events.dropped if world.operator.assembly else -1
    await world.client.delete(NAMESPACES.named("", "team"))
    await world.seconds(2)
    assert world.all(EVENTS, "team") == []
    assert world.operator.assembly is not None
    assert world.operator.assembly.parts.shared.events.dropped == refused == 0


async def allow(world: World, rules: list[Any]) -> None:
    """Exactly this, to the operator."""
    world.operator.user = User(name="operator", groups=())
    api_version, name = "rbac.authorization.k8s.io/v1", {"name": "operator"}
    role = {"apiVersion": api_version, "kind": "ClusterRole", "metadata": name, "rules": rules}
    binding = {
        "apiVersion": api_version,
        "kind": "ClusterRoleBinding",
        "metadata": name,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "operator"},
        "subjects": [{"kind": "User", "name": "operator", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    await world.client.create(CLUSTER_ROLES, role)
    await world.client.create(BINDINGS, binding)


async def test_keys_that_no_scaler_reads_are_told_where_that_is_asked_for(quiet_world: World) -> None:
    world = quiet_world
    world.operator.env = {"KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS": "enabled"}
    await world.operator.start()
    trigger = metrics_api(world.url, name="queue")
    trigger["metadata"]["targetvalue"] = "5"
    await world.create(deployment(), scaled_object(trigger))
    await world.seconds(1)
    told = [note for reason, note in world.notes() if reason == "KEDAScalerInfo"]
    assert told == ["Unmatched input property targetvalue in scaler metrics-api (queue)"]
    assert ("Warning", "KEDAScalerInfo", "KEDAScalerInfo") in events(world, "ScaledObject")


async def test_a_deprecated_trigger_type_is_told_when_its_scaler_is_built(quiet_world: World) -> None:
    world = quiet_world
    await world.operator.start()
    liiklus = {"type": "liiklus", "metadata": {"address": "127.0.0.1:1", "topic": "clicks", "group": "billing"}}
    await world.create(deployment(), scaled_object(liiklus))
    await world.seconds(1)
    [told] = [note for reason, note in world.notes() if reason == "KEDAScalerInfo"]
    assert told.startswith("scaler liiklus info: address: Liiklus is no longer maintained")
    assert ("Normal", "KEDAScalerInfo", "KEDAScalerInfo") in events(world, "ScaledObject")


LEFT = (
    "ScaledObject was deleted; Deployment app stays at 0 replicas and nothing wakes it: scale it by hand, or set "
    "spec.advanced.restoreToOriginalReplicaCount: true beforehand"
)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("jobs", "replicas", "advanced", "note"),
    [
        (0, 0, {}, LEFT),
        (0, 2, {"restoreToOriginalReplicaCount": True}, "ScaledObject was deleted"),
        (1, 0, {}, "ScaledObject was deleted"),
    ],
    ids=["asleep", "asleep, and woken", "awake"],
)
async def test_a_deletion_tells_what_it_leaves_asleep(
    room: World, jobs: int, replicas: int, advanced: dict[str, bool], note: str
) -> None:
    world = room
    world.jobs(jobs)
    trigger = metrics_api(world.url)
    await world.create(deployment(replicas=replicas), scaled_object(trigger, advanced=advanced, cooldownPeriod=1))
    await world.seconds(40)
    await world.delete(SCALED_OBJECTS)
    await world.seconds(5)
    assert ("Warning", "ScaledObjectDeleted", note) in world.events()
