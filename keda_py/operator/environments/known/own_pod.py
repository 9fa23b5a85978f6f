"""The operator's own pod, and which workload it is of: no Environment puts that to sleep, for nothing would wake it.

Told by names alone, so that it costs no request and no right: a Deployment's pod is called NAME-HASH-XXXXX, a
StatefulSet's NAME-0, and the API server cuts what stands before the last five characters to 58.
"""

import socket
from dataclasses import dataclass

from keda_py.kube.resources import DEPLOYMENTS, STATEFUL_SETS
from keda_py.settings.settings import ClusterSettings
from keda_py.settings.surroundings import service_account_namespace

_RANDOM, _LONGEST_BASE = 5, 58


@dataclass(frozen=True, slots=True)
class OwnPod:
    """`name` "" where it is not known."""

    namespace: str = ""
    name: str = ""

    def is_of(self, kind: str, namespace: str, name: str) -> bool:
        """Whether that workload made it."""
        if not self.name or namespace != self.namespace:
            return False
        if kind == STATEFUL_SETS.kind:
            before, _, number = self.name.rpartition("-")
            return before == name and number.isdigit()
        if kind != DEPLOYMENTS.kind:
            return False
        base = self.name[:-_RANDOM]
        if len(base) == _LONGEST_BASE and not base.endswith("-"):
            return f"{name}-".startswith(base) or _is_hash(base.removeprefix(f"{name}-"))
        return base.startswith(f"{name}-") and _is_hash(base[len(name) + 1 : -1])


def _is_hash(text: str) -> bool:
    """Of a pod template."""
    return text.isalnum()


def own_pod(settings: ClusterSettings) -> OwnPod:
    """As its installation says, else as the container calls itself."""
    return OwnPod(service_account_namespace() or settings.pod_namespace, settings.pod_name or socket.gethostname())
