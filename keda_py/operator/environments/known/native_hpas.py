"""HPAs of their owners over members: the mark of a zero that the HPA's controller has set.

From Kubernetes 1.37 on an HPA may go to zero by itself. Its condition ScaledToZero marks that zero, and work ends it,
also at night. While a member is to be asleep, the mark is off: the controller then takes the zero for another client's,
and leaves it. The spec of the HPA stays as Git has it. The same condition remembers that there was a mark, so that it
is given back as it was, time of its transition included, by any process.

In: the cache of HPAs that the operator has. `members.py` asks for marks, `actions.py` changes them.
"""

from typing import Any, Final

from keda_py.apis.foreign import name_of, namespace_of, text_at
from keda_py.core.environment.decision.members import MarkChange
from keda_py.core.hpa.conditions import HpaCondition, ZeroMark, held_asleep, scaled_to_zero
from keda_py.core.hpa.wire import read_zero_mark
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, Obj
from keda_py.operator.cluster.caches import BY_TARGET, target_key, unpack_hpa
from keda_py.operator.environments.known.changes import DueEnvironments
from keda_py.operator.environments.known.further_kinds import TARGET

# Of one workload that are looked at. The controller stops all of a workload that has two.
MOST_HPAS: Final = 5


class NativeHpas:
    """Finds HPAs by the workload that they scale."""

    def __init__(self, hpas: Informer) -> None:
        self._hpas = hpas

    def mark_of(self, workload: Obj) -> ZeroMark:
        """The mark that one of its HPAs has."""
        marks = {read_zero_mark(hpa) for hpa in self._of(workload)}
        return next((mark for mark in (ZeroMark.SET, ZeroMark.HELD) if mark in marks), ZeroMark.NONE)

    async def change_mark(self, client: KubeClient, change: MarkChange, workload: Obj, environment: str) -> None:
        """Hold it, or give it back, on each HPA that has it; over the version that was seen. Raises KubeError."""
        hold = change is MarkChange.HOLD
        wanted = held_asleep(environment) if hold else scaled_to_zero(by_controller=True)
        for hpa in self._of(workload):
            if read_zero_mark(hpa) is (ZeroMark.SET if hold else ZeroMark.HELD):
                await write_mark(client, hpa, wanted)

    def _of(self, workload: Obj) -> list[Obj]:
        target = workload.get(TARGET)
        api_version = DEPLOYMENTS.api_version if target is None else f"{target.group}/{target.version}"
        key = target_key(namespace_of(workload), api_version, workload["kind"], name_of(workload))
        return list(self._hpas.by_index(BY_TARGET, key)[:MOST_HPAS])


async def write_mark(client: KubeClient, hpa: Obj, condition: HpaCondition) -> None:
    """Put the condition into the status of that very version of the HPA; the time of its transition stays."""
    meta = hpa["metadata"]
    row = {
        "type": str(condition.type),
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }
    body: dict[str, Any] = {
        "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
        "status": {"conditions": [row]},
    }
    path = HORIZONTAL_POD_AUTOSCALERS.named(namespace_of(hpa), name_of(hpa), "status")
    await client.patch(path, body, PatchKind.STRATEGIC)


def change_of_mark(old: Obj | None, new: Obj | None) -> DueEnvironments | None:
    """Which member it is about, if the mark has changed; a cluster has an HPA for each ScaledObject, too."""
    before, after = (ZeroMark.NONE if hpa is None else read_zero_mark(hpa) for hpa in (old, new))
    live = new or old
    if before is after or live is None:
        return None
    hpa = unpack_hpa(live)
    kind = text_at(hpa, "spec", "scaleTargetRef", "kind") or DEPLOYMENTS.kind
    return DueEnvironments(namespace_of(hpa), f"{kind}/{text_at(hpa, 'spec', 'scaleTargetRef', 'name')}")
