"""The workload of the operator's own pod: no Environment puts it to sleep, since nothing would wake it.

It is found by names alone, without a request or a right: a Deployment's pod is named NAME-HASH-XXXXX, a StatefulSet's
NAME-0, and the API server cuts the part before the last five characters to 58.
"""

import socket
from dataclasses import dataclass

from keda_py.kube.resources import DEPLOYMENTS, STATEFUL_SETS
from keda_py.settings.settings import ClusterSettings
from keda_py.settings.surroundings import service_account_namespace

_RANDOM, _LONGEST_BASE = 5, 58


@dataclass(frozen=True, slots=True)
class OwnPod:
    """Namespace and name of the pod; `name` is "" if it is not known."""

    namespace: str = ""
    name: str = ""

    def is_of(self, kind: str, namespace: str, name: str) -> bool:
        """Whether the pod belongs to that workload."""
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
    """Whether the text can be the hash of a pod template."""
    return text.isalnum()


def own_pod(settings: ClusterSettings) -> OwnPod:
    """The pod as the settings name it, or else by the host name of the container."""
    return OwnPod(service_account_namespace() or settings.pod_namespace, settings.pod_name or socket.gethostname())
