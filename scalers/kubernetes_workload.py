"""Scale one workload by the pods of another: pods that match a selector in the ScaledObject's namespace."""

from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import Field

from keda_py.errors import KubeError
from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata
from scalers.shared.cluster.changes import activity_after
from scalers.shared.cluster.label_selector import check_label_selector

_OVER = frozenset({"Succeeded", "Failed"})


class KubernetesWorkloadMetadata(TriggerMetadata):
    """Keys of `kubernetes-workload`."""

    pod_selector: str
    value: Annotated[float, Field(ge=0), Target()] = 0.0
    activation_value: Annotated[float, Activation()] = 0.0
    group_by_node: bool = False


class KubernetesWorkloadScaler(Scaler[KubernetesWorkloadMetadata]):
    """Counts pods that have not ended (Pending ones count), or the nodes that they are on."""

    def __init__(self, metadata: KubernetesWorkloadMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_label_selector(metadata.pod_selector, field="podSelector")

    @property
    def metric_name(self) -> str:
        """Only the prefix tells two such triggers apart."""
        return f"workload-{self.context.namespace}"

    async def read(self) -> Reading:
        """Count now, from the cache of pods where there is one."""
        try:
            pods = await self.context.kube.pods(self.context.namespace, self.metadata.pod_selector)
        except (KubeError, ValueError) as error:
            message = f"error listing pods of {self.context.namespace} with {self.metadata.pod_selector}: {error}"
            raise ScalerError(message) from error
        alive = [pod for pod in pods if pod.get("status", {}).get("phase") not in _OVER]
        if not self.metadata.group_by_node:
            return Reading(value=float(len(alive)))
        nodes = {pod.get("spec", {}).get("nodeName", "") for pod in alive}
        return Reading(value=float(len(nodes - {""})))  # a pod that waits for a node is on none

    async def watch(self) -> AsyncIterator[bool]:
        """Yield activity whenever matching pods come or go."""
        changes = self.context.kube.changes("pods", self.context.namespace, label_selector=self.metadata.pod_selector)
        async for active in activity_after(changes, self):
            yield active

    @property
    def listens_at_zero_only(self) -> bool:
        """Follow pods at zero only: those of a workload that is up come and go all the time."""
        return True
