"""The next step of the EndpointSlices of a Service, from what is seen to what is wanted.

A slice is first written without endpoints, as a proposal of ports. Wakers that listen on them answer a probe, and only
those become endpoints. All memory is in the slices, so that a leader that takes over at any point goes on:

    (absent)            nothing is promised
    without endpoints   ports are proposed; wakers begin to listen
    with endpoints      requests reach wakers: from now on the members may be scaled to 0

A probe that has not been answered yet by this process never takes an endpoint away: a leader that has just begun keeps
what its predecessor has found.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keda_py.core.waking.rules import PORTS, WakerPort, WakeState, read_rules, write_rules
from keda_py.core.waking.services import WakeService
from keda_py.core.waking.slices import SliceSeen, WakerAddress, WakeWish, slice_body, slice_name
from keda_py.errors import ConfigError

MOST_WAKERS = 100
"""Endpoints of one slice; an API server takes 1 000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Ask a waker whether it listens on a port for a Service."""

    address: str
    port: int
    pod: str
    service_uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSlice:
    """Create a slice, or update the one of this `version`."""

    body: dict[str, Any]
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSlice:
    """Delete a slice of this uid and version."""

    seen: SliceSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Everything to do now for one Service. `shown`: each of its families leads to wakers that wake its owner."""

    writes: tuple[WriteSlice | DeleteSlice, ...] = ()
    probes: tuple[Probe, ...] = ()
    ports: tuple[WakerPort, ...] = ()
    shown: bool = False


Answered = Callable[[Probe], bool | None]
"""Whether a probe was answered rightly; None: this process does not know yet."""
Claimed = Callable[[int], tuple[str, str] | None]
"""The age of the oldest slice of another Service that claims a port; None if none does."""


def next_steps(
    service: WakeService | None,
    wish: WakeWish | None,
    slices: Sequence[SliceSeen],
    wakers: Iterable[WakerAddress],
    answered: Answered,
    claimed: Claimed,
) -> Steps:
    """Find the next steps. `slices` are those with our label that name the Service; without a wish all of them go."""
    ready = sorted(wakers)[:MOST_WAKERS]
    if service is None or wish is None or service.deleting or service.obstacle is not None or not ready:
        return Steps(writes=tuple(DeleteSlice(seen=one) for one in slices))
    families = [family for family in service.addresses if any(one.family == family for one in ready)]
    own = {one.family: one for one in slices if one.name == slice_name(service.name, one.family)}
    ports = choose_ports(service, list(own.values()), claimed)
    writes: list[WriteSlice | DeleteSlice] = [
        DeleteSlice(seen=one) for one in slices if own.get(one.family) is not one or one.family not in families
    ]
    probes: list[Probe] = []
    shown = bool(families)
    for family in families:
        here, seen = [one for one in ready if one.family == family], own.get(family)
        asked = {one: list(_probes(one, ports, service.uid)) for one in here}
        endpoints = _endpoints(asked, seen, ports, answered)
        # Only what wakers have heard of can be answered: a new proposal is probed once it is stored.
        if seen is not None and _claimed(seen) == _named(ports):
            probes += [probe for several in asked.values() for probe in several]
        shown = shown and bool(endpoints) and seen is not None and _leads(seen, wish)
        writes += _write(service, family, replace_ports(wish, ports), endpoints, seen)
    return Steps(writes=tuple(writes), probes=tuple(probes), ports=ports, shown=shown)


def _leads(seen: SliceSeen, wish: WakeWish) -> bool:
    """Return whether a slice as stored leads to wakers, and lets them ask for a wake if the owner is to sleep.

    One of an earlier wake still says that they only forward: a request would wait at them without waking anything.
    """
    if not seen.endpoints or wish.rules.state is not WakeState.ASLEEP:
        return bool(seen.endpoints)
    try:
        return read_rules(seen.rules).state is not WakeState.FORWARDING
    except ConfigError:
        return False


def replace_ports(wish: WakeWish, ports: tuple[WakerPort, ...]) -> WakeWish:
    """Return the wish with these ports in its rules."""
    return replace(wish, rules=replace(wish.rules, ports=ports))


def _probes(waker: WakerAddress, ports: Sequence[WakerPort], uid: str) -> Iterator[Probe]:
    for port in ports:
        yield Probe(address=waker.address, port=port.port, pod=waker.pod, service_uid=uid)


def _endpoints(
    asked: Mapping[WakerAddress, Sequence[Probe]],
    seen: SliceSeen | None,
    ports: Sequence[WakerPort],
    answered: Answered,
) -> list[WakerAddress]:
    """The wakers that answer on every port, and those in the slice that have not been asked about these ports yet."""
    if seen is None or _claimed(seen) != _named(ports):
        return []  # a proposal: nothing can have heard of these ports
    found = []
    for waker, probes in asked.items():
        answers = [answered(probe) for probe in probes]
        if all(answers) or (waker in seen.endpoints and False not in answers):
            found.append(waker)
    return found


def choose_ports(service: WakeService, own: Sequence[SliceSeen], claimed: Claimed) -> tuple[WakerPort, ...]:
    """Choose a waker's port for each port of a Service, those of its slices again unless an older slice has them.

    A new one is found from a hash of the Service and the port's name, so that two leaders choose the same.
    """
    oldest = min((one.age for one in own), default=None)
    known = {
        name: port for one in sorted(own, key=lambda one: one.age, reverse=True) for name, port in one.ports.items()
    }
    chosen: dict[str, int] = {}
    for each in service.ports:
        port = known.get(each.name, 0)
        claim = claimed(port)
        lost = claim is not None and (oldest is None or claim < oldest)
        if port not in PORTS or lost or port in chosen.values():
            port = _free_port(f"{service.uid}/{each.name}", claimed, chosen.values())
        chosen[each.name] = port
    return tuple(WakerPort(name=each.name, port=chosen[each.name], service_port=each.port) for each in service.ports)


def _free_port(seed: str, claimed: Claimed, chosen: Collection[int]) -> int:
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4])
    for offset in range(len(PORTS)):
        port = PORTS[(start + offset) % len(PORTS)]
        if port not in chosen and claimed(port) is None:
            return port
    return PORTS[start % len(PORTS)]  # all are taken: the older slice keeps it, and no waker answers for this one


def _write(
    service: WakeService, family: str, wish: WakeWish, endpoints: Sequence[WakerAddress], seen: SliceSeen | None
) -> Iterator[WriteSlice]:
    if seen is None:
        # A proposal, whatever a probe may have said about an earlier slice of the same name.
        yield WriteSlice(body=slice_body(service, family, wish, ()))
        return
    same = (
        seen.rules == write_rules(wish.rules)
        and seen.endpoints == frozenset(endpoints)
        and _claimed(seen) == _named(wish.rules.ports)
        and seen.owner_uid == wish.owner.uid
        and not seen.request
    )
    if not same:
        yield WriteSlice(body=slice_body(service, family, wish, endpoints), version=seen.version)


def _claimed(seen: SliceSeen) -> dict[str, int]:
    return dict(seen.ports)


def _named(ports: Sequence[WakerPort]) -> dict[str, int]:
    return {one.name: one.port for one in ports}


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Knowledge of one Service before its pods are scaled to 0. `waited`: seconds since it was wanted; `shown_for`:
    seconds since its slices have had endpoints, None without; `through`: a probe through the Service reached a waker.
    """

    wakers_known: bool
    wakers: int
    waited: float
    shown_for: float | None
    through: bool


UNKNOWN_SECONDS = 30.0
"""How long to wait for the list of wakers, which an operator without the right never gets."""
ANSWER_SECONDS = 15.0
"""How long to wait for a waker to listen on a proposed port; a waker takes part of a second."""
THROUGH_SECONDS = 5.0
"""How long to wait for an answer through the Service. Measured: a node follows a new slice within 0.5 s. A
NetworkPolicy may keep the operator's own probe out for ever."""


def sleep_obstacle(readiness: Readiness, *, require: bool) -> str:
    """Say why pods may not be scaled to 0 yet; "" if they may. With `require` it waits for a waker without an end."""
    one = readiness
    if not one.wakers_known:
        return "" if one.waited >= UNKNOWN_SECONDS and not require else "the wakers are not known yet"
    if not one.wakers:
        return "no waker is ready" if require else ""
    if one.shown_for is None:
        return "" if one.waited >= ANSWER_SECONDS and not require else "no waker listens for it yet"
    if one.through or one.shown_for >= THROUGH_SECONDS:
        return ""
    return "no request through the Service has reached a waker yet"


GRACE_SECONDS = 5.0
"""How long wakers forward to ready pods before the slices go. Measured: a node follows within 0.5 s; an ingress
controller takes a few seconds."""
LONGEST_FORWARD_SECONDS = 300.0
"""How long slices stay of a Service that is awake without a ready pod, for example because its owner keeps it at 0."""


def may_go(state: WakeState, forwarded_for: float, ready_endpoints: int) -> bool:
    """Return whether the slices of a Service that is awake may be deleted."""
    if state is not WakeState.FORWARDING:
        return False
    grace = GRACE_SECONDS if ready_endpoints else LONGEST_FORWARD_SECONDS
    return forwarded_for >= grace
