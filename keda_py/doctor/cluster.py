"""Reading a cluster for the examination, with the rights of the user: lists only, nothing is written.

Members are those of one namespace, or of all. What fights with them may be anywhere (Applications live in Argo CD's
namespace, webhooks in none), so these kinds are listed in the whole cluster.
"""

from collections.abc import Iterator

from keda_py.apis.foreign import maps_at, text_at
from keda_py.doctor.argocd import APPLICATIONS
from keda_py.doctor.flux import HELM_RELEASES, KUSTOMIZATIONS
from keda_py.doctor.members import KINDS
from keda_py.doctor.webhooks import CONFIGURATIONS, SERVICE_NAME, services_of
from keda_py.errors import ConfigError, Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import Discovery
from keda_py.kube.resources import (
    ENDPOINT_SLICES,
    ENVIRONMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    NAMESPACES,
    POD_DISRUPTION_BUDGETS,
    RESOURCE_QUOTAS,
    SCALED_OBJECTS,
    SERVICES,
    Selection,
)
from keda_py.migration.installation import Installation
from keda_py.migration.listing import ListedKinds

_OF_NAMESPACES = (
    ENVIRONMENTS,
    SCALED_OBJECTS,
    *KINDS,
    HORIZONTAL_POD_AUTOSCALERS,
    POD_DISRUPTION_BUDGETS,
    RESOURCE_QUOTAS,
)
_GITOPS = (APPLICATIONS, KUSTOMIZATIONS, HELM_RELEASES)


async def read_objects(client: KubeClient, namespace: str) -> Installation:
    """List what is examined; namespace "" is all. Raises KubeError if the API server does not answer."""
    listing, discovery = ListedKinds(client), Discovery(client)
    for resource in _OF_NAMESPACES:
        await listing.read(resource, namespace)
    await _read_further(listing, discovery, namespace)
    for name in _GITOPS:
        try:
            # Flux has served its kinds in several versions: the preferred one is asked for.
            resource = await discovery.resource(name)
        except NotFound:
            continue
        except Forbidden as error:
            listing.unread[name] = str(error)
            continue
        await listing.read(resource)
    await listing.read(NAMESPACES)
    await _read_webhooks(listing)
    return Installation(objects=listing.objects, unread=listing.unread)


async def _read_further(listing: ListedKinds, discovery: Discovery, namespace: str) -> None:
    """List the kinds that Environments name as members and ScaledObjects as targets."""
    for api_version, kind in sorted(set(_named(listing))):
        try:
            target = await discovery.scale_target(api_version, kind)
        except (NotFound, ConfigError):
            continue
        except Forbidden as error:
            listing.unread[kind] = str(error)
            continue
        await listing.read(target.rest, namespace)


def _named(listing: ListedKinds) -> Iterator[tuple[str, str]]:
    usual = {resource.kind for resource in KINDS}
    references = [
        *(part for one in listing.objects[ENVIRONMENTS.kind] for part in maps_at(one, "spec", "kinds")),
        *(one.get("spec", {}).get("scaleTargetRef") for one in listing.objects[SCALED_OBJECTS.kind]),
    ]
    for reference in references:
        kind, api_version = text_at(reference, "kind"), text_at(reference, "apiVersion")
        if kind and api_version and kind not in usual:
            yield api_version, kind


async def _read_webhooks(listing: ListedKinds) -> None:
    """List the webhooks, and of Services and EndpointSlices only those behind webhooks that could refuse."""
    configurations = [one for resource in CONFIGURATIONS for one in await listing.read(resource)]
    for namespace, name in sorted(services_of(configurations)):
        await listing.read(SERVICES, namespace, Selection(fields=f"metadata.name={name}"))
        await listing.read(ENDPOINT_SLICES, namespace, Selection(labels=f"{SERVICE_NAME}={name}"))
