"""Obstacles to the deletion of a namespace, read from the cluster; what cannot be read is one, too."""

from keda_py.apis.foreign import map_at, name_of, text_at, texts_at
from keda_py.core.environment.decision.deletion import ALLOW_LABEL
from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import NAMESPACES, PERSISTENT_VOLUME_CLAIMS, PODS, Obj

_ENDED, _BOUND = ("Succeeded", "Failed"), ("Bound", "Lost")
_VOLUMES_FIELD = "spec.deleteBoundVolumes"


class Obstacles:
    """Reads a namespace and what is in it."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def namespace(self, name: str) -> tuple[Obj, str]:
        """Return the namespace, and why it may not be deleted as such."""
        try:
            live = await self._client.get(NAMESPACES.named("", name))
        except KubeError as error:
            return {}, f"the namespace cannot be read: {error}"
        if map_at(live, "metadata").get("deletionTimestamp"):
            return live, "the namespace is being deleted already"
        if texts_at(live, "metadata", "labels").get(ALLOW_LABEL) != "true":
            return live, f'the namespace has no label {ALLOW_LABEL}: "true"'
        return live, ""

    async def volumes(self, namespace: str) -> str:
        """Name a PersistentVolumeClaim that is bound."""
        try:
            claims = await self._client.list(PERSISTENT_VOLUME_CLAIMS, namespace)
        except KubeError as error:
            return f"PersistentVolumeClaims cannot be listed: {error}"
        # A claim that was bound once has data, also where its volume is lost for the moment.
        bound = [
            one for one in claims if text_at(one, "spec", "volumeName") or text_at(one, "status", "phase") in _BOUND
        ]
        if not bound:
            return ""
        more = f" and {len(bound) - 1} more" if len(bound) > 1 else ""
        return f"PersistentVolumeClaim {name_of(bound[0])}{more} is bound; {_VOLUMES_FIELD}: true deletes its data, too"

    async def pods(self, namespace: str) -> str:
        """Name a pod that has not ended."""
        try:
            pods = await self._client.list(PODS, namespace)
        except KubeError as error:
            return f"pods cannot be listed: {error}"
        found = next((name_of(pod) for pod in pods if text_at(pod, "status", "phase") not in _ENDED), "")
        return f"pod {found} has not ended" if found else ""
