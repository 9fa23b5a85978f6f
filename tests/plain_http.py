"""A second front of the embedded cluster, for clients in the same process: the same answers, over plain HTTP.

An operator opens some twenty connections when it starts; two ends of as many TLS handshakes take more CPU than all that
is said over them. Where connections themselves are the subject, the cluster's own port is used; so it is wherever the
operator is a process.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keda_py.localkube.apiserver.server import ApiServer
from keda_py.localkube.cluster import LocalCluster


@asynccontextmanager
async def plain_http(cluster: LocalCluster) -> AsyncIterator[str]:
    """Its URL. A token says who calls (`kubeconfigs.py`); without one it is an anonymous user."""
    server = ApiServer(cluster.routes.answer, cluster.identity, cluster.clock, None)
    await server.start()
    try:
        yield server.url
    finally:
        await server.stop()
