"""Services that sleep and pods that are ready, by the EndpointSlices of the cluster.

The operator's slices name the ports on which to listen, and carry the rules of their Service; those of the
endpointslice controller name its pods. One informer follows both. A connection's Service comes from the port that it
arrived at, and the pods are those of that Service's namespace alone, so no client chooses where it is passed on to.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Any

from keda_py.core.waking.rules import (
    ANNOTATION,
    LABEL,
    LABEL_VALUE,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    SERVICE_LABEL,
    WakeRules,
    read_rules,
)
from keda_py.errors import ConfigError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import ENDPOINT_SLICES, Obj
from keda_py.waker.claims import Claims
from keda_py.waker.diallers import Door
from keda_py.waker.service_port import ServicePort
from keda_py.waker.sleeping_service import SleepingService
from keda_py.waker.surroundings import Surroundings
from keda_py.waker.wake_calls import WakeCalls

log = logging.getLogger(__name__)

CONTROLLER = "endpointslice-controller.k8s.io"
BY_SERVICE = "service"
MOST_DOORS = 100
"""Pods of one port that are tried; a wake needs the first one."""


def trim(obj: Obj) -> Obj | None:
    """Keep of a slice what a waker reads; None for slices of other controllers, which no connection is passed on to."""
    metadata, labels = obj["metadata"], obj["metadata"].get("labels") or {}
    service = labels.get(SERVICE_LABEL)
    if not service:
        return None
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    kept: Obj = {"metadata": {name: metadata.get(name, "") for name in names}, "service": service}
    ports = obj.get("ports") or ()
    if labels.get(LABEL) == LABEL_VALUE and labels.get(MANAGED_BY_LABEL) == MANAGED_BY:
        kept["rules"] = (metadata.get("annotations") or {}).get(ANNOTATION, "")
        kept["protocols"] = {port.get("name") or "": port.get("appProtocol") or "" for port in ports}
        return kept
    if labels.get(MANAGED_BY_LABEL) != CONTROLLER:
        return None
    kept["ports"] = {port.get("name") or "": port["port"] for port in ports if _is_tcp(port)}
    kept["addresses"] = [*_ready(obj.get("endpoints") or (), metadata.get("namespace", ""))]
    return kept


def _is_tcp(port: Obj) -> bool:
    return (port.get("protocol") or "TCP") == "TCP" and isinstance(port.get("port"), int)


def _ready(endpoints: Sequence[Obj], namespace: str) -> Iterator[str]:
    """Yield the addresses of ready pods of the namespace; a condition that is left out counts as true."""
    for endpoint in endpoints:
        conditions, target = endpoint.get("conditions") or {}, endpoint.get("targetRef") or {}
        is_ready = conditions.get("ready") is not False and not conditions.get("terminating")
        is_own = target.get("kind") == "Pod" and target.get("namespace", namespace) == namespace
        if is_ready and is_own:
            yield from (endpoint.get("addresses") or ())[:1]


class Directory:
    """All Services that sleep. `own_address` is that of this pod."""

    def __init__(
        self, client: KubeClient, namespaces: tuple[str, ...], around: Surroundings, calls: WakeCalls, own_address: str
    ) -> None:
        self._around, self._calls, self._own = around, calls, own_address
        spec = InformerSpec(
            resource=ENDPOINT_SLICES,
            namespaces=namespaces,
            transform=trim,
            indexes={BY_SERVICE: lambda obj: [_service_key(obj)]},
        )
        self._slices = Informer(client, spec)
        self._services: dict[str, SleepingService] = {}
        self._claims = Claims()
        self._listeners: dict[tuple[str, str], tuple[int, asyncio.Task[None]]] = {}
        """Listening port and its task, by (key of the Service, port name)."""
        self._leaving: dict[str, asyncio.TimerHandle] = {}
        self._is_stopped = False

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        self._slices.subscribe(self._note)
        await self._slices.run()

    @property
    def is_ready(self) -> bool:
        """Return whether the slices are known, and all ports that are ours were tried."""
        return self._slices.synced and all(port.tried.is_set() for port in self._listening())

    def stop_listening(self) -> None:
        """Accept no more connections, whatever slices say from now on; those that are open are served."""
        self._is_stopped = True
        for _, task in self._listeners.values():
            task.cancel()
        self._listeners.clear()

    def _listening(self) -> Iterator[ServicePort]:
        for service, name in self._listeners:
            yield self._services[service].ports[name]

    def _note(self, old: Obj | None, new: Obj | None) -> None:
        """Take a change of a slice."""
        changed = new or old
        assert changed is not None
        key = _service_key(changed)
        if "rules" in changed:
            self._plan(key)
        elif key in self._services:
            self._show_doors(key)

    def _plan(self, key: str) -> None:
        """Make, change or end the Service, as its slices say now."""
        found = self._read(key)
        if found is None:
            self._claims.release(key)
            self._begin_leaving(key)
        else:
            obj, rules = found
            service = self._services.get(key)
            if service is not None and service.uid != rules.service_uid:  # deleted, and made again
                self._end(key)
                service = None
            if (timer := self._leaving.pop(key, None)) is not None:
                timer.cancel()
            if service is None:
                service = SleepingService(obj["metadata"]["namespace"], rules, self._around, self._calls)
                self._services[key] = service
                self._calls.needed.set()
            service.take_rules(rules)
            service.is_gone, service.slice_name = False, obj["metadata"]["name"]
            made = obj["metadata"]["creationTimestamp"], obj["metadata"]["uid"]
            self._claims.claim(key, {port.name: port.port for port in rules.ports}, made)
            self._make_ports(service, rules, obj["protocols"])
            self._show_doors(key)
        self._listen()

    def _read(self, key: str) -> tuple[Obj, WakeRules] | None:
        """Return the first of the Service's slices of ours that can be read; both families have the same rules."""
        ours = [obj for obj in self._slices.by_index(BY_SERVICE, key) if "rules" in obj]
        for obj in sorted(ours, key=lambda obj: (obj["metadata"]["creationTimestamp"], obj["metadata"]["uid"])):
            try:
                rules = read_rules(obj["rules"])
            except ConfigError as error:
                log.warning("slice is not followed", extra={"slice": obj["metadata"]["name"], "error": str(error)})
                continue
            if rules.service_name == obj["service"]:
                return obj, rules
        return None

    def _make_ports(self, service: SleepingService, rules: WakeRules, protocols: dict[str, str]) -> None:
        for port in rules.ports:
            protocol = protocols.get(port.name, "")
            if port.name not in service.ports:
                service.ports[port.name] = ServicePort(service, port.name, protocol, self._around)
            service.ports[port.name].app_protocol = protocol

    def _listen(self) -> None:
        """Listen on the ports that our Services hold, and on no others."""
        if self._is_stopped:
            return
        wanted = {(key, name): port for port, (key, name) in self._claims.holders().items()}
        lingering = {key for key in self._leaving if key in self._services}
        for place, (port, task) in list(self._listeners.items()):
            keeps = place[0] in lingering and port not in self._claims.holders()
            if wanted.get(place) != port and not keeps:
                task.cancel()
                del self._listeners[place]
        for place, port in wanted.items():
            if place not in self._listeners:
                serving = self._services[place[0]].ports[place[1]].serve(port)
                self._listeners[place] = port, self._around.tasks.create_task(serving)

    def _begin_leaving(self, key: str) -> None:
        """Go on for a moment: proxies and ingresses still send connections after the slice has gone."""
        service = self._services.get(key)
        if service is not None and key not in self._leaving:
            service.is_gone = True
            later, limits = asyncio.get_running_loop().call_later, self._around.limits
            self._leaving[key] = later(limits.linger, self._end, key)
            for port in service.ports.values():
                later(min(limits.leave, limits.linger), port.ask_to_leave)

    def _end(self, key: str) -> None:
        """Stop listening for the Service; connections that are open go on until they end."""
        self._leaving.pop(key, None)
        service = self._services.pop(key)
        service.is_gone = True
        for name in service.ports:
            listener = self._listeners.pop((key, name), None)
            if listener is not None:
                listener[1].cancel()
        self._around.metrics.forget(service.key)
        if not self._services:
            self._calls.needed.clear()

    def _show_doors(self, key: str) -> None:
        service, doors = self._services[key], dict[str, list[Door]]()
        for obj in self._slices.by_index(BY_SERVICE, key):
            for name, port in (obj.get("ports") or {}).items():
                reachable = [(address, port) for address in obj["addresses"] if self._is_reachable(address, port)]
                doors.setdefault(name, []).extend(reachable)
        for name, waiting in service.ports.items():
            waiting.update(doors.get(name, ())[:MOST_DOORS])

    def _is_reachable(self, address: str, port: int) -> bool:
        """Return whether an address may be a pod's: not this waker, nor what only this machine or node reaches.

        The API server refuses loopback and link-local addresses, so only a cluster on one machine has any.
        """
        try:
            found, own = ip_address(address), ip_address(self._own) if self._own else None
        except ValueError:
            return False
        if found.is_loopback and own is not None and own.is_loopback:
            return all(port != listening for listening, _ in self._listeners.values())
        is_special = found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified
        return not is_special and found != own


def _service_key(obj: Obj) -> str:
    metadata: Any = obj["metadata"]
    return f"{metadata['namespace']}/{obj['service']}"
