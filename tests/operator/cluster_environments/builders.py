"""ClusterEnvironments and their namespaces for tests, in an operator that acts on them."""

from typing import Any

from keda_py.kube.resources import CLUSTER_ENVIRONMENTS, ENVIRONMENTS, NAMESPACES, Obj
from tests.builders import a_namespace, environment, obj
from tests.operator.environments.builders import LUNCH, labelled, starting
from tests.worlds.world import World

TEMPLATE: dict[str, Any] = {"calendar": LUNCH, "grace": "0s"}
TEAM = {"matchLabels": {"sleeps": "yes"}}


def policy(name: str = "office", **spec: Any) -> Obj:
    wanted = {"namespaceSelector": TEAM, "template": TEMPLATE, **spec}
    return obj("keda-py.dev/v1alpha1", "ClusterEnvironment", name, spec=wanted)


def named(name: str, **labels: str) -> Obj:
    return labelled(a_namespace(name), sleeps="yes", **labels)


async def switch_on(world: World) -> None:
    """Start the operator anew, with ClusterEnvironments."""
    await world.operator.stop()
    world.operator.flags = {"cluster-environments": "true"}
    await world.operator.start()


async def populate(world: World, *names: str, **labels: str) -> None:
    """Create namespaces with a Deployment of three replicas each."""
    for name in names:
        await world.create(named(name, **labels))
        await world.create(starting("web", 3, 1), namespace=name)


def status(world: World, name: str = "office") -> Obj:
    found: Obj = world.get(CLUSTER_ENVIRONMENTS, name).get("status") or {}
    return found


def counts(world: World, name: str = "office") -> dict[str, int]:
    """The numbers of namespaces that are not 0."""
    found: dict[str, int] = status(world, name).get("namespaces") or {}
    return found


def conditions(world: World, name: str = "office") -> dict[str, str]:
    """Message of each condition, or its status without one."""
    return {one["type"]: one.get("message") or one["status"] for one in status(world, name).get("conditions") or ()}


def of_namespace(world: World, namespace: str, name: str = "office") -> Obj | None:
    return world.find(ENVIRONMENTS, name, namespace)


async def relabel(world: World, namespace: str, **labels: str | None) -> None:
    await world.patch(NAMESPACES, {"metadata": {"labels": labels}}, namespace)


def own_environment(namespace: str, name: str = "mine", **spec: Any) -> Obj:
    return environment(name, namespace, calendar=LUNCH, **spec)
