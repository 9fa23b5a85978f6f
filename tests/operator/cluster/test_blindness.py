"""A cluster that is out of sight: nothing is taken down on the word of an old list.

How long a watch has been down is real time; here the event loop's own time jumps.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from keda_py.kube.client import PatchKind
from keda_py.kube.resources import DEPLOYMENTS, Obj, Resource
from keda_py.localkube.cluster import ClusterOptions
from keda_py.localkube.model.calls import User
from tests.builders import deployment, metrics_api, scaled_object
from tests.http_server import http_server
from tests.operator.jumping import JumpingLoop
from tests.waiting import eventually
from tests.worlds.world import World, open_world

CLUSTER_ROLES = Resource(
    group="rbac.authorization.k8s.io", version="v1", kind="ClusterRole", plural="clusterroles", namespaced=False
)
BINDINGS = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    namespaced=False,
)
OPERATOR = User(name="operator", groups=())
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
NO_REPLICA_SETS = [
    {**EVERYTHING, "apiGroups": ["keda.sh", "autoscaling", "events.k8s.io", "apiregistration.k8s.io", ""]},
    {**EVERYTHING, "apiGroups": ["apps"], "resources": ["deployments", "deployments/scale", "statefulsets"]},
]


def on_a_jumping_loop(scenario: Callable[[World, JumpingLoop], Awaitable[None]], folder: Path) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, JumpingLoop)
        options = ClusterOptions(enforce_rbac=True)
        async with http_server() as server, open_world(folder, server, options=options, tls=True) as world:
            world.operator.user = OPERATOR
            await world.client.create(CLUSTER_ROLES, role([EVERYTHING]))
            await world.client.create(BINDINGS, binding())
            await world.operator.start()
            await scenario(world, loop)

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(run())


def role(rules: list[Any]) -> Obj:
    named = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "operator"}}
    return {**named, "rules": rules}


def binding() -> Obj:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "operator"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "operator"},
        "subjects": [{"kind": "User", "name": "operator", "apiGroup": "rbac.authorization.k8s.io"}],
    }


async def allow(world: World, rules: list[Any]) -> None:
    change = [{"op": "replace", "path": "/rules", "value": rules}]
    await world.client.patch(CLUSTER_ROLES.named("", "operator"), change, PatchKind.JSON)


def test_a_watch_that_is_down_for_a_minute_suspends_deactivation(tmp_path: Path) -> None:
    async def scenario(world: World, loop: JumpingLoop) -> None:
        assert world.operator.assembly is not None
        caches = world.operator.assembly.parts.caches
        world.jobs(1)
        await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=60))
        await world.seconds(10)
        await allow(world, NO_REPLICA_SETS)
        world.operator.cable.pull()
        world.operator.cable.plug()
        replica_sets = caches.workloads["replicasets"]
        await eventually(lambda: replica_sets.down_for() > 0)
        await eventually(lambda: sum(cache.down_for() > 0 for cache in caches.all) == 1)
        assert caches.in_contact()
        loop.ahead += 61
        await eventually(lambda: replica_sets.down_for() > 60)
        world.jobs(0)
        await world.seconds(600)
        assert world.replicas() == 1
        assert world.status()["kedaPy"]["reason"] == "ClusterUnknown"
        world.jobs(1)
        await world.seconds(5)
        assert world.condition("Active") == ("True", "ScalerActive")
        world.jobs(0)
        await allow(world, [EVERYTHING])
        loop.ahead += 30
        await eventually(caches.in_contact)
        await world.seconds(90)
        assert world.replicas() == 0

    on_a_jumping_loop(scenario, tmp_path)


async def test_an_operator_that_comes_back_to_the_network_goes_on(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300))
    await world.seconds(5)
    world.operator.cable.pull()
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 0}})
    await world.seconds(2)
    assert world.replicas() == 0
    world.operator.cable.plug()

    async def awake() -> bool:
        await world.seconds(1)
        return world.replicas() == 1

    await eventually(awake, 30)
