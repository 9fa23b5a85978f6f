"""The embedded cluster, assembled: store, API server, controllers. Wiring only; reads as a table of contents.

    async with LocalCluster() as cluster:
        Path("kubeconfig").write_text(cluster.kubeconfig())

It runs in one process and one event loop, on any `Clock`: real time for `keda-py local`, stepped time for the demo.
Used by `command.py`, the demo and the tests.
"""

import asyncio
import base64
import ssl
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import orjson
import yaml

from keda_py.clock import Clock, SystemClock
from keda_py.core.hpa.controller import ControllerOptions
from keda_py.core.values.kubernetes import SCALE_TO_ZERO
from keda_py.localkube.access.admission import Admission
from keda_py.localkube.access.checks import Access
from keda_py.localkube.access.identity import ADMIN, Identity
from keda_py.localkube.access.owners import OwnerReferences
from keda_py.localkube.access.rbac import Authorizer
from keda_py.localkube.apiserver.aggregation import Aggregation
from keda_py.localkube.apiserver.metrics_api import GROUP, POD_METRICS, VERSION, MetricsApi
from keda_py.localkube.apiserver.routes import Routes
from keda_py.localkube.apiserver.server import ApiServer
from keda_py.localkube.bootstrap import create_initial_objects
from keda_py.localkube.builtin.builtins import builtin_registry
from keda_py.localkube.controllers.autoscaling.horizontal import SYNC_SECONDS
from keda_py.localkube.controllers.shared.pods import NODE, NODE_ADDRESS
from keda_py.localkube.model.calls import Call, User
from keda_py.localkube.plane import ControlPlane, PlaneOptions
from keda_py.localkube.store.custom_resources import CustomResources
from keda_py.localkube.store.services import ServiceAddresses
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj, Registry
from keda_py.schema.status import StatusError, bad_request

_METRICS_PRIORITY = 100
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml may be missing


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """The flags of a real control plane that matter here; `port` 0 takes a free one.

    Without `enforce_rbac` every request is allowed, and access reviews still answer by the roles.
    """

    host: str = "127.0.0.1"
    port: int = 0
    hpa_sync_seconds: float = SYNC_SECONDS
    hpa: ControllerOptions = field(default_factory=ControllerOptions)
    enforce_rbac: bool = False


class LocalCluster:
    """An embedded cluster that serves while its asynchronous context is entered."""

    def __init__(self, clock: Clock | None = None, options: ClusterOptions | None = None) -> None:
        self.clock, self._options = clock or SystemClock(), options or ClusterOptions()
        self.identity = Identity(self.clock)
        gates = [SCALE_TO_ZERO] if self._options.hpa.scale_to_zero else []
        self.store = Store(self.clock, builtin_registry(gates))
        addresses = ServiceAddresses(self.store)
        self._aggregation = Aggregation(self.store, addresses, self.identity.front_proxy)
        self.controllers = ControlPlane(self.store, self._aggregation, self._plane_options())
        self._custom_resources = CustomResources(self.store)
        self.authorizer = Authorizer(self.store)
        access = Access(identity=self.identity, authorizer=self.authorizer, enforced=self._options.enforce_rbac)
        owners = OwnerReferences(self.store.resources, access)
        self._admission = Admission(self.store, addresses, owners)
        self.routes = Routes(self.store, access, self._admission, self._aggregation)
        context = self.identity.server_context(self._options.host)
        self._server = ApiServer(self.routes.answer, self.identity, self.clock, context)
        self._running = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Start the controllers, create the initial objects, then listen: clients never see a half-made cluster."""
        # The aggregation closes last: controllers ask metrics through it until they have stopped.
        self._running.push_async_callback(self._aggregation.aclose)
        self._running.push_async_callback(self._admission.aclose)
        await self._running.enter_async_context(self.controllers)
        # The controllers run before the first object is stored, since they learn of objects by events alone.
        self._serve_metrics()
        create_initial_objects(self.store, self.identity)
        for obj in (_node(), *_local_api_services(self.store.resources)):
            self.store.create(self.store.resources.get(obj["apiVersion"], obj["kind"]), obj)
        await self._server.start(self._options.host, self._options.port)
        self._running.push_async_callback(self._server.stop)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._running.__aexit__(kind, error, trace)

    async def wait(self) -> None:
        """Serve until cancelled."""
        await asyncio.get_running_loop().create_future()

    @property
    def url(self) -> str:
        """The API server's address, with scheme and port."""
        return self._server.url

    def client_context(self, user: User = ADMIN) -> ssl.SSLContext:
        """Build TLS with a client certificate for `user`."""
        return self.identity.client_context(user)

    def kubeconfig(self, user: User = ADMIN) -> str:
        """A kubeconfig for `user` in YAML, with certificates and key inline."""
        pair = self.identity.client_pair(user)
        credentials = {"client-certificate-data": _encoded(pair.certificate), "client-key-data": _encoded(pair.key)}
        authority = {"certificate-authority-data": _encoded(self.identity.certificate_authority)}
        context = {"cluster": "keda-py-local", "user": user.name}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "keda-py-local", "cluster": {"server": self.url, **authority}}],
            "users": [{"name": user.name, "user": credentials}],
            "contexts": [{"name": "keda-py-local", "context": context}],
            "current-context": "keda-py-local",
        }
        return yaml.dump(config, Dumper=_DUMPER, sort_keys=False)

    def token_kubeconfig(self, user: User = ADMIN, url: str = "") -> str:
        """Return a kubeconfig in JSON with a token, as a process in a pod has one; `url` replaces the cluster's own."""
        server = url or self.url
        authority = {"certificate-authority-data": _encoded(self.identity.certificate_authority)}
        trusted = authority if server.startswith("https:") else {}  # plain HTTP has nothing to verify
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "keda-py-local", "cluster": {"server": server, **trusted}}],
            "users": [{"name": user.name, "user": {"token": self.identity.issue(user)}}],
            "contexts": [{"name": "keda-py-local", "context": {"cluster": "keda-py-local", "user": user.name}}],
            "current-context": "keda-py-local",
        }
        return orjson.dumps(config).decode()

    async def apply(self, manifests: Iterable[Obj]) -> None:
        """Apply manifests in order, as `kubectl apply --server-side` does. Raises StatusError for a refusal."""
        for manifest in manifests:
            answer = await self.routes.answer(self._apply_call(manifest))
            if answer.status >= 400:
                body = answer.body if isinstance(answer.body, dict) else {}
                raise StatusError(answer.status, body.get("reason", ""), body.get("message", ""), body.get("details"))

    def _apply_call(self, manifest: Obj) -> Call:
        api_version, kind, name = manifest.get("apiVersion", ""), manifest.get("kind", ""), manifest["metadata"]["name"]
        group, _, version = api_version.rpartition("/")
        resource = self.store.resources.of_kind(group, version, kind)
        if resource is None:
            raise bad_request(f'no matches for kind "{kind}" in version "{api_version}": is its CRD missing?')
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        namespace = manifest["metadata"].get("namespace") or "default"
        scope = f"/namespaces/{namespace}" if resource.namespaced else ""
        return Call(
            method="PATCH",
            path=f"{root}{scope}/{resource.plural}/{name}",
            query={"fieldManager": "keda-py-local", "force": "true"},
            headers={"content-type": "application/apply-patch+yaml"},
            body=orjson.dumps(manifest),
            user=ADMIN,
        )

    def _plane_options(self) -> PlaneOptions:
        return PlaneOptions(
            hpa=self._options.hpa,
            hpa_sync_seconds=self._options.hpa_sync_seconds,
            certificate_authority=self.identity.certificate_authority.decode(),
        )

    def _serve_metrics(self) -> None:
        self.store.resources.serve(POD_METRICS, _METRICS_PRIORITY)
        self._aggregation.serve_here(GROUP, VERSION, MetricsApi(self.store, self.controllers.usage).answer)


def _encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def _node() -> Obj:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    labels = {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}
    addresses = [{"type": "InternalIP", "address": NODE_ADDRESS}, {"type": "Hostname", "address": NODE}]
    info = {"kubeletVersion": "v1.36.2", "operatingSystem": "linux", "architecture": "amd64"}
    status = {"conditions": [ready], "addresses": addresses, "nodeInfo": info}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": labels}, "status": status}


def _local_api_services(registry: Registry) -> list[Obj]:
    """Build an APIService for each group version that this server answers itself; a real server lists them, too."""
    return [
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{group.name}"},
            "spec": {
                "group": group.name,
                "version": version,
                "groupPriorityMinimum": group.priority,
                "versionPriority": 15,
            },
        }
        for group in registry.groups()
        for version in group.versions
    ]
