"""Scale subresource: the only way to read and write the replicas of a scale target.

The write is a PUT with the resourceVersion that was observed. If another client wrote in between, the API server
answers Conflict and the caller observes again. A replica count is never written blindly.
"""

from dataclasses import dataclass

import re2

from keda_py.errors import CountMissing, Unavailable
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.resources import Obj

_NO_COUNT = re2.compile(r'the spec replicas field "([^"]+)" does not exist')

__all__ = ["Scale", "ScaleTarget", "read_scale", "write_scale"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Scale of a target: `replicas` is desired, `status_replicas` observed; `selector` finds the pods, in text form."""

    replicas: int
    status_replicas: int
    selector: str
    resource_version: str


async def read_scale(client: KubeClient, target: ScaleTarget, namespace: str, name: str) -> Scale:
    """Read the /scale of a target.

    Raises NotFound if the object is missing or its kind has no scale subresource, CountMissing if it has no count.
    """
    try:
        return _parse(await client.get(target.rest.named(namespace, name, "scale")))
    except Unavailable as error:
        # Only its text tells this answer from failures that pass by themselves. An HPA cannot scale the object either.
        if (found := _NO_COUNT.search(str(error))) is None:
            raise
        path = found[1].removeprefix(".")
        text = (
            f'{target.resource}.{target.group} "{name}" has no {path}, and without it neither HPA nor operator can '
            f"scale it: set {path}, or give it a default in the CustomResourceDefinition"
        )
        raise CountMissing(text, status=error.status, reason=error.reason) from error


async def write_scale(
    client: KubeClient, target: ScaleTarget, namespace: str, name: str, replicas: int, resource_version: str
) -> Scale:
    """PUT `replicas` over `resource_version` and return the new Scale. Raises Conflict if the version is outdated."""
    # An empty resourceVersion makes a PUT unconditional.
    if not resource_version:
        raise ValueError("resource_version: a blind write of replicas could undo another client's")
    body: Obj = {
        "apiVersion": target.scale_api_version,
        "kind": "Scale",
        "metadata": {"namespace": namespace, "name": name, "resourceVersion": resource_version},
        "spec": {"replicas": replicas},
    }
    return _parse(await client.update(target.rest.named(namespace, name, "scale"), body))


def _parse(answer: Obj) -> Scale:
    """Read a Scale. Raises Unavailable for any other answer."""
    try:
        status = answer.get("status") or {}
        # The wire omits `replicas: 0` in the spec of a Scale. This is the only place where an absent count means 0.
        return Scale(
            replicas=int(answer["spec"].get("replicas", 0)),
            status_replicas=int(status.get("replicas", 0)),
            selector=_selector_text(status.get("selector") or status.get("targetSelector") or ""),
            resource_version=answer["metadata"]["resourceVersion"],
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unavailable(f"the answer of /scale is not a Scale: {error!r}") from error


def _selector_text(selector: str | dict[str, str]) -> str:
    """Return the selector as text; extensions/v1beta1 (OpenShift's DeploymentConfig) has a map."""
    return selector if isinstance(selector, str) else ",".join(f"{key}={value}" for key, value in selector.items())
