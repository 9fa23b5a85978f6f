"""Kubeconfigs with a bearer token, which is what an operator in a pod has.

An operator opens some twenty connections when it starts; with a client certificate, as `LocalCluster.kubeconfig` has
it, each handshake takes more than twice the CPU.
"""

from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.model.calls import User


def token_kubeconfig(cluster: LocalCluster, user: User = ADMIN, url: str = "") -> str:
    """For `user` on that cluster, reached at `url` instead of its own where given."""
    return cluster.token_kubeconfig(user, url)
