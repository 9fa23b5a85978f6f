"""A waker of this process, the cluster that it follows, and an operator that only listens.

Slices are written here as the operator and the endpointslice controller write them. Pods are servers of the test; their
addresses are those of this machine.
"""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from aiohttp import web

from keda_py.cli.flags import read_flags
from keda_py.cli.processes.waker import PAGE
from keda_py.clock import SystemClock
from keda_py.core.waking.rules import (
    ANNOTATION,
    LABEL,
    LABEL_VALUE,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    SERVICE_LABEL,
    WakerPort,
    WakeRules,
    WakeState,
    write_rules,
)
from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import ENDPOINT_SLICES, Obj
from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.model.calls import User
from keda_py.settings.waker import load_waker_settings
from keda_py.waker.app import run_waker
from keda_py.waker.limits import Limits
from tests.builders import a_namespace, obj
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.kubeconfigs import token_kubeconfig
from tests.plain_http import plain_http
from tests.servers import LOOPBACK, free_port
from tests.waiting import eventually

NAMESPACE = "shop"
POD = "keda-waker-0"
QUICK = Limits(linger=0.2, coalesce=0.05, repeat=0.5)
"""Bounds whose end a test waits for."""


def rules(service: str = "web", *ports: tuple[str, int], **more: Any) -> WakeRules:
    """Rules of a Service that sleeps, held by the Environment `night`."""
    plain = WakeRules(
        owner_kind="Environment",
        owner_name="night",
        service_name=service,
        service_uid=f"uid-{service}",
        state=WakeState.ASLEEP,
        hold=120,
        ports=tuple(WakerPort(name=name, port=port, service_port=80) for name, port in ports),
    )
    return replace(plain, **more)


@dataclass(kw_only=True)
class Lab:
    """The waker under test, and what a test changes around it."""

    client: KubeClient
    http: httpx.AsyncClient
    """For its metrics."""
    operator: HttpServer
    calls: list[dict[str, Any]] = field(default_factory=list)
    """Messages that the operator was told."""
    on_call: Callable[[dict[str, Any]], Awaitable[None]] | None = None
    status: int = 202
    """The operator's answer."""
    metrics_port: int = 0
    health_port: int = 0
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    waker: "asyncio.Task[None] | None" = None

    async def sleep(self, service: str = "web", *names: str, namespace: str = NAMESPACE, **more: Any) -> list[int]:
        """Lead a Service to the waker, and return its ports once they are listened on."""
        ports = [free_port() for _ in names or ("",)]
        pairs = zip(names or ("",), ports, strict=True)
        await self.put(rules(service, *pairs, **more), namespace=namespace)
        for port in ports:
            await eventually(lambda port=port: listens(port))
        return ports

    async def put(self, wanted: WakeRules, namespace: str = NAMESPACE, **protocols: str) -> None:
        """Write the slice that leads to wakers."""
        ports = [
            {"name": port.name, "port": port.port, "protocol": "TCP", "appProtocol": protocols.get(port.name)}
            for port in wanted.ports
        ]
        labels = {SERVICE_LABEL: wanted.service_name, LABEL: LABEL_VALUE, MANAGED_BY_LABEL: MANAGED_BY}
        found = _slice(f"{wanted.service_name}-keda-py-waker", namespace, labels, ports, [])
        found["metadata"]["annotations"] = {ANNOTATION: write_rules(wanted)}
        await self._write(found)

    async def pods(
        self, service: str, doors: dict[str, Sequence[int]], *, namespace: str = NAMESPACE, ready: bool = True
    ) -> None:
        """Write the slices of the endpointslice controller: one for each pod, which has one address here."""
        for number in range(8):
            with suppress(NotFound):
                await self.client.delete(ENDPOINT_SLICES.named(namespace, f"{service}-{number}"))
        for number in range(max(map(len, doors.values()), default=0)):
            ports = [
                {"name": name, "port": found[number], "protocol": "TCP"}
                for name, found in doors.items()
                if number < len(found)
            ]
            endpoint = {
                "addresses": [LOOPBACK],
                "conditions": {"ready": ready, "serving": ready, "terminating": False},
                "targetRef": {"kind": "Pod", "name": f"{service}-{number}", "namespace": namespace},
            }
            labels = {SERVICE_LABEL: service, MANAGED_BY_LABEL: "endpointslice-controller.k8s.io"}
            await self._write(_slice(f"{service}-{number}", namespace, labels, ports, [endpoint]))

    async def delete(self, service: str = "web", namespace: str = NAMESPACE) -> None:
        """Delete the slice that leads to wakers."""
        await self.client.delete(ENDPOINT_SLICES.named(namespace, f"{service}-keda-py-waker"))

    async def _write(self, wanted: Obj) -> None:
        metadata = wanted["metadata"]
        path = ENDPOINT_SLICES.named(metadata["namespace"], metadata["name"])
        try:
            old = await self.client.get(path)
        except NotFound:
            await self.client.create(ENDPOINT_SLICES, wanted)
        else:
            metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
            await self.client.update(path, wanted)

    async def metric(self, name: str) -> float:
        """Return the sum of a metric's series on the waker's page."""
        page = (await self.http.get(f"http://{LOOPBACK}:{self.metrics_port}/metrics")).text
        return sum(
            float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith((f"{name}{{", f"{name} "))
        )

    def is_up(self) -> bool:
        """Return whether the waker has opened its ports for the kubelet."""
        return listens(self.health_port)

    async def stop(self) -> None:
        """Send the waker away, and wait until it has gone."""
        self.stopping.set()
        assert self.waker is not None
        await self.waker


def _slice(name: str, namespace: str, labels: dict[str, str], ports: list[Any], endpoints: list[Any]) -> Obj:
    return obj(
        "discovery.k8s.io/v1", "EndpointSlice", name, namespace, addressType="IPv4", ports=ports, endpoints=endpoints
    ) | {"metadata": {"name": name, "namespace": namespace, "labels": labels}}


def listens(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), 1.0).close()
    except OSError:
        return False
    return True


@asynccontextmanager
async def open_surroundings(
    folder: Path, user: User = ADMIN, roles: Sequence[Obj] = ()
) -> AsyncIterator[tuple[Lab, list[str], dict[str, str]]]:
    """The world of a waker, and the flags and variables of its process; `roles` are enforced where there are any."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(LocalCluster(clock, ClusterOptions(enforce_rbac=bool(roles))))
        url = await stack.enter_async_context(plain_http(cluster))
        await cluster.apply([a_namespace(NAMESPACE), a_namespace("other"), *roles])
        kubeconfig, own = folder / "kubeconfig", folder / "waker"
        kubeconfig.write_text(token_kubeconfig(cluster, url=url))
        own.write_text(token_kubeconfig(cluster, user, url=url))
        authority = Authority()
        (folder / "ca.crt").write_text(authority.cert)
        client = await stack.enter_async_context(KubeClient(clock, str(kubeconfig)))
        operator = await stack.enter_async_context(http_server(authority.server_context(folder)))
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
        lab = Lab(client=client, http=http, operator=operator, metrics_port=free_port(), health_port=free_port())
        operator.answers["/wake"] = _operator(lab)
        flags = {
            "kubeconfig": own,
            "operator-url": operator.url,
            "operator-ca-file": folder / "ca.crt",
            "bind-address": LOOPBACK,
            "metrics-bind-address": f"{LOOPBACK}:{lab.metrics_port}",
            "health-probe-bind-address": f"{LOOPBACK}:{lab.health_port}",
            "shutdown-delay": "0s",
            "drain-period": "0s",
        }
        yield lab, [f"--{name}={value}" for name, value in flags.items()], {"POD_NAME": POD, "POD_IP": LOOPBACK}


@asynccontextmanager
async def open_process(folder: Path) -> AsyncIterator[tuple[Lab, asyncio.subprocess.Process]]:
    """A waker as the image runs it, and the rest of its world. It has to live until the end, unless the test ends it."""
    async with open_surroundings(folder) as (lab, flags, env):
        command = (sys.executable, "-m", "keda_py", "waker", *flags)
        process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **env})
        try:
            await eventually(lambda: process.returncode is not None or lab.is_up(), 60)
            assert process.returncode is None, "the waker has ended"
            yield lab, process
            assert process.returncode is None or lab.stopping.is_set(), "the waker has ended"
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


@asynccontextmanager
async def open_lab(
    folder: Path, limits: Limits = QUICK, user: User = ADMIN, roles: Sequence[Obj] = (), **flags: str
) -> AsyncIterator[Lab]:
    """A waker at work in this process, and the rest of its world. `flags` with underscores."""
    async with open_surroundings(folder, user, roles) as (lab, given, env):
        more = [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]
        settings = load_waker_settings(read_flags([*given, *more], PAGE).values, env)
        running = run_waker(settings, SystemClock(), lab.stopping, limits)
        lab.waker = asyncio.get_running_loop().create_task(running)
        await eventually(lambda: lab.is_up() or lab.waker.done())
        try:
            yield lab
        finally:
            await lab.stop()


def _operator(lab: Lab) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"].startswith("Bearer ")
        if request.method == "POST" and lab.status < 300:
            told = await request.json()
            lab.calls.append(told)
            if lab.on_call is not None:
                await lab.on_call(told)
        return web.Response(status=lab.status)

    return answer
