"""From KEDA to keda-py: what KEDA 2.20 left in a cluster is carried on as it is, and can be given back.

The recordings are the state that KEDA left, Redis cases aside. Nothing is paused or prepared: KEDA has let go of its
Lease, keda-py starts.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from keda_py.kube.resources import LEASES, SCALED_OBJECTS, Obj
from tests.builders import a_namespace
from tests.parity.comparison import VERSION_LABEL
from tests.parity.recordings import NAMES, TARGETS, Picture, furnish, load, namespace_of
from tests.parity.world import a_world
from tests.worlds.world import World

SECONDS = 120.0
LEASE = ("operator.keda.sh", "keda")


@cache
def cases() -> Mapping[str, Picture]:
    """By name: those that KEDA made an HPA for."""
    every = {name: load(name) for name in NAMES}
    return {name: case for name, case in every.items() if case["hpa"] and "redis" not in str(case["input"])}


async def leave_as_keda(world: World, name: str) -> None:
    """The objects of one case as KEDA wrote them."""
    case, namespace = cases()[name], namespace_of(name)
    await furnish(world, name)
    for target in TARGETS:
        await world.patch(target, {"spec": {"replicas": case["targetReplicas"][target.kind]}}, "t", namespace)
    await world.create(*case.get("extra", ()), namespace=namespace)
    recorded = case["scaledObject"]
    await world.create(
        {**case["input"], "metadata": case["input"]["metadata"] | recorded["metadata"]}, namespace=namespace
    )
    created = scaled_object_of(world, name)
    path = SCALED_OBJECTS.named(namespace, created["metadata"]["name"], "status")
    await world.client.patch(path, {"status": recorded["status"]})
    for hpa in case["hpa"]:
        await world.create(_stored(hpa, created["metadata"]["uid"]), namespace=namespace)


def _stored(hpa: Obj, owner: str) -> Obj:
    owners = [{**one, "uid": owner} for one in hpa["metadata"]["ownerReferences"]]
    metadata = {**hpa["metadata"], "ownerReferences": owners}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", **hpa, "metadata": metadata}


def scaled_object_of(world: World, name: str) -> Obj:
    return world.get(SCALED_OBJECTS, cases()[name]["input"]["metadata"]["name"], namespace_of(name))


def hpas_of(world: World, name: str) -> dict[str, Obj]:
    found = (world.hpa(hpa["metadata"]["name"], namespace_of(name)) for hpa in cases()[name]["hpa"])
    return {hpa["metadata"]["name"]: hpa for hpa in found if hpa is not None}


def replicas_of(world: World, name: str) -> dict[str, int]:
    return {target.kind: world.get(target, "t", namespace_of(name))["spec"]["replicas"] for target in TARGETS}


def kept(live: Obj) -> Picture:
    labels = {key: value for key, value in live["metadata"]["labels"].items() if key != VERSION_LABEL}
    return {"uid": live["metadata"]["uid"], "spec": live["spec"], "labels": labels}


async def test_scalers_go_on_under_the_same_hpa_with_the_same_count(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.create(a_namespace("keda"))
        await world.create(released_lease(), namespace="keda")
        for name in cases():
            await leave_as_keda(world, name)
        before = {name: {hpa: kept(live) for hpa, live in hpas_of(world, name).items()} for name in cases()}
        specs = {name: scaled_object_of(world, name)["spec"] for name in cases()}
        counts = {name: replicas_of(world, name) for name in cases()}
        async with world.operator.running(leader_elect="true"):
            await world.seconds(SECONDS)
            assert world.get(LEASES, *LEASE)["spec"]["holderIdentity"], "keda-py leads"
            assert all(scaled_object_of(world, name)["status"].get("kedaPy") for name in cases()), "has looked at each"
            after = {name: {hpa: kept(live) for hpa, live in hpas_of(world, name).items()} for name in cases()}
            assert after == before
            assert {name: scaled_object_of(world, name)["spec"] for name in cases()} == specs
            assert {name: replicas_of(world, name) for name in cases()} == counts
        assert not world.get(LEASES, *LEASE)["spec"].get("holderIdentity"), "the way back is open"


def released_lease() -> Obj:
    spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 3}
    metadata = {"name": LEASE[0], "namespace": LEASE[1]}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
