"""Assembly of the environments: caches of their own, and controllers that work with what all kinds share.

`operator/assembly.py` comes here; `app.py` runs it beside the ScaledObjects.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx

from keda_py.answers.bounds import AnswerBounds
from keda_py.core.environment.namespaces.order import NO_TURN
from keda_py.operator.controller.component import Component
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.kind import LookOnlyMemory
from keda_py.operator.controller.status import LeadersStatus
from keda_py.operator.environments.calendar_kind import CalendarObjects
from keda_py.operator.environments.deletion.namespaces import NamespaceDeletions
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.kind import Environments
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars
from keda_py.operator.environments.known.files import Files
from keda_py.operator.environments.known.override_cache import Overriding
from keda_py.operator.environments.known.own_pod import own_pod
from keda_py.operator.environments.known.owners import Owners
from keda_py.operator.environments.known.policies import Policies
from keda_py.operator.environments.known.sessions import SessionWatch, watch_sessions
from keda_py.operator.environments.overlays import SpecOverlays
from keda_py.operator.environments.override_kind import OverrideMemory, OverrideObjects
from keda_py.operator.environments.schedule_kind import ScheduleMemory, ScheduleObjects
from keda_py.operator.environments.state import EnvironmentMemory
from keda_py.operator.environments.waking.requests import WakeRequests
from keda_py.operator.gitops.flux import FluxAnnotations
from keda_py.operator.gitops.truces import Truces
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.sharding.tenures import Tenures
from keda_py.operator.waking.scaled_objects import ScaledObjectWakes
from keda_py.operator.waking.waking import Waking
from keda_py.settings.settings import Settings
from keda_py.settings.surroundings import service_account_namespace

WORKERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentParts:
    """The parts of environments that `operator/assembly.py` uses.

    Every active replica computes the overlays of ScaledObjects; only the leader stores and applies decisions and writes
    the statuses of calendars.
    """

    environments: Controller[EnvironmentMemory]
    overrides: Controller[OverrideMemory]
    calendars: tuple[Controller[LookOnlyMemory], ...]
    schedules: Controller[ScheduleMemory]
    schedule_kind: ScheduleObjects
    override_kind: OverrideObjects
    wakes: ScaledObjectWakes | None
    dependencies: EnvironmentDependencies
    policies: Policies | None
    """None: ClusterEnvironments are off."""

    async def restore(self) -> None:
        """Restore all overlays, before any ScaledObject is reconciled."""
        await self.schedule_kind.restore()
        await self.override_kind.restore()
        parts = self.dependencies
        parts.overlays.restore(parts.caches.environments.objects())

    @property
    def component(self) -> Component:
        """The tasks to run, and when."""
        followed: tuple[Controller[Any], ...] = (self.environments, self.overrides, self.schedules)
        looked_at_again = tuple(controller.look_at_all for controller in followed)
        parts = self.dependencies
        waking = () if parts.waking is None else (parts.waking,)
        wakes = () if self.wakes is None else (self.wakes.run,)
        sessions = () if parts.sessions is None else (parts.sessions.run,)
        return Component(
            background=(parts.caches.run, *(one.caches.run for one in waking)),
            prepare=(self.restore,),
            follow=tuple(controller.run for controller in followed),
            lead=(*(calendars.run for calendars in self.calendars), *(one.run for one in waking), *wakes, *sessions),
            on_clock_step=(*looked_at_again, *(calendars.look_at_all for calendars in self.calendars)),
            on_lead=(*(one.begin for one in waking), self.take_over),
            after_lead=looked_at_again,
            on_share=looked_at_again,
        )

    def take_over(self) -> None:
        """Make everything due after this replica became the leader: it has to store and apply what it only followed."""
        self.dependencies.deletions.begin()
        if self.dependencies.sessions is not None:
            self.dependencies.sessions.begin()
        for controller in (self.environments, self.overrides, self.schedules):
            for key in tuple(controller.states):
                controller.on_overlay(key)


def _environment_controller(parts: EnvironmentDependencies, tenures: Tenures) -> Controller[EnvironmentMemory]:
    controller = Controller(parts.shared, Environments(parts), WORKERS, tenures)
    parts.shared.activations.subscribe(controller.kind, controller.on_turn)
    _follow_sessions(parts.sessions, controller)
    return controller


def _deletions(shared: Dependencies, settings: Settings, caches: EnvironmentCaches) -> NamespaceDeletions:
    own_namespace = service_account_namespace() or settings.cluster.pod_namespace
    permitted = settings.environments.delete_namespaces
    return NamespaceDeletions(shared, caches.environments, own_namespace, permitted=permitted)


def assemble_environments(
    objects: ScaledObjectDependencies,
    settings: Settings,
    overlays: SpecOverlays,
    tenures: Tenures,
    answers: AnswerBounds,
    http: httpx.AsyncClient,
) -> EnvironmentParts:
    """Assemble the parts; nothing runs yet. `tenures` are those of the leader, who writes about all objects."""
    clock = objects.shared.clock
    caches = EnvironmentCaches(objects.shared.client, settings.cluster.watch_namespaces)
    policies = _policies(objects, settings, caches)
    calendars = Calendars(clock, caches, objects.reader, Files(clock, answers), settings.cluster.object_namespace)
    overriding = Overriding(clock, caches, calendars)
    waking = _waking(objects, caches)
    wakes = _scaled_object_wakes(objects, waking)
    requests = _requests(objects, waking, wakes, caches, overriding, tenures.is_live)
    status = LeadersStatus(objects.shared.client, clock, settings.scaling.decision_history, tenures.is_live)
    shared = replace(objects.shared, status=status)
    parts = EnvironmentDependencies(
        shared=shared,
        caches=caches,
        cluster=objects.caches,
        calendars=calendars,
        overriding=overriding,
        owners=Owners(caches.environments, own_pod(settings.cluster)),
        overlays=overlays.by_environments,
        bounds=overlays.scheduled,
        acts=tenures.is_live,
        waking=waking,
        requests=requests,
        truces=Truces(shared.client, clock),
        flux=FluxAnnotations(shared.client, caches.members),
        deletions=_deletions(shared, settings, caches),
        sessions=watch_sessions(http, clock, settings.environments),
        turn_of=policies.turn_of if policies is not None else lambda _: NO_TURN,
    )
    schedules, overrides = ScheduleObjects(parts), OverrideObjects(parts, overlays.overridden)
    return EnvironmentParts(
        environments=_environment_controller(parts, tenures),
        overrides=Controller(shared, overrides, WORKERS, tenures),
        calendars=_calendar_controllers(parts, tenures),
        schedules=Controller(shared, schedules, WORKERS, tenures),
        schedule_kind=schedules,
        override_kind=overrides,
        wakes=wakes,
        dependencies=parts,
        policies=policies,
    )


def _follow_sessions(watch: SessionWatch | None, environments: Controller[EnvironmentMemory]) -> None:
    """Look at the Environments of which the watch knows something else than at their last look."""
    if watch is None:
        return

    def on_answer() -> None:
        for key, state in environments.states.items():
            if watch.of(key.namespace) != state.sessions:
                environments.on_turn(key)

    watch.on_answer = on_answer


def _policies(objects: ScaledObjectDependencies, settings: Settings, caches: EnvironmentCaches) -> Policies | None:
    """Make the cache of ClusterEnvironments; None where they are off."""
    if not settings.environments.cluster_environments:
        return None
    return Policies(objects.shared.client, caches.environments, settings.cluster.watch_namespaces)


def _calendar_controllers(parts: EnvironmentDependencies, tenures: Tenures) -> tuple[Controller[LookOnlyMemory], ...]:
    return tuple(
        Controller(parts.shared, CalendarObjects(parts, live), WORKERS, tenures)
        for live in (parts.caches.calendars, parts.caches.cluster_calendars)
    )


def _scaled_object_wakes(objects: ScaledObjectDependencies, waking: Waking | None) -> ScaledObjectWakes | None:
    """Make what takes requests for ScaledObjects; None without wakers."""
    if waking is None or objects.requests is None:
        return None
    return ScaledObjectWakes(shared=objects.shared, triggers=objects.requests, waking=waking)


def _waking(objects: ScaledObjectDependencies, caches: EnvironmentCaches) -> Waking | None:
    """Make the controller of slices; None without wakers."""
    if objects.requests is None:
        return None

    def exists(uid: str) -> bool:
        owners = (*caches.environments, *objects.caches.scaled_objects)
        return any(live["metadata"]["uid"] == uid for live in owners)

    informers = objects.requests.waking
    return Waking(client=objects.shared.client, clock=objects.shared.clock, caches=informers, exists=exists)


def _requests(
    objects: ScaledObjectDependencies,
    waking: Waking | None,
    wakes: ScaledObjectWakes | None,
    caches: EnvironmentCaches,
    overriding: Overriding,
    leads: Callable[[], bool],
) -> WakeRequests | None:
    """Make what answers wakers, also those that ask by an annotation; None without wakers."""
    if waking is None:
        return None
    requests = WakeRequests(
        client=objects.shared.client,
        events=objects.shared.events,
        slices=waking.caches,
        caches=caches,
        overriding=overriding,
        leads=leads,
    )
    waking.on_report = requests.take_report
    if wakes is not None:
        requests.take_scaled_object = wakes.take
    return requests
