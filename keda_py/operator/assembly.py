"""How the parts of one operator fit together: each is made once, from settings and surroundings; nothing runs yet.

What all kinds share is made here. What a kind needs beside it is made in its package, as in `scaled_objects/parts.py`;
its `Component` says what runs and when. Another package is one more function from the shared parts to a `Component`
(`Package`).
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from keda_py.core.defaults.building import build_layer
from keda_py.core.defaults.layers import INSTALLATION
from keda_py.core.jobs.spec import JOBS_AS_WRITTEN
from keda_py.core.spec import AS_WRITTEN
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.events import EventRecorder
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS
from keda_py.operator.admission.related_objects import related_objects
from keda_py.operator.admission.requesters import Requesters
from keda_py.operator.admission.reviews import CONTROLLER, AdmissionServer
from keda_py.operator.advising.watch import assemble_advising
from keda_py.operator.authentications.authentications import Authentications
from keda_py.operator.cloud_events.destinations import Destinations
from keda_py.operator.cloud_events.sources import CloudEventSources
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.cluster_environments.kind import assemble_cluster_environments
from keda_py.operator.controller.activations import Activations
from keda_py.operator.controller.component import Component, Package
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.decisions.record import DecisionRecord
from keda_py.operator.defaults.kind import assemble_defaults
from keda_py.operator.defaults.known import KnownDefaults
from keda_py.operator.downscaler.parts import DownscalerParts, assemble_downscaler
from keda_py.operator.environments.overlays import SpecOverlays
from keda_py.operator.environments.parts import EnvironmentParts, assemble_environments
from keda_py.operator.explain.insight import Insight
from keda_py.operator.opening import OperatorInputs, identity, lease_of
from keda_py.operator.process.quarantine import Quarantine
from keda_py.operator.scaled_jobs.parts import ScaledJobParts, assemble_jobs
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.parts import (
    ScaledObjectParts,
    assemble_scaled_objects,
    scaled_object_parts_of,
)
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.serving import Answers, Serving
from keda_py.operator.sharding.tenures import may_write, sending
from keda_py.operator.sources import Sources, readings_of, sources_of
from keda_py.operator.standby.metric_delegation import share_metrics
from keda_py.operator.standby.rights import Rights, rights_of
from keda_py.operator.standby.standby_reader import StandbyReader
from keda_py.readings.readings import Readings


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Everything of one process that runs."""

    objects: ScaledObjectParts
    jobs: ScaledJobParts
    environments: EnvironmentParts
    policies: tuple[Component, ...]
    """Empty: ClusterEnvironments are off."""
    known_defaults: KnownDefaults
    defaults: Component
    advising: tuple[Component, ...]
    """Empty: no Prometheus is asked whether hours fit."""
    downscaler: DownscalerParts | None
    """None: it is off."""
    packages: tuple[Component, ...]
    admission: AdmissionServer
    authentications: Authentications
    cloud_events: CloudEventSources
    serving: Serving
    rights: Rights
    standby_reader: StandbyReader

    @property
    def parts(self) -> ScaledObjectDependencies:
        """What ScaledObjects, and with them most others, work with."""
        return self.objects.dependencies

    @property
    def scaled_objects(self) -> Controller[ObjectState]:
        """The controller of ScaledObjects."""
        return self.objects.controller

    @property
    def components(self) -> tuple[Component, ...]:
        """What runs, in the order in which it starts."""
        parts = self.parts
        shared = Component(
            background=(parts.caches.run, parts.reader.run, self.admission.events.run, self.admission.run)
        )
        events = Component(
            follow=(parts.shared.events.run, self.cloud_events.run),
            lead=(self.authentications.run,),
            on_lead=(self.cloud_events.take_over,),
        )
        serving = Component(
            background=(self.serving.run, self.rights.election.watch, self.standby_reader.run),
            announce=(partial(self.serving.register, parts.shared.client),),
            lead=(partial(self.serving.guard, parts.shared.client),),
        )
        downscaler = (self.downscaler.component,) if self.downscaler is not None else ()
        first = (
            shared,
            events,
            self.defaults,
            *self.policies,
            self.environments.component,
            *self.advising,
            *downscaler,
            serving,
            *self.packages,
        )
        return (*first, self.jobs.component, self.objects.component)

    @property
    def controllers(self) -> tuple[Controller[Any], ...]:
        """Those whose last words are written when the process ends."""
        return tuple(controller for component in self.components for controller in component.controllers)


def assemble(around: OperatorInputs, packages: Sequence[Package] = ()) -> Assembly:
    """Put the parts together; nothing runs yet."""
    settings, rights = around.settings, _rights(around)
    sources = sources_of(around, Caches(around.client, settings.cluster.watch_namespaces))

    def on_reading(key: ObjectKey) -> None:  # called once all is put together: controllers are made of readings
        (jobs.controller if key.kind == SCALED_JOBS.kind else objects.controller).on_reading(key)

    readings, overlays, known = readings_of(around, sources, rights.owns, on_reading), SpecOverlays(), _defaults(around)
    parts = _scaled_object_parts(sources, _shared(around, sources, readings, rights), overlays, known)
    objects = assemble_scaled_objects(parts, settings.scaling.scaled_object_workers, rights.shares)
    jobs = assemble_jobs(parts.shared, settings, rights.shares, JOBS_AS_WRITTEN.built_by(known.build_scaled_job))
    standby_reader = _standby_reader(sources, parts, rights)
    _follow(sources, overlays, known, objects, jobs)
    environments = assemble_environments(parts, settings, overlays, rights.leads_all, around.answers, around.http)
    answers = Answers(
        metrics=objects.questions,
        admission=_admission(around, sources.caches, environments, known),
        instruments=around.instruments,
        insight=_insight(parts.shared, objects, jobs, rights),
        elsewhere=share_metrics(settings, around.client, sources.caches, around.tls),
        rights=rights,
        standby_reader=standby_reader,
        wakes=environments.dependencies.requests,
    )
    return Assembly(
        objects=objects,
        jobs=jobs,
        environments=environments,
        policies=assemble_cluster_environments(environments, settings, rights.leads_all),
        known_defaults=known,
        defaults=assemble_defaults(environments.dependencies.shared, known, rights.leads_all),
        advising=assemble_advising(environments.dependencies, settings.environments),
        downscaler=assemble_downscaler(parts, settings, environments, overlays.annotated, rights.leads),
        packages=tuple(package(parts.shared, rights.shares) for package in packages),
        authentications=_authentications(parts, jobs),
        cloud_events=_cloud_events(around, parts, rights),
        admission=answers.admission,
        serving=Serving(settings, around.clock, around.client, answers),
        rights=rights,
        standby_reader=standby_reader,
    )


def _scaled_object_parts(
    sources: Sources, shared: Dependencies, overlays: SpecOverlays, known: KnownDefaults
) -> ScaledObjectDependencies:
    """Make what ScaledObjects work with: their specs lie over defaults, and below overlays."""
    written = AS_WRITTEN.built_by(known.build_scaled_object) if known.are_on else AS_WRITTEN
    specs = overlays.over(written, shared.clock.now)
    return scaled_object_parts_of(
        shared, sources.caches, sources.discovery, sources.reader, specs, requests=sources.requests
    )


def _standby_reader(sources: Sources, parts: ScaledObjectDependencies, rights: Rights) -> StandbyReader:
    reader = StandbyReader(parts, rights.owns)
    sources.resolver.subscribe(reader.on_parameters)
    return reader


def _follow(
    sources: Sources, overlays: SpecOverlays, known: KnownDefaults, objects: ScaledObjectParts, jobs: ScaledJobParts
) -> None:
    """Make objects due when their parameters change, or what lies over or under their manifests."""
    for controller in (objects.controller, jobs.controller):
        sources.resolver.subscribe(controller.on_parameters)
    overlays.subscribe(objects.controller.on_overlay)
    known.follow(objects.dependencies.caches.scaled_objects, objects.controller.on_overlay)
    known.follow(jobs.caches.scaled_jobs, jobs.controller.on_overlay)


def _shared(around: OperatorInputs, sources: Sources, readings: Readings, rights: Rights) -> Dependencies:
    """What every kind works with. All writes go through a client that refuses what is not ours to write."""
    settings = around.settings
    writer = around.client.guarded(partial(may_write, rights.leads), sending)
    # Our part of the cluster's budget: each slot has the same, also while it is vacant.
    activations = settings.scaling.activations_per_second / max(settings.leadership.shards, 1)
    return Dependencies(
        clock=around.clock,
        client=writer,
        readings=readings,
        resolver=sources.resolver,
        status=StatusWriter(writer, around.clock, settings.scaling.decision_history),
        events=EventRecorder(around.client.guarded(rights.may_tell), instance=identity(settings)),
        instruments=around.instruments,
        record=DecisionRecord(),
        quarantine=Quarantine(around.clock, around.journal),
        activations=Activations(around.clock, activations),
        tells_unknown_keys=settings.scaling.report_unknown_metadata,
    )


def _defaults(around: OperatorInputs) -> KnownDefaults:
    """Read the defaults of the installation. Raises ConfigError."""
    settings, values = around.settings.environments, around.settings.environments.default_values
    base = None if values is None else build_layer(values, INSTALLATION, at="--default-values")
    watched = around.settings.cluster.watch_namespaces
    return KnownDefaults(around.client, watched, base, watches=settings.keda_defaults)


def _admission(
    around: OperatorInputs, caches: Caches, environments: EnvironmentParts, known: KnownDefaults
) -> AdmissionServer:
    events = EventRecorder(around.client, instance=identity(around.settings), controller=CONTROLLER)
    neighbours = related_objects(around.client, caches, environments, known.layers_if_known)
    requesters = Requesters(around.client, environments.dependencies.caches.overrides)
    return AdmissionServer(around.settings, neighbours, events, around.instruments, requesters)


def _authentications(parts: ScaledObjectDependencies, jobs: ScaledJobParts) -> Authentications:
    users = {"scaledobjects": parts.caches.scaled_objects, "scaledjobs": jobs.caches.scaled_jobs}
    return Authentications(parts, users)


def _cloud_events(around: OperatorInputs, parts: ScaledObjectDependencies, rights: Rights) -> CloudEventSources:
    cluster = around.settings.cluster
    destinations = Destinations(around.http, cluster, parts.shared.resolver)
    return CloudEventSources(parts, destinations, everywhere=cluster.events_everywhere, tells=rights.leads)


def _insight(shared: Dependencies, objects: ScaledObjectParts, jobs: ScaledJobParts, rights: Rights) -> Insight:
    known: Mapping[str, Mapping[ObjectKey, Any]] = {
        SCALED_OBJECTS.kind: objects.controller.states,
        SCALED_JOBS.kind: jobs.controller.states,
    }
    return Insight(shared, known, rights.owns, rights.membership.identity)


def _rights(around: OperatorInputs) -> Rights:
    """What we may write; our own metrics show whether this replica leads, where there is an election."""
    leadership = around.settings.leadership
    rights = rights_of(around.client, lease_of(around.settings), elects=leadership.elect)
    if leadership.elect:
        around.instruments.process.show_leadership(leadership.lease_name, rights.leads)
    return rights


# The last writes of a process that leaves: when objects were last active, Events still queued, the Lease, CloudEvents.
#
# `app.py` comes here once nothing else is written any more. Where another replica waits for the Lease it gets it
# soon: what is not written by then it finds out by itself, and cools down later for it, never earlier.

FLUSH_SECONDS, HANDOVER_SECONDS = 2.0, 0.5

log = logging.getLogger(__name__)


async def shut_down(assembly: Assembly) -> None:
    """Write what is left if we may, then let the next replica lead; no replica waits for slow receivers of events."""
    rights, events = assembly.rights, assembly.parts.shared.events
    seconds = FLUSH_SECONDS if rights.is_alone else HANDOVER_SECONDS
    try:
        async with asyncio.timeout(seconds):
            if rights.may_tell():
                for controller in assembly.controllers:
                    await controller.flush()
                await events.flush(seconds)
    except TimeoutError:
        log.warning("the last writes did not finish in time", extra={"seconds": seconds})
    await rights.membership.release()
    await rights.election.release()
    await assembly.cloud_events.drain()
