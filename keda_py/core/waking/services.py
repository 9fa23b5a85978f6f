"""Services as waking on request sees them: their ports and families, and why requests for some of them wake nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, text_at, texts_at

MOST_PORTS = 20
"""TCP ports of one Service. Each takes a port of the wakers, of which there are 10 000 for the whole cluster."""
_FAMILIES = ("IPv4", "IPv6")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason why requests for a Service wake nothing."""

    reason: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePort:
    """TCP port of a Service."""

    name: str
    port: int
    app_protocol: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeService:
    """A Service. `addresses` are its ClusterIPs by family."""

    namespace: str
    name: str
    uid: str
    kind: str = "ClusterIP"
    labels: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    headless: bool = False
    addresses: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[ServicePort, ...] = ()
    other_ports: tuple[str, ...] = ()
    """Ports of other protocols, such as `dns (UDP)`."""
    local: tuple[str, ...] = ()
    """Those of internalTrafficPolicy and externalTrafficPolicy that are Local."""
    deleting: bool = False

    def selects(self, pod_labels: Mapping[str, str]) -> bool:
        """Return whether pods with these labels are its endpoints."""
        return bool(self.selector) and self.selector.items() <= pod_labels.items()

    @property
    def obstacle(self) -> Obstacle | None:
        """The reason why no request for it can wake anything; None if requests can."""
        if self.kind == "ExternalName":
            return Obstacle("ExternalName", "a Service of type ExternalName has no endpoints")
        if self.headless:
            return Obstacle("Headless", "clients of a headless Service connect to pods, of which there are none")
        if not self.selector:
            return Obstacle("NoSelector", "it has no selector, so its endpoints are another controller's")
        if not self.ports:
            return Obstacle("NoTcpPort", f"only TCP ports can be woken; it has {', '.join(self.other_ports) or 'none'}")
        if len(self.ports) > MOST_PORTS:
            return Obstacle("TooManyPorts", f"it has {len(self.ports)} TCP ports; {MOST_PORTS} at most can be woken")
        return None

    def limits(self, nodes: Sequence[str]) -> Iterator[Obstacle]:
        """Yield what is not woken of a Service that can be; wakers run on these `nodes`."""
        for port in self.other_ports:
            yield Obstacle("NotTcp", f"port {port} is not woken, only TCP ports can be")
        for policy in self.local:
            told = ", ".join(sorted(set(nodes))[:5]) or "none"
            remedy = "run a waker on each node, or set it to Cluster"
            yield Obstacle(
                "LocalTraffic", f"{policy} is Local, so only nodes with a waker can wake it ({told}); {remedy}"
            )


def read_service(live: Mapping[str, Any]) -> WakeService:
    """Read a Service as stored; fields that cannot be read count as absent."""
    meta, spec = map_at(live, "metadata"), map_at(live, "spec")
    ips = [ip for ip in spec.get("clusterIPs") or [spec.get("clusterIP")] if isinstance(ip, str) and ip]
    headless = "None" in ips
    ports = [one for one in maps_at(spec, "ports") if isinstance(one.get("port"), int)]
    return WakeService(
        namespace=text_at(meta, "namespace"),
        name=text_at(meta, "name"),
        uid=text_at(meta, "uid"),
        kind=text_at(spec, "type") or "ClusterIP",
        labels=texts_at(meta, "labels"),
        selector=texts_at(spec, "selector"),
        headless=headless,
        addresses={} if headless else {_FAMILIES[":" in ip]: ip for ip in ips},
        ports=tuple(
            ServicePort(name=text_at(one, "name"), port=one["port"], app_protocol=text_at(one, "appProtocol"))
            for one in ports
            if _protocol(one) == "TCP"
        ),
        other_ports=tuple(
            f"{text_at(one, 'name') or one['port']} ({_protocol(one)})" for one in ports if _protocol(one) != "TCP"
        ),
        local=tuple(
            name for name in ("internalTrafficPolicy", "externalTrafficPolicy") if text_at(spec, name) == "Local"
        ),
        deleting="deletionTimestamp" in meta,
    )


def _protocol(port: Mapping[str, Any]) -> str:
    return text_at(port, "protocol") or "TCP"
