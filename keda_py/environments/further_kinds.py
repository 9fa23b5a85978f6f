"""Members of `spec.kinds`, as `keda-py env` sees them: listed, and counted by /scale, with the rights of the user.

In: an Environment's spec. Out: bodies as `members.py` reads those of the usual kinds; one without `spec.replicas` has
a count that the user may not read.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from keda_py.apis.foreign import maps_at, text_at, texts_at, value_at
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.errors import ConfigError, Forbidden, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import Discovery, ScaleTarget
from keda_py.kube.resources import Obj
from keda_py.kube.scale import read_scale

Key = tuple[str, str]
"""(kind, name)."""
# Bounds on the requests for counts, at a time and in all: one page must not flood the API server.
AT_ONCE, MOST_COUNTED = 20, 500


async def list_further(client: KubeClient, spec: EnvironmentSpec) -> tuple[dict[Key, Obj], list[str]]:
    """List objects by kind and name, and the problems of kinds that cannot be read. Raises KubeError."""
    discovery, unread = Discovery(client), []
    lives: dict[Key, Obj] = {}
    for api_version, kind in spec.kinds:
        try:
            target = await discovery.scale_target(api_version, kind)
            found = [live for live in await client.list(target.rest, spec.namespace) if _is_member(spec, live)]
        # Named and left out, as a missing kind is: the page is useful without them.
        except Forbidden:
            unread.append(target.resource)
        except (ConfigError, NotFound):
            unread.append(f"{kind} of {api_version}, which the cluster does not know")
        else:
            counted = await _counted(client, target, found)
            lives |= {(kind, text_at(live, "metadata", "name")): live for live in counted}
    return lives, unread


def _is_member(spec: EnvironmentSpec, live: Obj) -> bool:
    """Whether it may be a member; an object that has a controller is scaled by that."""
    owned = any(reference.get("controller") is True for reference in maps_at(live, "metadata", "ownerReferences"))
    return not owned and spec.takes(texts_at(live, "metadata", "labels"), texts_at(live, "metadata", "annotations"))


async def _counted(client: KubeClient, target: ScaleTarget, lives: list[Obj]) -> list[Obj]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(live: Obj) -> Obj:
        meta = live["metadata"]
        async with turns:
            try:
                scale = await read_scale(client, target, meta["namespace"], meta["name"])
            except KubeError:
                return _uncounted(live)
        ready = value_at(live, "status", "readyReplicas")
        status = {"readyReplicas": ready if isinstance(ready, int) else scale.status_replicas}
        return {"metadata": meta, "spec": {"replicas": scale.replicas}, "status": status}

    counted: list[Obj] = await asyncio.gather(*(one(live) for live in lives[:MOST_COUNTED]))
    return [*counted, *(_uncounted(live) for live in lives[MOST_COUNTED:])]


def _uncounted(live: Mapping[str, Any]) -> Obj:
    return {"metadata": live["metadata"], "spec": {"replicas": None}}
