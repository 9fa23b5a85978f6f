"""Why a namespace has the Environment of a ClusterEnvironment: the labels by which it is selected.

Read with the rights of the user who asks; without them only the name of the ClusterEnvironment is told.
"""

from collections.abc import Mapping
from typing import Any

from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import list_at, map_at, maps_at, text_at, texts_at
from keda_py.core.environment.namespaces.coverage import KIND, OWNER_LABEL
from keda_py.core.environment.namespaces.spec import NAME_LABEL
from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CLUSTER_ENVIRONMENTS, NAMESPACES

_MOST = 5


async def why_of_environment(client: KubeClient, environment: Environment) -> list[str]:
    """The same for an Environment; nothing for a namespace's own."""
    meta = environment.metadata
    return await why_covered(client, meta.namespace, meta.labels.get(OWNER_LABEL, ""))


async def why_covered(client: KubeClient, namespace: str, policy: str) -> list[str]:
    """Say by which labels the ClusterEnvironment selects the namespace; nothing if `policy` is ""."""
    if not policy:
        return []
    known = f"policy: namespace {namespace} is covered by {KIND} {policy}, which writes its Environment"
    try:
        live = await client.get(CLUSTER_ENVIRONMENTS.named("", policy))
        labels = {
            NAME_LABEL: namespace,
            **texts_at(await client.get(NAMESPACES.named("", namespace)), "metadata", "labels"),
        }
    except KubeError:
        return [known]
    return [f"{known}: {_selected_by(map_at(live, 'spec', 'namespaceSelector'), labels)}"]


def _selected_by(selector: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    wanted = [f"{key}={value}" for key, value in texts_at(selector, "matchLabels").items()]
    for one in maps_at(selector, "matchExpressions"):
        values = ", ".join(str(value) for value in list_at(one, "values")[:_MOST])
        key = text_at(one, "key")
        has = f"; it has {labels[key]}" if key in labels else ""
        wanted.append(f"{key} {text_at(one, 'operator')}{f' ({values})' if values else ''}{has}")
    return f"it selects namespaces with {' and '.join(wanted[:_MOST])}" if wanted else "it selects every namespace"
