"""Requests of the commands to the API server, with the user's rights; a refusal says what can be done about it."""

from typing import Any

from keda_py.apis.environments.environment import Environment
from keda_py.apis.parsing import parse_object
from keda_py.errors import ConfigError, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CLUSTER_ENVIRONMENTS, ENVIRONMENTS, Obj
from keda_py.kube.transport import Request

_SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
NOT_INSTALLED = "this cluster has no Environments; install the chart with environments.enabled, or `keda-py crds`"

NO_POLICIES = (
    "this cluster has no ClusterEnvironments; install the chart with clusterEnvironments.enabled, or `keda-py crds`"
)


class NotInstalled(ConfigError):
    """The cluster does not know the kind."""


async def list_environments(client: KubeClient, namespace: str) -> list[Obj]:
    """List Environments in order; "" for every namespace. Raises NotInstalled without the CRDs, and KubeError."""
    try:
        found = await client.list(ENVIRONMENTS, namespace)
    except NotFound:
        raise NotInstalled(NOT_INSTALLED) from None
    return sorted(found, key=lambda live: (live["metadata"]["namespace"], live["metadata"]["name"]))


async def list_cluster_environments(client: KubeClient, name: str = "") -> list[Obj]:
    """List ClusterEnvironments in order, or the one of that name. Raises NotInstalled, ConfigError and KubeError."""
    try:
        found = await client.list(CLUSTER_ENVIRONMENTS)
    except NotFound:
        raise NotInstalled(NO_POLICIES) from None
    names = sorted(live["metadata"]["name"] for live in found)
    if name and name not in names:
        there = f"there are {', '.join(names[:10])}" if names else "there are none"
        raise ConfigError(f"no ClusterEnvironment {name!r}: {there}", field="NAME")
    wanted = [live for live in found if not name or live["metadata"]["name"] == name]
    return sorted(wanted, key=lambda live: str(live["metadata"]["name"]))


async def get_environment(client: KubeClient, namespace: str, name: str) -> Obj:
    """Get one Environment. Raises ConfigError if it is missing, and KubeError."""
    try:
        return await client.get(ENVIRONMENTS.named(namespace, name))
    except NotFound:
        names = [live["metadata"]["name"] for live in await list_environments(client, namespace)]
        there = f"there are {', '.join(names[:10])}" if names else "there are none; `keda-py env -A` lists all"
        raise ConfigError(f"no Environment {name!r} in namespace {namespace!r}: {there}", field="NAME") from None


async def find_environment(client: KubeClient, namespace: str, name: str) -> Environment:
    """Get one Environment and parse it. Raises ConfigError, KubeError."""
    return read_environment(await get_environment(client, namespace, name))


async def only_environment(client: KubeClient, namespace: str) -> Obj:
    """Get the only Environment of a namespace. Raises ConfigError for none or several, and KubeError."""
    found = await list_environments(client, namespace)
    if len(found) == 1:
        return found[0]
    names = ", ".join(live["metadata"]["name"] for live in found[:10])
    several = f"namespace {namespace!r} has several Environments, name one of {names}"
    missing = f"namespace {namespace!r} has no Environment; give another with -n, or `keda-py env -A` to see all"
    raise ConfigError(several if found else missing, field="NAME")


def read_environment(live: Obj) -> Environment:
    """Parse an Environment. Raises ConfigError if it cannot be read."""
    return parse_object(Environment, live)


async def who_am_i(client: KubeClient) -> str:
    """Return the user's name as the API server knows it; "" if it does not say."""
    body: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = await client.send(Request(method="POST", path=_SELF, body=body, resource="selfsubjectreviews"))
    except KubeError:
        return ""
    return str(((answer.get("status") or {}).get("userInfo") or {}).get("username") or "")
