"""What every kind of operator needs opened: the API server's client, HTTP for scalers, the group of their tasks."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from keda_py import __version__
from keda_py.answers.bounds import AnswerBounds
from keda_py.answers.connections import PART_OF_DESCRIPTORS, Connections
from keda_py.clock import Clock
from keda_py.kube.client import REQUEST_SECONDS, SHARE, KubeClient, RequestLimits
from keda_py.kube.leases.lease_record import LeaseSpec
from keda_py.kube.leases.slots import shortest_write
from keda_py.net.http import HttpClientSpec, Proxies, http_client
from keda_py.net.tls import TlsContexts
from keda_py.readings.journal import Journal
from keda_py.serving.ports.listening import descriptors
from keda_py.settings.settings import Settings
from keda_py.telemetry.prometheus import OperatorMetrics


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


@asynccontextmanager
async def opened(settings: Settings, clock: Clock, journal: Journal) -> AsyncIterator[OperatorInputs]:
    """Open while the block lasts; its tasks have ended before anything is closed. Raises ConfigError."""
    instruments = OperatorMetrics(detailed=settings.serving.detailed_http_metrics)
    client = open_client(settings, clock, instruments)
    tls = TlsContexts(settings.http.min_tls_version, settings.http.ciphers, settings.certificates.ca_dirs)
    answers = AnswerBounds(settings.http.max_response_bytes)
    connections = Connections(share=descriptors() // PART_OF_DESCRIPTORS)
    http = open_http(settings, clock, tls, instruments, answers, connections)
    async with client, answers, http, asyncio.TaskGroup() as tasks:
        yield OperatorInputs(
            settings=settings,
            clock=clock,
            client=client,
            http=http,
            answers=answers,
            connections=connections,
            tls=tls,
            tasks=tasks,
            instruments=instruments,
            journal=journal,
        )


def identity(settings: Settings) -> str:
    """Who we are in Lease and Events: the pod, so that a container restarted in it is still the same."""
    return settings.cluster.pod_name or f"{socket.gethostname()}_{os.getpid()}"


def lease_of(settings: Settings) -> LeaseSpec:
    """The Lease of the leader, by the flags of leader election."""
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
    lease = lease_of(settings)
    write_seconds = shortest_write(lease) if settings.leadership.elect else REQUEST_SECONDS
    observe = instruments.process.record_exchange
    share = min(SHARE, descriptors() // (2 * PART_OF_DESCRIPTORS))
    return KubeClient(
        clock,
        settings.cluster.kubeconfig,
        observe=observe,
        limits=RequestLimits(write_seconds=write_seconds, share=share),
        remedy=remedy_for,
    )


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


# Which value of charts/keda-py gives the operator a right that it lacks.
#
# The API server's refusal says which right is missing; the remedy goes behind it, into conditions, Events and logs. A
# right that every installation gives has no remedy here.

_VALUES = {
    "jobs": "permissions.operator.scaledJobs",
    "pods": "permissions.operator.kubernetesWorkload, and for Jobs permissions.operator.scaledJobs,",
    "serviceaccounts": "permissions.operator.podIdentities",
    "serviceaccounts/token": "permissions.operator.restrict.serviceAccountTokenCreationRoles",
    "configmaps": "permissions.operator.restrict.configMapNamesAllowList",
    "secrets": "permissions.operator.restrict.namesAllowList or permissions.operator.restrict.secret",
    "cronjobs": "environments.enabled",
    "kedadefaults": "kedaDefaults.enabled",
    "clusterkedadefaults": "kedaDefaults.enabled",
}
_SCALE = "rbac.scaledRefKinds"


def remedy_for(resource: str) -> str:
    """What gives a right to the resource, "" where no value does; `resource` may have a subresource behind a slash."""
    value = _VALUES.get(resource) or (_SCALE if resource.endswith("/scale") else "")
    return f"in charts/keda-py the value {value} gives this right" if value else ""
