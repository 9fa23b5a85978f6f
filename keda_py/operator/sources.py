"""The sources of an operator: caches, scalers, and the resolver of their parameters. Nothing here writes.

`assembly.py` and `shadow/app.py` build on it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from keda_py.auth.cluster_resolver import ClusterResolver, ResolverCaches
from keda_py.auth.lookup.credential_cache import Issued
from keda_py.auth.lookup.lookup import ResolverContext as AuthSurroundings
from keda_py.auth.lookup.target_pods import TargetPods
from keda_py.core.fallback import FallbackState, read_health
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.discovery import Discovery
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.net.operator_identity import IdentityRule
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.opening import OperatorInputs
from keda_py.operator.waking.caches import WakingCaches
from keda_py.operator.waking.request_triggers import RequestTriggers
from keda_py.readings.failures import Failures
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.sdk import registry
from keda_py.sdk.context import Reach, SharedContext, SharedResources
from keda_py.settings.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Caches of the cluster, and the source of scalers; nothing here writes."""

    caches: Caches
    discovery: Discovery
    reader: ClusterReader
    resolver: ClusterResolver
    scalers: ScalerSource
    requests: RequestTriggers | None
    """None without wakers."""


def sources_of(around: OperatorInputs, caches: Caches) -> Sources:
    """Build the sources over these caches."""
    discovery = Discovery(around.client)
    reader = ClusterReader(around.client, discovery, around.clock)
    resolver = _resolver(around, caches, reader, discovery)
    requests = _requests(around, caches)
    scalers = _scaler_source(around, reader, resolver, requests)
    return Sources(
        caches=caches, discovery=discovery, reader=reader, resolver=resolver, scalers=scalers, requests=requests
    )


def _requests(around: OperatorInputs, caches: Caches) -> RequestTriggers | None:
    service, cluster = around.settings.environments.waker_service, around.settings.cluster
    if not service:
        return None
    waking = WakingCaches(around.client, cluster.watch_namespaces, cluster.pod_namespace, service)
    return RequestTriggers(clock=around.clock, cluster=caches, waking=waking)


def readings_of(
    around: OperatorInputs, sources: Sources, owns: Callable[[ObjectKey], bool], on_reading: Callable[[ObjectKey], None]
) -> Readings:
    """The readings of all scalers; `on_reading` is called for those that no poll of the operator caused."""
    return Readings(
        scalers=sources.scalers,
        tasks=around.tasks,
        on_reading=on_reading,
        observer=around.instruments,
        failures=Failures(partial(_stored_health, sources.caches), owns),
    )


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


def _scaler_source(
    around: OperatorInputs, reader: ClusterReader, resolver: ClusterResolver, requests: RequestTriggers | None
) -> ScalerSource:
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
        wakes=requests,
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
