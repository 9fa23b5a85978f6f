"""How the parts of one operator fit together: each is made once, from settings and surroundings; nothing runs yet."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import httpx

from keda_py import __version__
from keda_py.answers.bounds import AnswerBounds
from keda_py.answers.connections import PART_OF_DESCRIPTORS, Connections
from keda_py.apis.scaled_object import ScaledObject
from keda_py.auth.cluster_resolver import ClusterResolver, ResolverCaches
from keda_py.auth.lookup.issued import Issued
from keda_py.auth.lookup.lookup import Surroundings as AuthSurroundings
from keda_py.auth.lookup.target_pods import TargetPods
from keda_py.clock import Clock
from keda_py.core.fallback import FallbackState, read_health
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.external_metrics.query import Query
from keda_py.kube.client import REQUEST_SECONDS, SHARE, KubeClient
from keda_py.kube.discovery import Discovery
from keda_py.kube.events import EventRecorder
from keda_py.kube.leases.lease import Election
from keda_py.kube.leases.lease_record import LeaseSpec
from keda_py.kube.leases.slots import shortest_write
from keda_py.kube.resources import ENVIRONMENTS, SCALED_JOBS, SCALED_OBJECTS
from keda_py.net.http import HttpClientSpec, Proxies, http_client
from keda_py.net.operator_identity import IdentityRule
from keda_py.net.tls import TlsContexts
from keda_py.operator.admission.related_objects import RelatedObjects
from keda_py.operator.admission.requesters import Requesters
from keda_py.operator.admission.reviews import CONTROLLER as ADMISSION_CONTROLLER
from keda_py.operator.admission.reviews import AdmissionServer
from keda_py.operator.authentications.authentications import Authentications
from keda_py.operator.cloud_events.destinations import Destinations
from keda_py.operator.cloud_events.sources import CloudEventSources
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.cluster.namespaces import Namespaces
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.controller.activations import Activations
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.decisions.record import DecisionRecord
from keda_py.operator.downscaler.parts import DownscalerParts, assemble_downscaler
from keda_py.operator.environments.parts import EnvironmentParts, Lying, assemble_environments
from keda_py.operator.explain.insight import Insight
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
from keda_py.operator.standby.ownership import share_metrics
from keda_py.operator.standby.rights import Rights, share_out
from keda_py.operator.standby.standby_reader import StandbyReader
from keda_py.readings.failures import Failures
from keda_py.readings.journal import Journal
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.sdk import registry
from keda_py.sdk.context import Reach, SharedContext, SharedResources
from keda_py.serving.ports.listening import descriptors
from keda_py.settings.settings import Settings
from keda_py.telemetry.prometheus import OperatorMetrics

Specs = SpecSource[ScaledObject, ScalingSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorInputs:
    """What an operator is given: time, connections, and the group that its tasks belong to."""

    settings: Settings
    clock: Clock
    client: KubeClient
    http: httpx.AsyncClient
    answers: AnswerBounds
    connections: Connections
    tls: TlsContexts
    tasks: asyncio.TaskGroup
    instruments: OperatorMetrics
    journal: Journal


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


def assemble(around: OperatorInputs) -> Assembly:
    """Put the parts together; nothing runs yet."""
    settings, rights = around.settings, _rights(around)
    tenures, leads = (rights.sharing.tenures, rights.leads) if rights.sharing is not None else (None, None)
    sources = sources_of(around, Caches(around.client, settings.cluster.watch_namespaces))

    def on_reading(key: ObjectKey) -> None:  # called once all is put together: controllers are made of readings
        (jobs.controller if key.kind == SCALED_JOBS.kind else scaled_objects).on_reading(key)

    readings = readings_of(around, sources, rights.owns, on_reading)
    lying = Lying()
    parts = _parts(around, sources, readings, rights, lying.over(AS_WRITTEN))
    scaled_objects = Controller(parts, ScaledObjects(parts), settings.scaling.scaled_object_workers, tenures)
    lying.subscribe(scaled_objects.on_overlay)
    parts.activations.subscribe(SCALED_OBJECTS.kind, scaled_objects.on_turn)
    jobs, standby_reader = assemble_jobs(parts, settings, tenures), StandbyReader(parts, rights.owns)
    for listener in (scaled_objects, jobs.controller, standby_reader):
        sources.resolver.subscribe(listener.on_parameters)
    environments = assemble_environments(parts, settings, lying, leads)
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
        downscaler=assemble_downscaler(parts, settings, environments, lying.annotated, leads),
        authentications=_authentications(parts, jobs),
        cloud_events=_cloud_events(around, parts, rights),
        admission=answers.admission,
        serving=Serving(settings, around.clock, around.client, answers),
        rights=rights,
        standby_reader=standby_reader,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is known of the cluster, and where scalers come from; nothing here writes."""

    caches: Caches
    discovery: Discovery
    reader: ClusterReader
    resolver: ClusterResolver
    scalers: ScalerSource


def sources_of(around: OperatorInputs, caches: Caches) -> Sources:
    """What reads, over these caches."""
    discovery = Discovery(around.client)
    reader = ClusterReader(around.client, discovery, around.clock)
    resolver = _resolver(around, caches, reader, discovery)
    scalers = _scaler_source(around, reader, resolver)
    return Sources(caches=caches, discovery=discovery, reader=reader, resolver=resolver, scalers=scalers)


def readings_of(
    around: OperatorInputs, sources: Sources, owns: Callable[[ObjectKey], bool], on_reading: Callable[[ObjectKey], None]
) -> Readings:
    """What asks scalers; `on_reading` is told of what others than its own poll found out."""
    return Readings(
        scalers=sources.scalers,
        tasks=around.tasks,
        on_reading=on_reading,
        observer=around.instruments,
        failures=Failures(partial(_stored_health, sources.caches), owns),
    )


def _parts(
    around: OperatorInputs, sources: Sources, readings: Readings, rights: Rights, specs: Specs
) -> ScaledObjectDependencies:
    """All that is written from here on goes through a client that refuses what is not ours to write."""
    writer, caches = around.client.guarded(rights.may_write, rights.sending), sources.caches
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


def identity(settings: Settings) -> str:
    """Who we are in Lease and Events: the pod, so that a container restarted in it is still the same."""
    return settings.cluster.pod_name or f"{socket.gethostname()}_{os.getpid()}"


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
    replica = rights.sharing.membership.identity if rights.sharing is not None else ""
    return Insight(parts, known, rights.owns, replica)


def _query(parts: ScaledObjectDependencies, scaled_objects: Controller[ObjectState]) -> Query:
    targets = FallbackTarget(parts.client, parts.targets, parts.reader, scaled_objects.states)
    return Query(readings=parts.readings, targets=targets, specs=partial(_find_spec, parts))


def _admission(around: OperatorInputs, sources: Sources, environments: EnvironmentParts) -> AdmissionServer:
    events = EventRecorder(around.client, instance=identity(around.settings), controller=ADMISSION_CONTROLLER)
    overrides = environments.caches.overrides
    neighbours = RelatedObjects(around.client, sources.caches, overrides)
    requesters = Requesters(around.client, overrides)
    return AdmissionServer(around.settings, neighbours, events, around.instruments, requesters)


def _find_spec(parts: ScaledObjectDependencies, key: ObjectKey) -> ScalingSpec | None:
    live = parts.caches.scaled_objects.get(key.namespace, key.name)
    try:
        return parts.specs.read(live) if live else None
    except ConfigError:
        return None


def _stored_health(caches: Caches, key: ObjectKey) -> Mapping[str, FallbackState]:
    """A ScaledJob has no fallback, so that nothing is counted for it."""
    live = caches.scaled_objects.get(key.namespace, key.name) if key.kind == SCALED_OBJECTS.kind else None
    return read_health((live or {}).get("status") or {})


def _resolver(around: OperatorInputs, caches: Caches, reader: ClusterReader, discovery: Discovery) -> ClusterResolver:
    surroundings = AuthSurroundings(
        client=around.client,
        watches=reader.watches,
        http=around.http,
        http_timeout=around.settings.http.timeout.total_seconds(),
        clock=around.clock,
        object_namespace=around.settings.cluster.object_namespace,
        settings=around.settings.scaling,
        identities=_identities(around.settings),
        tokens=Issued(around.clock),
        logins=Issued(around.clock),
        certificates=Issued(around.clock),
        credentials=Issued(around.clock),
    )
    known = ResolverCaches(
        authentications=caches.authentications,
        cluster_authentications=caches.cluster_authentications,
        workloads=caches.workloads,
    )
    return ClusterResolver(surroundings, known, TargetPods(caches.workloads, discovery))


def _scaler_source(around: OperatorInputs, reader: ClusterReader, resolver: ClusterResolver) -> ScalerSource:
    timeout = around.settings.http.timeout.total_seconds()
    shared_context = SharedContext(
        clock=around.clock,
        http=around.http,
        http_timeout=timeout,
        kube=reader,
        tls=around.tls,
        resources=SharedResources(),
        reach=_reach(around.settings),
        answers=around.answers,
        connections=around.connections,
        identities=_identities(around.settings),
    )
    return ScalerSource(
        shared_context=shared_context,
        build=registry.build,
        resolver=resolver,
        journal=around.journal,
        zero_polling_interval=around.settings.scaling.zero_polling_interval.total_seconds(),
    )


def _reach(settings: Settings) -> Reach:
    return Reach(
        endpoints_of=frozenset(settings.scaling.cross_namespace_endpoints),
        secrets_of=settings.cluster.object_namespace if settings.scaling.restrict_secret_access else None,
    )


def _identities(settings: Settings) -> IdentityRule:
    return IdentityRule(hosts=settings.scaling.identity_hosts, anywhere=settings.scaling.identity_anywhere)


def _election(around: OperatorInputs) -> Election | None:
    lease = around.settings.leadership
    if not lease.elect:
        return None
    election = Election(around.client, _lease(around.settings))
    around.instruments.process.show_leadership(lease.lease_name, lambda: election.is_leader)
    return election


def _activation_rate(settings: Settings) -> float:
    """Our part of the cluster's: each slot has the same, also while it is vacant."""
    return settings.scaling.activations_per_second / max(settings.leadership.shards, 1)


def _rights(around: OperatorInputs) -> Rights:
    """What we may write; without an election we are the only replica."""
    return Rights(election=_election(around), sharing=share_out(around.client, _lease(around.settings)))


def _lease(settings: Settings) -> LeaseSpec:
    lease = settings.leadership
    return LeaseSpec(
        namespace=settings.cluster.pod_namespace,
        name=lease.lease_name,
        identity=identity(settings),
        duration=lease.lease_duration.total_seconds(),
        renew_deadline=lease.renew_deadline.total_seconds(),
        retry_period=lease.retry_period.total_seconds(),
        shards=lease.shards,
    )


def open_client(settings: Settings, clock: Clock, instruments: OperatorMetrics) -> KubeClient:
    """The API server's client. No write of a leader takes so long that it could land after another one took over."""
    lease = _lease(settings)
    write_seconds = shortest_write(lease) if settings.leadership.elect else REQUEST_SECONDS
    observe = instruments.process.record_exchange
    share = min(SHARE, descriptors() // (2 * PART_OF_DESCRIPTORS))
    return KubeClient(clock, settings.cluster.kubeconfig, observe=observe, write_seconds=write_seconds, share=share)


def open_http(
    settings: Settings,
    clock: Clock,
    tls: TlsContexts,
    instruments: OperatorMetrics,
    answers: AnswerBounds,
    connections: Connections,
) -> httpx.AsyncClient:
    """The HTTP client that all scalers share, as the settings say; the caller closes it."""
    spec = HttpClientSpec(
        connections=connections,
        timeout=settings.http.timeout.total_seconds(),
        keep_alive=not settings.http.disable_keep_alive,
        idle_seconds=settings.http.idle_timeout.total_seconds(),
        answers=answers,
        proxies=Proxies.from_environment(os.environ),
        user_agent=f"keda-py/{__version__}",
    )
    return http_client(spec, clock, tls, instruments.record_http)
