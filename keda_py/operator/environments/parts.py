"""Assembly of the environments: caches of their own, and controllers that work with what all kinds share.

`operator/assembly.py` comes here; `app.py` runs it beside the ScaledObjects.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.spec import ScalingSpec
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.status import LeadersStatus, StatusWriter
from keda_py.operator.environments.bounds import ScheduledBounds
from keda_py.operator.environments.calendar_kind import CalendarMemory, CalendarObjects
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.kind import Environments
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars
from keda_py.operator.environments.known.overriding import Overriding
from keda_py.operator.environments.known.own_pod import own_pod
from keda_py.operator.environments.known.owners import Owners
from keda_py.operator.environments.overlays import Overlays
from keda_py.operator.environments.override_kind import OverrideMemory, OverrideObjects
from keda_py.operator.environments.schedule_kind import ScheduleMemory, ScheduleObjects
from keda_py.operator.environments.state import EnvironmentMemory
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.settings.settings import Settings

WORKERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Lying:
    """What lies over specs, in this order: bounds of schedules, py-kube-downscaler's annotations, Overrides outside of
    Environments, Environments."""

    bounds: ScheduledBounds = field(default_factory=ScheduledBounds)
    annotated: Overlays = field(default_factory=Overlays)
    direct: Overlays = field(default_factory=Overlays)
    overlays: Overlays = field(default_factory=Overlays)

    def over(self, specs: SpecSource[ScaledObject, ScalingSpec]) -> SpecSource[ScaledObject, ScalingSpec]:
        """The source of specs with all of it on top."""
        return specs.over(self.bounds.lay, self.annotated.lay, self.direct.lay, self.overlays.lay)

    def subscribe(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` on the loop with each object over which something else lies."""
        for each in (self.bounds, self.annotated, self.direct, self.overlays):
            each.subscribe(notify)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentParts:
    """`caches.run` and `run` in a TaskGroup, `run` only while we lead.

    Where several replicas are active each does `follow`, and the leader `tell` beside it, after `take_over`.
    """

    caches: EnvironmentCaches
    owners: Owners
    overriding: Overriding
    environments: Controller[EnvironmentMemory]
    overrides: Controller[OverrideMemory]
    calendars: tuple[Controller[CalendarMemory], ...]
    schedules: Controller[ScheduleMemory]
    schedule_kind: ScheduleObjects
    override_kind: OverrideObjects
    overlays: Overlays

    async def restore(self) -> None:
        """Before any ScaledObject is worked on: what lies over it."""
        await self.schedule_kind.restore()
        await self.override_kind.restore()
        self.overlays.restore(self.caches.environments.objects())

    async def run(self) -> None:
        """Put to sleep and wake until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.follow())
            tasks.create_task(self.tell())

    async def follow(self) -> None:
        """All that lies over ScaledObjects, until cancelled; what is stored and done only as far as that is ours."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.environments.run())
            tasks.create_task(self.overrides.run())
            tasks.create_task(self.schedules.run())

    async def tell(self) -> None:
        """What calendars say, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for calendars in self.calendars:
                tasks.create_task(calendars.run())

    def take_over(self) -> None:
        """What was only followed is ours to store and do from now on."""
        for controller in (self.environments, self.overrides, self.schedules):
            for key in tuple(controller.states):
                controller.on_overlay(key)

    def on_clock_step(self) -> None:
        """The wall clock was set: every calendar is asked again."""
        self.environments.on_clock_step()
        self.overrides.on_clock_step()
        self.schedules.on_clock_step()
        for calendars in self.calendars:
            calendars.on_clock_step()


def assemble_environments(
    shared: ScaledObjectDependencies, settings: Settings, lying: Lying, leads: Callable[[], bool] | None = None
) -> EnvironmentParts:
    """Put them together; nothing runs yet. `leads` is None where only the leader works on them."""
    caches = EnvironmentCaches(shared.client, settings.cluster.watch_namespaces)
    calendars = Calendars(shared.clock, caches, shared.reader, settings.cluster.object_namespace)
    parts = EnvironmentDependencies(
        clock=shared.clock,
        client=shared.client,
        readings=shared.readings,
        resolver=shared.resolver,
        status=_status(shared, settings, leads),
        events=shared.events,
        instruments=shared.instruments,
        record=shared.record,
        quarantine=shared.quarantine,
        activations=shared.activations,
        tells_unknown_keys=shared.tells_unknown_keys,
        caches=caches,
        cluster=shared.caches,
        calendars=calendars,
        overriding=Overriding(shared.clock, caches, calendars),
        owners=Owners(caches.environments, own_pod(settings.cluster)),
        overlays=lying.overlays,
        bounds=lying.bounds,
        acts=leads or (lambda: True),
    )
    schedules, overrides = ScheduleObjects(parts), OverrideObjects(parts, lying.direct)
    return EnvironmentParts(
        caches=caches,
        owners=parts.owners,
        overriding=parts.overriding,
        environments=Controller(parts, Environments(parts), WORKERS),
        overrides=Controller(parts, overrides, WORKERS),
        calendars=tuple(
            Controller(parts, CalendarObjects(parts, live), WORKERS)
            for live in (caches.calendars, caches.cluster_calendars)
        ),
        schedules=Controller(parts, schedules, WORKERS),
        schedule_kind=schedules,
        override_kind=overrides,
        overlays=lying.overlays,
    )


def _status(shared: ScaledObjectDependencies, settings: Settings, leads: Callable[[], bool] | None) -> StatusWriter:
    if leads is None:
        return shared.status
    return LeadersStatus(shared.client, shared.clock, settings.scaling.decision_history, leads)
