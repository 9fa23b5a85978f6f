"""The objects of a cluster, which is only read (get and list), as an `Installation`."""

from collections.abc import Sequence

from keda_py.errors import Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import (
    API_SERVICES,
    CRON_JOBS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    EVERYTHING,
    HORIZONTAL_POD_AUTOSCALERS,
    KEDAS,
    LEASES,
    LIMIT_RANGES,
    NAMESPACES,
    STATEFUL_SETS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Obj,
    Resource,
    Selection,
)
from keda_py.kube.transport import Request
from keda_py.migration.installation import Installation

READ = (
    *KEDAS,
    HORIZONTAL_POD_AUTOSCALERS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    LIMIT_RANGES,
    CUSTOM_RESOURCE_DEFINITIONS,
    API_SERVICES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    LEASES,
    NAMESPACES,
    CRON_JOBS,
    ENVIRONMENTS,
)


async def read_cluster(client: KubeClient) -> Installation:
    """List all kinds that are checked. Raises KubeError if the API server does not answer."""
    version = await client.send(Request(method="GET", path="/version", resource="version"))
    listing = ListedKinds(client)
    for resource in READ:
        await listing.read(resource)
    return Installation(
        objects=listing.objects, version=str(version.get("gitVersion") or "unknown"), unread=listing.unread
    )


class ListedKinds:
    """Objects of a cluster, kind by kind: a kind that is not installed has none, one that may not be listed is told."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.objects: dict[str, list[Obj]] = {}
        self.unread: dict[str, str] = {}

    async def read(self, resource: Resource, namespace: str = "", selection: Selection = EVERYTHING) -> Sequence[Obj]:
        """Add the objects of a kind, of which some may be there already, and return them. Raises KubeError."""
        try:
            listed = await self._client.list(resource, namespace, selection)
        except NotFound:
            listed = []
        except Forbidden as error:
            listed, self.unread[resource.kind] = [], str(error)
        # The items of a list do not say what they are.
        found = [{"apiVersion": resource.api_version, "kind": resource.kind, **one} for one in listed]
        self.objects.setdefault(resource.kind, []).extend(found)
        return found
