"""Installed objects, as the API server or files have them, by kind.

A cluster is only read (get and list). A kind that may not be read goes into `unread` and becomes a finding: a
check that did not look must not resemble one that found nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keda_py.apis.foreign import text_at
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Objects of one installation; `version` is the cluster's, as in "v1.31.2", "" if only files are known.

    `unread` are kinds of a cluster that could not be listed, or places in files that could not be read, and why.
    """

    objects: Mapping[str, Sequence[Obj]]
    version: str = ""
    unread: Mapping[str, str] = field(default_factory=dict)

    def of(self, resource: Resource) -> Sequence[Obj]:
        """Return all objects of a kind."""
        return self.objects.get(resource.kind, ())

    @property
    def live(self) -> bool:
        """Whether this is a cluster, so that an object that is missing here does not exist."""
        return bool(self.version)


def from_bodies(bodies: Iterable[Obj], unread: Mapping[str, str] | None = None) -> Installation:
    """Collect objects of manifests, and the places where others could not be read."""
    found: defaultdict[str, list[Obj]] = defaultdict(list)
    for body in bodies:
        found[text_at(body, "kind")].append(body)
    return Installation(objects=found, unread=unread or {})


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
