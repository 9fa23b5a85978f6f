"""What `keda-py explain` asks the cluster: one object's insight, or the objects of a namespace."""

import asyncio
from dataclasses import dataclass
from typing import Any

from keda_py.apis.kinds.table import KINDS
from keda_py.errors import ConfigError, NotFound, Unavailable
from keda_py.external_metrics.discovery import INSIGHT, JOB_INSIGHT
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS, Obj
from keda_py.kube.transport import Request

ATTEMPTS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The object that is meant; `resource` is a plural."""

    resource: str
    namespace: str
    name: str


def named(text: str, namespace: str) -> Named:
    """[[KIND/]NAMESPACE/]NAME; `namespace` where the text has none. Raises ConfigError."""
    plurals = {word: kind.plural for kind in KINDS if kind.has_triggers for word in (kind.singular, *kind.short_names)}
    parts = text.split("/")
    kind, place, name, *rest = ["scaledobject", namespace][: max(3 - len(parts), 0)] + parts
    if kind not in plurals or not place or not name or rest:
        raise ConfigError(
            f"{text!r} names no object; write NAMESPACE/NAME, or scaledjob/NAMESPACE/NAME for a ScaledJob, "
            "environment/NAMESPACE/NAME for an Environment"
        )
    return Named(resource=plurals[kind], namespace=place, name=name)


def named_environment(text: str, namespace: str) -> tuple[str, str] | None:
    """Namespace and name of `environment/[NAMESPACE/]NAME`; None: it names another kind."""
    kind, _, rest = text.partition("/")
    if kind not in ("environment", "environments", "env"):
        return None
    place, _, name = rest.rpartition("/")
    if not name or "/" in place:
        raise ConfigError(f"{text!r} names no Environment; write environment/NAMESPACE/NAME")
    return place or namespace, name


async def ask_insight(client: KubeClient, wanted: Named) -> dict[str, Any]:
    """The insight as served. A replica that does not lead says so, and another one is asked. Raises KubeError."""
    api = JOB_INSIGHT if wanted.resource == JOB_INSIGHT.resource else INSIGHT
    path = api.root + api.path.format(namespace=wanted.namespace, name=wanted.name)
    for attempt in range(ATTEMPTS):
        try:
            return await client.send(Request(method="GET", path=path, resource=api.resource))
        except NotFound as error:
            if wanted.name in str(error).partition("not found")[0]:
                raise
            remedy = "run the operator with --register, or create that APIService as the chart does"
            raise ConfigError(f"this cluster has no APIService {api.service_name}; {remedy}") from None
        except Unavailable as error:
            if error.status != 503 or attempt + 1 == ATTEMPTS:
                raise
            await asyncio.sleep(0.2)
    raise AssertionError("not reached: the last attempt returns or raises")


async def list_objects(client: KubeClient, namespace: str) -> list[Obj]:
    """ScaledObjects, then ScaledJobs, by namespace and name; "" for all namespaces. Raises KubeError."""
    found: list[Obj] = []
    for resource in (SCALED_OBJECTS, SCALED_JOBS):
        listed = await client.list(resource, namespace)
        listed.sort(key=lambda one: (one["metadata"].get("namespace", ""), one["metadata"]["name"]))
        found += [{**one, "kind": resource.kind} for one in listed]
    return found
