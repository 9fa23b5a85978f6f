"""The next step of a Service's slices, from whatever is seen, also after a kill at each write."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.waking.rules import PORTS, WakeState, read_rules
from keda_py.core.waking.services import WakeService
from keda_py.core.waking.slices import SliceSeen, WakerAddress, WakeWish, slice_name
from keda_py.core.waking.steps import (
    DeleteSlice,
    Probe,
    Readiness,
    Steps,
    WriteSlice,
    may_go,
    next_steps,
    sleep_obstacle,
)
from tests.core.waking.builders import service, stored, waker, wish

YES, UNKNOWN, FREE = (lambda _: True), (lambda _: None), (lambda _: None)


def body_of(steps: Steps) -> dict:
    (write,) = steps.writes
    assert isinstance(write, WriteSlice)
    return write.body


def proposal() -> SliceSeen:
    return stored(body_of(next_steps(service(), wish(), [], [waker()], UNKNOWN, FREE)))


def shown(*wakers: WakerAddress) -> SliceSeen:
    return stored(body_of(next_steps(service(), wish(), [proposal()], wakers, YES, FREE)))


def test_the_first_write_is_a_proposal_of_ports_without_endpoints() -> None:
    steps = next_steps(service(), wish(), [], [waker()], YES, FREE)
    body = body_of(steps)
    assert (body["endpoints"], steps.probes, steps.shown) == ([], (), False)
    (port,) = body["ports"]
    assert (port["name"], port["protocol"], port["port"] in PORTS) == ("http", "TCP", True)
    rules = read_rules(body["metadata"]["annotations"]["keda-py.dev/waker"])
    assert [(one.name, one.port, one.service_port) for one in rules.ports] == [("http", port["port"], 80)]


def test_a_stored_proposal_is_probed_and_those_that_answer_become_endpoints() -> None:
    first, second = waker(1), waker(2)
    steps = next_steps(service(), wish(), [proposal()], [first, second], UNKNOWN, FREE)
    assert (steps.writes, [probe.pod for probe in steps.probes]) == ((), ["waker-1", "waker-2"])
    steps = next_steps(service(), wish(), [proposal()], [first, second], lambda probe: probe.pod == "waker-1", FREE)
    assert body_of(steps)["endpoints"] == [
        {
            "addresses": ["10.1.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": "node-1",
            "targetRef": {"kind": "Pod", "namespace": "keda", "name": "waker-1"},
        }
    ]
    assert not steps.shown


def test_it_is_shown_once_the_endpoints_are_stored_and_then_nothing_is_written() -> None:
    steps = next_steps(service(), wish(), [shown(waker())], [waker()], YES, FREE)
    assert (steps.writes, steps.shown) == ((), True)


def test_a_leader_that_has_just_begun_takes_no_endpoint_away() -> None:
    steps = next_steps(service(), wish(), [shown(waker())], [waker()], UNKNOWN, FREE)
    assert (steps.writes, steps.shown, len(steps.probes)) == ((), True, 1)


@pytest.mark.parametrize(
    ("wakers", "answered"), [([waker(1), waker(2)], lambda probe: probe.pod == "waker-2"), ([waker(2)], YES)]
)
def test_a_waker_that_does_not_answer_or_is_not_ready_leaves(wakers: list[WakerAddress], answered) -> None:
    steps = next_steps(service(), wish(), [shown(waker(1), waker(2))], wakers, answered, FREE)
    assert [one["targetRef"]["name"] for one in body_of(steps)["endpoints"]] == ["waker-2"]


@pytest.mark.parametrize(
    ("found", "wanted", "wakers"),
    [
        (service(), None, [waker()]),
        (None, wish(), [waker()]),
        (service(), wish(), []),
        (service(clusterIPs=["None"]), wish(), [waker()]),
    ],
    ids=["not wanted", "no Service", "no ready waker", "cannot be woken"],
)
def test_the_slice_goes(found: WakeService | None, wanted: WakeWish | None, wakers: list[WakerAddress]) -> None:
    steps = next_steps(found, wanted, [shown(waker())], wakers, YES, FREE)
    assert [type(write) for write in steps.writes] == [DeleteSlice]


def test_a_slice_of_another_name_goes_and_the_right_one_comes() -> None:
    forged = replace(shown(waker()), name="other")
    writes = next_steps(service(), wish(), [forged], [waker()], YES, FREE).writes
    assert [type(write) for write in writes] == [DeleteSlice, WriteSlice]


def test_each_family_has_a_slice_with_the_same_ports() -> None:
    dual = service(clusterIPs=["10.96.0.10", "fd00::a"])
    writes = next_steps(dual, wish(), [], [waker(), waker(1, "IPv6")], UNKNOWN, FREE).writes
    bodies = [write.body for write in writes if isinstance(write, WriteSlice)]
    assert [(one["metadata"]["name"], one["addressType"]) for one in bodies] == [
        ("web-keda-py-waker", "IPv4"),
        ("web-keda-py-waker-ipv6", "IPv6"),
    ]
    assert bodies[0]["ports"] == bodies[1]["ports"]


def test_a_port_that_an_older_slice_claims_is_given_up_and_one_of_a_younger_is_kept() -> None:
    mine = shown(waker())
    (port,) = mine.ports.values()
    older = next_steps(service(), wish(), [mine], [waker()], YES, {port: ("2026-11-19T12:00:00Z", "x")}.get)
    assert body_of(older)["ports"][0]["port"] != port
    assert body_of(older)["endpoints"] == [], "nothing is known of the new port yet"
    younger = next_steps(service(), wish(), [mine], [waker()], YES, {port: ("2026-11-21T12:00:00Z", "x")}.get)
    assert younger.writes == ()


def test_what_someone_else_wrote_into_a_slice_is_put_back() -> None:
    forged = replace(shown(waker()), endpoints=frozenset({waker(9)}))
    assert [
        one["addresses"] for one in body_of(next_steps(service(), wish(), [forged], [waker()], YES, FREE))["endpoints"]
    ] == [["10.1.0.1"]]


def test_the_state_of_a_wake_is_written_into_the_rules() -> None:
    steps = next_steps(service(), wish(state=WakeState.WAKING), [shown(waker())], [waker()], YES, FREE)
    body = body_of(steps)
    assert read_rules(body["metadata"]["annotations"]["keda-py.dev/waker"]).state is WakeState.WAKING
    assert len(body["endpoints"]) == 1


READY = Readiness(wakers_known=True, wakers=2, waited=1.0, shown_for=0.5, through=False)


@pytest.mark.parametrize(
    ("readiness", "told", "required"),
    [
        (replace(READY, through=True), "", ""),
        (replace(READY, shown_for=5.0), "", ""),
        (READY, "no request through", "no request through"),
        (replace(READY, shown_for=None), "no waker listens", "no waker listens"),
        (replace(READY, shown_for=None, waited=15.0), "", "no waker listens"),
        (replace(READY, wakers=0), "", "no waker is ready"),
        (replace(READY, wakers_known=False), "not known yet", "not known yet"),
        (replace(READY, wakers_known=False, waited=30.0), "", "not known yet"),
    ],
)
def test_members_are_scaled_to_zero_once_requests_reach_a_waker(readiness: Readiness, told: str, required: str) -> None:
    for require, expected in ((False, told), (True, required)):
        found = sleep_obstacle(readiness, require=require)
        assert expected in found
        assert bool(found) is bool(expected)


@pytest.mark.parametrize(
    ("state", "seconds", "endpoints", "goes"),
    [
        (WakeState.FORWARDING, 5.0, 1, True),
        (WakeState.FORWARDING, 4.9, 1, False),
        (WakeState.FORWARDING, 60.0, 0, False),
        (WakeState.FORWARDING, 300.0, 0, True),
        (WakeState.WAKING, 60.0, 1, False),
        (WakeState.ASLEEP, 60.0, 1, False),
    ],
)
def test_the_slice_goes_after_the_grace_while_pods_take_the_requests(
    state: WakeState, seconds: float, endpoints: int, goes: bool
) -> None:
    assert may_go(state, seconds, endpoints) is goes


@dataclass
class Plane:
    """A control plane: two Services that each want a slice, wakers that listen for what is stored, and a leader."""

    stored: dict[tuple[str, str], SliceSeen] = field(default_factory=dict)
    wakers: set[int] = field(default_factory=lambda: {1, 2})
    answers: dict[Probe, bool] = field(default_factory=dict)
    """The leader's memory, which a kill loses."""
    writes: int = 0

    def listens(self, probe: Probe) -> bool:
        """Whether the waker of that address lives, and has the port for this Service: the oldest slice has it."""
        claiming = [one for one in self.stored.values() if probe.port in one.ports.values()]
        first = min(claiming, key=lambda one: one.age, default=None)
        alive = int(probe.pod.removeprefix("waker-")) in self.wakers
        return alive and first is not None and f"svc-{first.service}" == probe.service_uid

    def claimed(self, name: str, port: int) -> tuple[str, str] | None:
        ages = (one.age for one in self.stored.values() if one.service != name and port in one.ports.values())
        return min(ages, default=None)

    def pass_over(self, name: str, *, dies_after: int = 99) -> bool:
        """One pass of the leader over a Service; False where it was killed before all was written."""
        slices = [one for one in self.stored.values() if one.service == name]
        ready = [waker(number) for number in sorted(self.wakers)]
        steps = next_steps(service(name), wish(name), slices, ready, self.answers.get, partial(self.claimed, name))
        for done, write in enumerate(steps.writes):
            if done >= dies_after:
                return False
            self.write(write)
        for probe in steps.probes:
            self.answers[probe] = self.listens(probe)
        return True

    def write(self, write: WriteSlice | DeleteSlice) -> None:
        self.writes += 1
        if isinstance(write, DeleteSlice):
            del self.stored[write.seen.service, write.seen.name]
            return
        meta = write.body["metadata"]
        key = (meta["labels"]["kubernetes.io/service-name"], meta["name"])
        before = self.stored.get(key)
        uid, created = (before.uid, before.created) if before else (f"u{self.writes}", f"2026-11-20T{self.writes:06}")
        self.stored[key] = stored(write.body, uid=uid, version=str(self.writes), created=created)

    def is_right(self, names: Iterable[str] = ("web", "api")) -> bool:
        """Whether each Service leads to every waker that lives, by a port of its own."""
        found = {one.service: one for one in self.stored.values()}
        pods = {name: {each.pod for each in found[name].endpoints} if name in found else set() for name in names}
        ports = [port for one in found.values() for port in one.ports.values()]
        return all(each == {f"waker-{n}" for n in self.wakers} for each in pods.values()) and len(ports) == len(
            set(ports)
        )


EVENTS = st.lists(
    st.sampled_from(["web", "api"])
    | st.tuples(st.just("die"), st.sampled_from(["web", "api"]), st.integers(0, 2))
    | st.tuples(st.just("waker"), st.integers(1, 3)),
    max_size=30,
)


@given(EVENTS)
def test_killed_at_any_write_the_next_leader_reaches_the_same_end(events: list) -> None:
    plane = Plane()
    for event in events:
        match event:
            case str():
                plane.pass_over(event)
            case ("die", name, at):
                plane.pass_over(name, dies_after=at)
                plane.answers.clear()
            case ("waker", number):
                plane.wakers ^= {number}
                # The leader probes each waker again and again; what it knew of one that came or went is outdated.
                plane.answers = {probe: yes for probe, yes in plane.answers.items() if probe.pod != f"waker-{number}"}
        for one in plane.stored.values():
            assert one.name == slice_name(one.service, one.family)
    for _ in range(6):
        for name in ("web", "api"):
            plane.answers = {probe: plane.listens(probe) for probe in plane.answers}
            plane.pass_over(name)
    assert plane.is_right() if plane.wakers else not plane.stored
    writes = plane.writes
    for name in ("web", "api"):
        plane.pass_over(name)
    assert plane.writes == writes, "nothing is written once it is right"
