"""What the hostile tenant leaves behind, and how it is deleted: through the operator, or past it when it is gone."""

import asyncio
import time
from contextlib import suppress

from keda_py.errors import Conflict, Invalid, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import (
    CALENDARS,
    CLOUD_EVENT_SOURCES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    OVERRIDES,
    SCALED_JOBS,
    SCALED_OBJECTS,
    SECRETS,
    TRIGGER_AUTHENTICATIONS,
    Resource,
)
from tests.waiting import PAUSE

HOSTILE = "hostile"
"""The tenant's namespace."""

OURS = (ENVIRONMENTS, SCALED_OBJECTS, SCALED_JOBS, TRIGGER_AUTHENTICATIONS, CLOUD_EVENT_SOURCES)
"""Kinds that the operator has a finalizer on, or writes a status of."""
PLAIN = (OVERRIDES, CALENDARS, SECRETS, CONFIG_MAPS, DEPLOYMENTS)
AT_ONCE = 16
SECONDS = 30.0


async def clean(client: KubeClient) -> list[str]:
    """Delete everything; a sentence for what the operator does not let go of."""
    for kind in (*OURS, *PLAIN):
        await _delete_all(client, kind, by_force=False)
    deadline = time.monotonic() + SECONDS
    for kind in OURS:
        while left := await client.list(kind, HOSTILE):
            if time.monotonic() > deadline:
                return [f"{len(left)} {kind.plural} were not let go within {SECONDS:g} s"]
            await asyncio.sleep(PAUSE)
    return []


async def clean_by_force(client: KubeClient) -> None:
    """Delete everything while no operator runs: finalizers are taken off."""
    for kind in (*OURS, *PLAIN):
        await _delete_all(client, kind, by_force=kind in OURS)


async def _delete_all(client: KubeClient, kind: Resource, *, by_force: bool) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def delete(name: str) -> None:
        path = kind.named(HOSTILE, name)
        async with gate:
            with suppress(NotFound, Conflict, Invalid):
                await client.delete(path)
                if by_force:
                    await client.patch(path, {"metadata": {"finalizers": None}})

    names = [live["metadata"]["name"] for live in await client.list(kind, HOSTILE)]
    async with asyncio.TaskGroup() as tasks:
        for name in names:
            tasks.create_task(delete(name))
