"""Rules of a Service for its wakers: the JSON document in the annotation of each EndpointSlice that we write.

The operator writes the document and wakers read it, so both sides use this file. Unknown keys are ignored, which lets
the two have different versions during an upgrade. The document comes from a cluster object, so its size is bounded.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from keda_py.core.values.times import parse_optional_time, write_time
from keda_py.errors import ConfigError

ANNOTATION = "keda-py.dev/waker"
LABEL = "keda-py.dev/waker"
LABEL_VALUE = "yes"
MANAGED_BY_LABEL, MANAGED_BY = "endpointslice.kubernetes.io/managed-by", "keda-py.dev"
SERVICE_LABEL = "kubernetes.io/service-name"
REQUEST_ANNOTATION = "keda-py.dev/wake-request"
"""Annotation of a slice in which a waker asks for a wake while the operator cannot be reached otherwise."""
PORTS = range(20000, 30000)
"""Ports on which wakers listen: one for each port of each Service."""
LONGEST = 65536
"""Characters of a document: 50 patterns of each list and 20 waves with the longest names need half of that."""


class WakeState(StrEnum):
    """Asleep: a request wakes. Waking: requests are held. Forwarding: pods are ready, the slice is about to go."""

    ASLEEP = "Asleep"
    WAKING = "Waking"
    FORWARDING = "Forwarding"


class Page(StrEnum):
    """Whether browsers get a page while they wait, and whether a person has to confirm the wake."""

    AUTO = "Auto"
    NEVER = "Never"
    CONFIRM = "Confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class WavePart:
    """Progress of a wave."""

    name: str
    ready: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WakerPort:
    """Port `port` of the wakers stands for the Service's port `service_port` of this name."""

    name: str
    port: int
    service_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """Requests that are answered with `status` and wake nothing."""

    paths: tuple[str, ...] = ()
    user_agents: tuple[str, ...] = ()
    status: int = 503


NOTHING_IGNORED = Ignored()


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeRules:
    """Everything that a waker needs to know of a Service. `usual` is the learnt duration of a wake in seconds, 0 if
    none is known.
    """

    owner_kind: str
    owner_name: str
    service_name: str
    service_uid: str
    state: WakeState
    hold: int
    page: Page = Page.AUTO
    ignored: Ignored = NOTHING_IGNORED
    waves: tuple[WavePart, ...] = ()
    usual: int = 0
    ready_at: datetime | None = None
    kept_up_by: str = ""
    ports: tuple[WakerPort, ...] = ()


def write_rules(rules: WakeRules) -> str:
    """Write the document; equal rules are equal texts."""
    document = {
        "owner": {"kind": rules.owner_kind, "name": rules.owner_name},
        "service": {"name": rules.service_name, "uid": rules.service_uid},
        "state": rules.state.value,
        "hold": rules.hold,
        "page": rules.page.value,
        "ignore": {
            "paths": list(rules.ignored.paths),
            "userAgents": list(rules.ignored.user_agents),
            "status": rules.ignored.status,
        },
        "waves": [{"name": one.name, "ready": one.ready, "total": one.total} for one in rules.waves],
        "usual": rules.usual,
        "readyAt": "" if rules.ready_at is None else write_time(rules.ready_at),
        "keptUpBy": rules.kept_up_by,
        "ports": [{"name": one.name, "port": one.port, "servicePort": one.service_port} for one in rules.ports],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def read_rules(text: str) -> WakeRules:
    """Read a document. Raises ConfigError."""
    try:
        if len(text) > LONGEST:
            raise ValueError(f"has more than {LONGEST} characters")
        return _read(json.loads(text))
    except (ConfigError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        field = f"metadata.annotations[{ANNOTATION}]"
        told = f"{type(error).__name__}: {error}"[:200]
        raise ConfigError(f"{field}: cannot be read ({told}); delete the EndpointSlice", field=field) from None


def _read(document: Mapping[str, Any]) -> WakeRules:
    owner, service, ignored = document["owner"], document["service"], document.get("ignore") or {}
    return WakeRules(
        owner_kind=str(owner["kind"]),
        owner_name=str(owner["name"]),
        service_name=str(service["name"]),
        service_uid=str(service["uid"]),
        state=WakeState(document["state"]),
        hold=_whole(document["hold"]),
        page=Page(document.get("page") or Page.AUTO),
        ignored=Ignored(
            paths=tuple(map(str, ignored.get("paths") or ())),
            user_agents=tuple(map(str, ignored.get("userAgents") or ())),
            status=_whole(ignored.get("status", 503)),
        ),
        waves=tuple(
            WavePart(name=str(one["name"]), ready=_whole(one["ready"]), total=_whole(one["total"]))
            for one in document.get("waves") or ()
        ),
        usual=_whole(document.get("usual", 0)),
        ready_at=parse_optional_time(str(document.get("readyAt") or ""), field="readyAt"),
        kept_up_by=str(document.get("keptUpBy") or ""),
        ports=tuple(_read_port(one) for one in document.get("ports") or ()),
    )


def _read_port(one: Mapping[str, Any]) -> WakerPort:
    port = _whole(one["port"])
    if port not in PORTS:
        raise ValueError(f"port {port} is not one of {PORTS[0]} to {PORTS[-1]}")
    return WakerPort(name=str(one["name"]), port=port, service_port=_whole(one["servicePort"]))


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{str(value)[:50]!r} is not a whole number of 0 or more")
    return value
