"""Kubeconfigs with a bearer token, which is what an operator in a pod has.

An operator opens some twenty connections when it starts; with a client certificate, as `LocalCluster.kubeconfig` has
it, each handshake takes more than twice the CPU.
"""

import base64
import json

from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.model.calls import User


def token_kubeconfig(cluster: LocalCluster, user: User = ADMIN, url: str = "") -> str:
    """For `user` on that cluster, reached at `url` instead of its own where given."""
    authority = base64.b64encode(cluster.identity.certificate_authority).decode()
    where = {"server": url or cluster.url, "certificate-authority-data": authority}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": where}],
        "users": [{"name": "me", "user": {"token": cluster.identity.issue(user)}}],
    }
    return json.dumps(config)
