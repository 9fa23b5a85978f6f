"""Annotated objects: it is Friday noon at first, and the night is from 12:30 to 12:50 UTC."""

from keda_py.kube.resources import NAMESPACES, Obj
from tests.worlds.world import World

PREFIX = "downscaler/"
ORIGINAL = "downscaler/original-replicas"
NIGHT = {"downtime": "Fri-Fri 12:30-12:50 UTC"}
ALL = "deployments,statefulsets,cronjobs,daemonsets,scaledobjects"


def marked(body: Obj, **annotations: str) -> Obj:
    """With annotations of the program: `downtime_replicas` is `downscaler/downtime-replicas`."""
    meta = body["metadata"]
    found = {PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}
    return {**body, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **found}}}


async def obeying(world: World, included: str = ALL) -> None:
    """The operator at work with the annotations switched on."""
    world.operator.flags |= {"downscaler-annotations": "true", "downscaler-include-resources": included}
    await world.operator.start()


async def mark_namespace(world: World, **annotations: str) -> None:
    """The namespace of the tests."""
    patch = marked({"metadata": {}}, **annotations)
    await world.client.patch(NAMESPACES.named("", "default"), patch)
