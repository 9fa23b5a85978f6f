"""The EndpointSlices that lead a Service to wakers: as stored, and as they are written."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, text_at, texts_at
from keda_py.core.waking.rules import (
    ANNOTATION,
    LABEL,
    LABEL_VALUE,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    REQUEST_ANNOTATION,
    SERVICE_LABEL,
    WakeRules,
    read_rules,
    write_rules,
)
from keda_py.core.waking.services import WakeService

SUFFIX = "-keda-py-waker"
_SUFFIXES = {"IPv4": SUFFIX, "IPv6": f"{SUFFIX}-ipv6"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class WakerAddress:
    """Address of a waker pod; ready, where it is not said otherwise."""

    family: str
    namespace: str
    pod: str
    node: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeOwner:
    """Object that wants a Service to be woken."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSeen:
    """A slice with our label as stored. `rules` is the text of its annotation."""

    namespace: str
    name: str
    uid: str
    version: str
    created: str
    family: str
    service: str
    owner: WakeOwner
    rules: str
    ports: Mapping[str, int]
    endpoints: frozenset[WakerAddress]
    request: str = ""
    """The annotation in which a waker asks for a wake."""

    @property
    def owner_uid(self) -> str:
        return self.owner.uid

    @property
    def age(self) -> tuple[str, str]:
        """Sorts slices, the oldest first: it keeps a port that two slices claim."""
        return self.created, self.uid


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeWish:
    """An owner's wish for one Service; the ports of `rules` are filled in here."""

    owner: WakeOwner
    rules: WakeRules


def stored_wish(seen: SliceSeen, service: WakeService) -> WakeWish:
    """Return what the owner of a slice wanted of this Service when the slice was written. Raises ConfigError."""
    return WakeWish(owner=seen.owner, rules=replace(read_rules(seen.rules), service_uid=service.uid))


@dataclass(frozen=True, slots=True, kw_only=True)
class WakersWait:
    """Why the workload may not be scaled to 0 yet; `until` is when the wait ends if nothing else happens, if known."""

    because: str
    until: datetime | None = None


def slice_name(service: str, family: str) -> str:
    """Return the name of the slice of a family; a Service's name has at most 63 characters, a slice's 253."""
    return service + _SUFFIXES[family]


def slice_body(service: WakeService, family: str, wish: WakeWish, endpoints: Iterable[WakerAddress]) -> dict[str, Any]:
    """Make the slice. Conditions are written out: some proxies take an absent `ready` for not ready (traefik 12389)."""
    owner, protocols = wish.owner, {one.name: one.app_protocol for one in service.ports}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "namespace": service.namespace,
            "name": slice_name(service.name, family),
            "labels": {SERVICE_LABEL: service.name, MANAGED_BY_LABEL: MANAGED_BY, LABEL: LABEL_VALUE},
            "annotations": {ANNOTATION: write_rules(wish.rules)},
            "ownerReferences": [
                {
                    "apiVersion": owner.api_version,
                    "kind": owner.kind,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "addressType": family,
        "ports": [
            {
                "name": port.name,
                "port": port.port,
                "protocol": "TCP",
                **({"appProtocol": protocols[port.name]} if protocols.get(port.name) else {}),
            }
            for port in wish.rules.ports
        ],
        "endpoints": [
            {
                "addresses": [one.address],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                **({"nodeName": one.node} if one.node else {}),
                "targetRef": {"kind": "Pod", "namespace": one.namespace, "name": one.pod},
            }
            for one in endpoints
        ],
    }


def read_slice(live: Mapping[str, Any]) -> SliceSeen:
    """Read a slice as stored; fields that cannot be read count as absent."""
    meta = map_at(live, "metadata")
    labels, annotations = texts_at(meta, "labels"), texts_at(meta, "annotations")
    family = text_at(live, "addressType")
    owner = next(iter(maps_at(meta, "ownerReferences")), {})
    return SliceSeen(
        namespace=text_at(meta, "namespace"),
        name=text_at(meta, "name"),
        uid=text_at(meta, "uid"),
        version=text_at(meta, "resourceVersion"),
        created=text_at(meta, "creationTimestamp"),
        family=family,
        service=labels.get(SERVICE_LABEL, ""),
        owner=WakeOwner(
            api_version=text_at(owner, "apiVersion"),
            kind=text_at(owner, "kind"),
            name=text_at(owner, "name"),
            uid=text_at(owner, "uid"),
        ),
        rules=annotations.get(ANNOTATION, ""),
        ports={text_at(one, "name"): one["port"] for one in maps_at(live, "ports") if isinstance(one.get("port"), int)},
        endpoints=frozenset(read_addresses(live)),
        request=annotations.get(REQUEST_ANNOTATION, ""),
    )


def read_addresses(live: Mapping[str, Any]) -> Iterator[WakerAddress]:
    """Yield the ready addresses of a slice whose endpoints are pods."""
    for endpoint in maps_at(live, "endpoints"):
        conditions = map_at(endpoint, "conditions")
        if conditions.get("ready") is False or conditions.get("terminating") is True:
            continue
        for address in endpoint.get("addresses") or ():
            yield WakerAddress(
                family=text_at(live, "addressType"),
                namespace=text_at(endpoint, "targetRef", "namespace"),
                pod=text_at(endpoint, "targetRef", "name"),
                node=text_at(endpoint, "nodeName"),
                address=str(address),
            )
