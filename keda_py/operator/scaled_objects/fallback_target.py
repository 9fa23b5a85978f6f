"""What a fallback may want to know of a scale target: its replicas, and how many of its pods are Running and Ready."""

from collections.abc import Mapping
from typing import Any

from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.scale import read_scale
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import Targets


async def count_ready_pods(
    client: KubeClient, reader: ClusterReader, spec: ScalingSpec, target: ScaleTarget | None
) -> int | None:
    """Pods of the /scale selector that are Running and Ready; None where that cannot be known."""
    if target is None:
        return None
    try:
        scale = await read_scale(client, target, spec.namespace, spec.target.name)
        pods = await reader.pods(spec.namespace, scale.selector)
    except KubeError:
        return None
    return sum(map(_is_ready, pods))


class FallbackTarget:
    """`TargetReader` of the metrics package; None is "do not know", which makes the fallback fail with its trigger.

    A replica that does not lead remembers nothing of an object (`states` has none), and looks its target up.
    """

    def __init__(
        self, client: KubeClient, targets: Targets, reader: ClusterReader, states: Mapping[ObjectKey, ObjectState]
    ) -> None:
        self._client, self._targets, self._reader, self._states = client, targets, reader, states

    async def replicas(self, spec: ScalingSpec) -> int | None:
        """`spec.replicas` of the target."""
        state = self._states.get(spec.key)
        try:
            if state is None or state.target is None:
                return (await self._targets.resolve(spec))[1].replicas
            return (await self._targets.count(state, spec, state.target)).replicas
        except KubeError:
            return None

    async def ready_pods(self, spec: ScalingSpec) -> int | None:
        """Pods that are Running and Ready."""
        state = self._states.get(spec.key)
        try:
            target = state.target if state and state.target else (await self._targets.resolve(spec))[0]
        except KubeError:
            return None
        return await count_ready_pods(self._client, self._reader, spec, target)


def _is_ready(pod: Mapping[str, Any]) -> bool:
    status = pod.get("status") or {}
    conditions = status.get("conditions") or ()
    ready = any(entry.get("type") == "Ready" and entry.get("status") == "True" for entry in conditions)
    return status.get("phase") == "Running" and ready
