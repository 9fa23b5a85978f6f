"""The recorded cases of tests/golden/scaledobjects, and the same picture taken of our own cluster."""

from base64 import b64encode
from functools import cache
from typing import Any

import yaml

from keda_py.errors import KubeError
from keda_py.kube.resources import (
    CLUSTER_TRIGGER_AUTHENTICATIONS,
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    REPLICA_SETS,
    SCALED_OBJECTS,
    STATEFUL_SETS,
    TRIGGER_AUTHENTICATIONS,
    Obj,
)
from tests.builders import a_namespace
from tests.parity.world import two_containers
from tests.places import GOLDEN
from tests.servers import free_port
from tests.worlds.world import World

CASES = GOLDEN / "scaledobjects"
NAMES = tuple(sorted(path.stem for path in CASES.glob("*.yaml")))
TARGETS = (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)
RECORDED_REDIS, *RECORDED_ABSENT = (f"127.0.0.1:{port}" for port in (16379, 19090, 19100))
"""Addresses of a Redis without keys, and of two sources that do not listen."""
KEPT_METADATA = ("name", "labels", "annotations", "finalizers", "ownerReferences")

Picture = dict[str, Any]


@cache
def addresses() -> dict[str, str]:
    """The recorded addresses -> those that they have here, in this process."""
    return {recorded: f"127.0.0.1:{free_port()}" for recorded in (RECORDED_REDIS, *RECORDED_ABSENT)}


def load(name: str) -> Picture:
    """One recorded case, its sources at addresses that are free here."""
    text = (CASES / f"{name}.yaml").read_text()
    for recorded, ours in addresses().items():
        text = text.replace(recorded, ours).replace(_in_a_secret(recorded), _in_a_secret(ours))
    picture: Picture = yaml.load(text, Loader=yaml.CSafeLoader)
    return picture


def _in_a_secret(address: str) -> str:
    return b64encode(address.encode()).decode()


def namespace_of(name: str) -> str:
    return f"g-{name}"[:63]


async def furnish(world: World, name: str) -> None:
    """The namespace of a case and the three workloads in it."""
    namespace = namespace_of(name)
    await world.create(a_namespace(namespace))
    redis = addresses()[RECORDED_REDIS]
    env = {"app": {"REDIS_ADDR": redis}, "sidecar": {"REDIS_ADDR2": redis}}
    await world.create(*(two_containers(target.kind, env=env) for target in TARGETS), namespace=namespace)


async def play(world: World, case: Picture, name: str) -> str | None:
    """Create what the case creates; the first refusal, or None."""
    refusals = [await _attempt(world, body, name) for body in (*case.get("extra", ()), case["input"])]
    return next((refusal for refusal in refusals if refusal is not None), None)


def picture(world: World, case: Picture, name: str, rejected: str | None) -> Picture:
    """What came of it, in the form of the recordings."""
    namespace, so = namespace_of(name), case["input"]["metadata"]["name"]
    live = world.find(SCALED_OBJECTS, so, namespace)
    return {
        "authentications": _authentications(world, case, namespace),
        "rejected": rejected,
        "hpa": [_trimmed(hpa, "spec") for hpa in world.all(HORIZONTAL_POD_AUTOSCALERS, namespace)],
        "scaledObject": _trimmed(live, "status") if live else None,
        "targetReplicas": {target.kind: world.get(target, "t", namespace)["spec"]["replicas"] for target in TARGETS},
        "events": [list(event) for event in world.events(so, namespace=namespace)],
    }


async def _attempt(world: World, body: Obj, name: str) -> str | None:
    try:
        await world.create(body, namespace=namespace_of(name))
    except KubeError as error:
        return str(error)
    return None


def _authentications(world: World, case: Picture, namespace: str) -> list[Obj]:
    found = [
        world.find(resource, body["metadata"]["name"], namespace)
        for body in case.get("extra", ())
        for resource in (TRIGGER_AUTHENTICATIONS, CLUSTER_TRIGGER_AUTHENTICATIONS)
        if body["kind"] == resource.kind
    ]
    return [
        {"kind": live["kind"], "name": live["metadata"]["name"], "status": live.get("status")} for live in found if live
    ]


def _trimmed(live: Obj, part: str) -> Obj:
    metadata = {key: value for key, value in live["metadata"].items() if key in KEPT_METADATA and value}
    for owner in metadata.get("ownerReferences", ()):
        owner.pop("uid", None)
    return {"metadata": metadata, part: live.get(part) or {}}
