"""Assembly of the environments: caches of their own, and controllers that work with what all kinds share.

`operator/assembly.py` comes here; `app.py` runs it beside the ScaledObjects.
"""

import asyncio
from dataclasses import dataclass

from keda_py.operator.cluster.caches import Caches
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.environments.caches import EnvironmentCaches
from keda_py.operator.environments.calendars import Calendars
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.kind import Environments
from keda_py.operator.environments.overriding import Overriding
from keda_py.operator.environments.state import EnvironmentMemory
from keda_py.settings.settings import Settings

WORKERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentParts:
    """`caches.run` and `run` in a TaskGroup, `run` only while we lead."""

    caches: EnvironmentCaches
    environments: Controller[EnvironmentMemory]

    async def run(self) -> None:
        """Put to sleep and wake until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.environments.run())

    def on_clock_step(self) -> None:
        """The wall clock was set: every calendar is asked again."""
        self.environments.on_clock_step()


def assemble_environments(
    shared: Dependencies, cluster: Caches, reader: ClusterReader, settings: Settings
) -> EnvironmentParts:
    """Put them together; nothing runs yet."""
    caches = EnvironmentCaches(shared.client, settings.cluster.watch_namespaces)
    calendars = Calendars(shared.clock, caches, reader, settings.cluster.object_namespace)
    parts = EnvironmentDependencies(
        clock=shared.clock,
        client=shared.client,
        readings=shared.readings,
        resolver=shared.resolver,
        status=shared.status,
        events=shared.events,
        instruments=shared.instruments,
        record=shared.record,
        quarantine=shared.quarantine,
        tells_unknown_keys=shared.tells_unknown_keys,
        caches=caches,
        cluster=cluster,
        calendars=calendars,
        overriding=Overriding(caches, calendars),
    )
    return EnvironmentParts(caches=caches, environments=Controller(parts, Environments(parts), WORKERS))
