"""How the parts of one operator fit together: each is made once, from settings and surroundings; nothing runs yet."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.external_metrics.query import Query
from keda_py.kube.events import EventRecorder
from keda_py.kube.leases.lease import Election
from keda_py.kube.resources import ENVIRONMENTS, SCALED_JOBS, SCALED_OBJECTS
from keda_py.operator.admission.related_environments import RelatedEnvironments
from keda_py.operator.admission.related_objects import RelatedObjects
from keda_py.operator.admission.requesters import Requesters
from keda_py.operator.admission.reviews import CONTROLLER as ADMISSION_CONTROLLER
from keda_py.operator.admission.reviews import AdmissionServer
from keda_py.operator.authentications.authentications import Authentications
from keda_py.operator.cloud_events.destinations import Destinations
from keda_py.operator.cloud_events.sources import CloudEventSources
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.cluster.namespaces import Namespaces
from keda_py.operator.controller.activations import Activations
from keda_py.operator.controller.component import Component
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.decisions.record import DecisionRecord
from keda_py.operator.downscaler.parts import DownscalerParts, assemble_downscaler
from keda_py.operator.environments.overlays import SpecOverlays
from keda_py.operator.environments.parts import EnvironmentParts, assemble_environments
from keda_py.operator.explain.insight import Insight
from keda_py.operator.opening import OperatorInputs, identity, lease_of
from keda_py.operator.process.quarantine import Quarantine
from keda_py.operator.process.questions import GuardedQuestions
from keda_py.operator.scaled_jobs.parts import ScaledJobParts, assemble_jobs
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.fallback_target import FallbackTarget
from keda_py.operator.scaled_objects.hpas import Hpas
from keda_py.operator.scaled_objects.kind import ScaledObjects
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import Targets
from keda_py.operator.serving import Answers, Serving
from keda_py.operator.sharding.tenures import may_write, sending
from keda_py.operator.sources import Sources, readings_of, sources_of
from keda_py.operator.standby.ownership import share_metrics
from keda_py.operator.standby.rights import Rights, rights_of
from keda_py.operator.standby.standby_reader import StandbyReader
from keda_py.readings.readings import Readings
from keda_py.settings.settings import Settings

Specs = SpecSource[ScaledObject, ScalingSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Everything of one process that runs."""

    parts: ScaledObjectDependencies
    scaled_objects: Controller[ObjectState]
    jobs: ScaledJobParts
    environments: EnvironmentParts
    downscaler: DownscalerParts | None
    """None: it is off."""
    admission: AdmissionServer
    authentications: Authentications
    cloud_events: CloudEventSources
    serving: Serving
    rights: Rights
    standby_reader: StandbyReader

    @property
    def components(self) -> tuple[Component, ...]:
        """What runs, in the order in which it starts."""
        parts = self.parts
        shared = Component(
            background=(parts.caches.run, parts.reader.run, self.admission.events.run, self.admission.run)
        )
        told = Component(
            follow=(parts.events.run, self.cloud_events.run),
            lead=(self.authentications.run,),
            on_lead=(self.cloud_events.take_over,),
        )
        serving = Component(
            background=(self.serving.run, self.rights.election.watch, self.standby_reader.run),
            announce=(partial(self.serving.register, parts.client),),
            lead=(partial(self.serving.guard, parts.client),),
        )
        scaled_objects = Component(
            share=(self.scaled_objects.run,),
            controllers=(self.scaled_objects,),
            on_clock_step=(self.scaled_objects.look_at_all,),
            on_share=(parts.activations.clear,),
        )
        more = (self.downscaler.component,) if self.downscaler is not None else ()
        return (shared, told, self.environments.component, *more, serving, self.jobs.component, scaled_objects)

    @property
    def controllers(self) -> tuple[Controller[Any], ...]:
        """Those whose last words are written when the process ends."""
        return tuple(controller for component in self.components for controller in component.controllers)


def assemble(around: OperatorInputs) -> Assembly:
    """Put the parts together; nothing runs yet."""
    settings, rights = around.settings, _rights(around)
    sources = sources_of(around, Caches(around.client, settings.cluster.watch_namespaces))

    def on_reading(key: ObjectKey) -> None:  # called once all is put together: controllers are made of readings
        (jobs.controller if key.kind == SCALED_JOBS.kind else scaled_objects).on_reading(key)

    readings = readings_of(around, sources, rights.owns, on_reading)
    overlays = SpecOverlays()
    parts = _parts(around, sources, readings, rights, overlays.over(AS_WRITTEN))
    scaled_objects = Controller(parts, ScaledObjects(parts), settings.scaling.scaled_object_workers, rights.shares)
    overlays.subscribe(scaled_objects.on_overlay)
    parts.activations.subscribe(SCALED_OBJECTS.kind, scaled_objects.on_turn)
    jobs, standby_reader = assemble_jobs(parts, settings, rights.shares), StandbyReader(parts, rights.owns)
    for listener in (scaled_objects, jobs.controller, standby_reader):
        sources.resolver.subscribe(listener.on_parameters)
    environments = assemble_environments(parts, settings, overlays, rights.leads_all, around.answers)
    parts.activations.subscribe(ENVIRONMENTS.kind, environments.environments.on_turn)
    answers = Answers(
        metrics=GuardedQuestions(_query(parts, scaled_objects), parts.quarantine, parts.caches.scaled_objects.get),
        admission=_admission(around, sources, environments),
        instruments=around.instruments,
        insight=_insight(parts, scaled_objects, jobs, rights),
        elsewhere=share_metrics(settings, around.client, sources.caches, around.tls),
        rights=rights,
        standby_reader=standby_reader,
    )
    return Assembly(
        parts=parts,
        scaled_objects=scaled_objects,
        jobs=jobs,
        environments=environments,
        downscaler=assemble_downscaler(parts, settings, environments, overlays.annotated, rights.leads),
        authentications=_authentications(parts, jobs),
        cloud_events=_cloud_events(around, parts, rights),
        admission=answers.admission,
        serving=Serving(settings, around.clock, around.client, answers),
        rights=rights,
        standby_reader=standby_reader,
    )


def _parts(
    around: OperatorInputs, sources: Sources, readings: Readings, rights: Rights, specs: Specs
) -> ScaledObjectDependencies:
    """All that is written from here on goes through a client that refuses what is not ours to write."""
    # Only a share that shrinks has to wait for the writes that are under way.
    counted = sending if around.settings.leadership.shards else nullcontext
    writer, caches = around.client.guarded(partial(may_write, rights.leads), counted), sources.caches
    return ScaledObjectDependencies(
        clock=around.clock,
        client=writer,
        caches=caches,
        namespaces=Namespaces(around.client),
        targets=Targets(writer, caches, sources.discovery, around.clock),
        hpas=Hpas(writer, caches.hpas),
        specs=specs,
        reader=sources.reader,
        readings=readings,
        resolver=sources.resolver,
        status=StatusWriter(writer, around.clock, around.settings.scaling.decision_history),
        events=EventRecorder(around.client.guarded(rights.may_tell), instance=identity(around.settings)),
        instruments=around.instruments,
        record=DecisionRecord(),
        quarantine=Quarantine(around.clock, around.journal),
        activations=Activations(around.clock, _activation_rate(around.settings)),
        tells_unknown_keys=around.settings.scaling.report_unknown_metadata,
    )


def _authentications(parts: ScaledObjectDependencies, jobs: ScaledJobParts) -> Authentications:
    users = {"scaledobjects": parts.caches.scaled_objects, "scaledjobs": jobs.caches.scaled_jobs}
    return Authentications(parts, users)


def _cloud_events(around: OperatorInputs, parts: ScaledObjectDependencies, rights: Rights) -> CloudEventSources:
    cluster = around.settings.cluster
    destinations = Destinations(around.http, cluster, parts.resolver)
    return CloudEventSources(parts, destinations, everywhere=cluster.events_everywhere, tells=rights.leads)


def _insight(
    parts: ScaledObjectDependencies,
    scaled_objects: Controller[ObjectState],
    jobs: ScaledJobParts,
    rights: Rights,
) -> Insight:
    known: Mapping[str, Mapping[ObjectKey, Remembered]] = {
        SCALED_OBJECTS.kind: scaled_objects.states,
        SCALED_JOBS.kind: jobs.controller.states,
    }
    return Insight(parts, known, rights.owns, rights.membership.identity)


def _query(parts: ScaledObjectDependencies, scaled_objects: Controller[ObjectState]) -> Query:
    targets = FallbackTarget(parts.client, parts.targets, parts.reader, scaled_objects.states)
    return Query(readings=parts.readings, targets=targets, specs=partial(_find_spec, parts))


def _admission(around: OperatorInputs, sources: Sources, environments: EnvironmentParts) -> AdmissionServer:
    events = EventRecorder(around.client, instance=identity(around.settings), controller=ADMISSION_CONTROLLER)
    related = RelatedEnvironments(around.client, environments.caches, environments.owners)
    neighbours = RelatedObjects(around.client, sources.caches, related)
    requesters = Requesters(around.client, environments.caches.overrides)
    return AdmissionServer(around.settings, neighbours, events, around.instruments, requesters)


def _find_spec(parts: ScaledObjectDependencies, key: ObjectKey) -> ScalingSpec | None:
    live = parts.caches.scaled_objects.get(key.namespace, key.name)
    try:
        return parts.specs.read(live) if live else None
    except ConfigError:
        return None


def _election(around: OperatorInputs) -> Election | None:
    lease = around.settings.leadership
    if not lease.elect:
        return None
    election = Election(around.client, lease_of(around.settings))
    around.instruments.process.show_leadership(lease.lease_name, lambda: election.is_leader)
    return election


def _activation_rate(settings: Settings) -> float:
    """Our part of the cluster's: each slot has the same, also while it is vacant."""
    return settings.scaling.activations_per_second / max(settings.leadership.shards, 1)


def _rights(around: OperatorInputs) -> Rights:
    """What we may write; without an election we are the only replica."""
    return rights_of(around.client, lease_of(around.settings), _election(around))
