"""The chart, installed on a cluster that enforces its roles, and the operator as the chart's ServiceAccount.

The Services lead to this process, which runs the flags and variables of the rendered Deployment; the rest is applied
as rendered.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.informer import Informer
from keda_py.kube.informer_spec import InformerSpec
from keda_py.kube.resources import Resource
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.identity import service_account
from keda_py.operator.app import run_operator
from keda_py.operator.assembly import Assembly
from keda_py.settings import load_settings
from tests.charts.rendering import Obj, only, render
from tests.e2e.world import SECONDS, Condition, World
from tests.operator.admission_world import LOOPBACK, free_port

SHOP = "shop"
METRICS, WEBHOOKS = "keda-operator-metrics-apiserver", "keda-admission-webhooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A namespace to work in as the administrator, and what the API server thought of the operator."""

    cluster: LocalCluster
    world: World

    async def until_listed(self, resource: Resource, namespace: str, condition: Condition) -> None:
        """Return once an object of that namespace fulfils `condition`."""
        informer = Informer(self.world.client, InformerSpec(resource=resource, namespaces=(namespace,)))
        found = asyncio.Event()
        informer.subscribe(lambda old, new: found.set() if new is not None and condition(new) else None)
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(informer.run())
            await found.wait()
            running.cancel()

    @property
    def refused(self) -> list[str]:
        """Requests that no role allowed."""
        page = self.cluster.routes.metrics.answer().body
        assert isinstance(page, bytes)
        return [line for line in page.decode().splitlines() if 'code="403"' in line and "_total{" in line]


@asynccontextmanager
async def installed(folder: Path, **values: Any) -> AsyncIterator[Installed]:
    """Install with these values; the operator runs while the block lasts."""
    objects = render(**values)
    ports = {METRICS: free_port(), WEBHOOKS: free_port()}
    async with LocalCluster(SystemClock(), ClusterOptions(enforce_rbac=True, hpa_sync_seconds=1)) as cluster:
        names = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("keda", SHOP)]
        await cluster.apply([*names, *(_leading_here(one, ports) for one in objects)])
        admin, operator = folder / "admin", folder / "operator"
        admin.write_text(cluster.kubeconfig())
        operator.write_text(cluster.kubeconfig(service_account("keda", "keda-operator")))
        flags, env = _told(only(objects, "Deployment", "keda-operator", "keda"))
        flags |= {
            "kubeconfig": str(operator),
            "bind-address": LOOPBACK,
            "secure-port": str(ports[METRICS]),
            "webhook-port": str(ports[WEBHOOKS]),
            "metrics-bind-address": "0",
            "health-probe-bind-address": "0",
        }
        async with KubeClient(SystemClock(), str(admin)) as client, _running(flags, env):
            yield Installed(cluster=cluster, world=World(client=client, kubeconfig=admin, namespace=SHOP))


@asynccontextmanager
async def _running(flags: dict[str, str], env: dict[str, str]) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    started: asyncio.Future[Assembly] = asyncio.get_running_loop().create_future()
    settings = load_settings({flag: [value] for flag, value in flags.items()}, env)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run_operator(settings, SystemClock(), stopping, started.set_result))
        try:
            await asyncio.wait([running, started], return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            stopping.set()


def _told(deployment: Obj) -> tuple[dict[str, str], dict[str, str]]:
    """Flags and environment of the container; the fields of a pod are the test's."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    pairs = (argument.removeprefix("--").partition("=") for argument in container["args"][1:])
    env = {"POD_NAME": "keda-operator-0", "POD_NAMESPACE": "keda", "POD_IP": LOOPBACK}
    told = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    return {name: value or "true" for name, _, value in pairs}, env | told


def _leading_here(one: Obj, ports: dict[str, int]) -> Obj:
    """A Service as the name of this machine, and who refers to one with the port of this process."""
    match one["kind"]:
        case "Service":
            return {**one, "spec": {"type": "ExternalName", "externalName": LOOPBACK}}
        case "APIService":
            service = one["spec"]["service"]
            return {**one, "spec": {**one["spec"], "service": {**service, "port": ports[service["name"]]}}}
        case "ValidatingWebhookConfiguration":
            return {**one, "webhooks": [_webhook(each, ports) for each in one["webhooks"]]}
    return one


def _webhook(webhook: Obj, ports: dict[str, int]) -> Obj:
    service = webhook["clientConfig"]["service"]
    return {**webhook, "clientConfig": {"service": {**service, "port": ports[service["name"]]}}}
