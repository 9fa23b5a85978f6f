"""A wake and a night in waves, step by step."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.members import (
    SetReplicas,
)
from keda_py.core.environment.decision.observation import MemberSeen
from keda_py.core.environment.decision.state import (
    Phase,
    lead_of,
    read_state,
)
from tests.core.environment.builders import MINUTE, NOON, environment, member
from tests.core.environment.deciding import (
    ASLEEP,
    AWAKE,
    DAWN,
    DOWN3,
    SO,
    WAKES_EARLY,
    conditions,
    holding,
    run,
)

NINE = [("db", 0), ("cache", 0), ("api", 1), ("web", 1), ("batch", 2), ("mail", 2)]
THREE_WAVES = environment(
    waves=[
        {"name": "data", "selector": {"matchLabels": {"w": "data"}}, "timeout": "5m", "pause": "10s"},
        {"name": "services", "selector": {"matchLabels": {"w": "services"}}, "timeout": "2m"},
    ]
)


def plant(counts: dict[str, int], ready: set[str]) -> list[MemberSeen]:
    return [member(f"Deployment/{name}", counts[name], ready=name in ready, wave=wave) for name, wave in NINE]


def actions(decision: EnvironmentDecision) -> list[str]:
    return [
        f"{each.key.partition('/')[2]}={each.action.replicas}"
        for each in decision.members
        if isinstance(each.action, SetReplicas)
    ]


def test_waves_wake_in_order_and_wait_for_each_other() -> None:
    down = {f"Deployment_{name}": DOWN3 for name, _ in NINE}
    zero, names = {name: 0 for name, _ in NINE}, {name for name, _ in NINE}
    first = run(*plant(zero, set()), now=DAWN, spec=THREE_WAVES, state=holding(ASLEEP, **down))
    assert (first.state.phase, actions(first)) == (Phase.WAKING, ["cache=3", "db=3"])
    up = zero | {"db": 3, "cache": 3}
    waits = run(*plant(up, {"db"}), now=DAWN + MINUTE, spec=THREE_WAVES, state=read_state(first.status))
    assert actions(waits) == []
    assert [(wave.name, wave.ready, wave.total) for wave in waits.status.waves] == [
        ("data", 1, 2),
        ("services", 0, 2),
        ("rest", 0, 2),
    ]
    pauses = run(*plant(up, {"db", "cache"}), now=DAWN + 2 * MINUTE, spec=THREE_WAVES, state=read_state(waits.status))
    assert (actions(pauses), pauses.look_again_at) == ([], DAWN + 2 * MINUTE + timedelta(seconds=10))
    second = run(
        *plant(up, {"db", "cache"}), now=pauses.look_again_at or DAWN, spec=THREE_WAVES, state=read_state(pauses.status)
    )
    assert actions(second) == ["api=3", "web=3"]
    up |= {"api": 3, "web": 3}
    assert second.look_again_at == DAWN + 4 * MINUTE + timedelta(seconds=10)
    late = run(
        *plant(up, {"db", "cache", "api"}), now=second.look_again_at, spec=THREE_WAVES, state=read_state(second.status)
    )
    assert actions(late) == ["batch=3", "mail=3"]
    assert [wave.timed_out for wave in late.status.waves] == [False, True, False]
    up |= {"batch": 3, "mail": 3}
    done = run(*plant(up, names - {"web"}), now=DAWN + 5 * MINUTE, spec=THREE_WAVES, state=read_state(late.status))
    assert (done.state.phase, done.state.members, conditions(done)["Ready"]) == (Phase.AWAKE, {}, "False")
    assert done.status.last_wake is not None
    assert (done.status.last_wake.seconds, done.status.last_wake.ready, done.status.wakes) == (300, "", [])


def test_they_fall_asleep_in_reverse() -> None:
    three, names = {name: 3 for name, _ in NINE}, {name for name, _ in NINE}
    evening = datetime(2026, 11, 23, 18, tzinfo=UTC)
    first = run(*plant(three, names), now=evening, spec=THREE_WAVES, state=AWAKE)
    assert (first.state.phase, actions(first)) == (Phase.FALLING_ASLEEP, ["batch=0", "mail=0"])
    down = three | {"batch": 0, "mail": 0}
    second = run(*plant(down, names), now=evening + MINUTE, spec=THREE_WAVES, state=read_state(first.status))
    assert actions(second) == ["api=0", "web=0"]
    down |= {"api": 0, "web": 0}
    third = run(*plant(down, names), now=evening + 2 * MINUTE, spec=THREE_WAVES, state=read_state(second.status))
    assert actions(third) == []
    fourth = run(
        *plant(down, names), now=third.look_again_at or evening, spec=THREE_WAVES, state=read_state(third.status)
    )
    assert actions(fourth) == ["cache=0", "db=0"]
    zero = {name: 0 for name, _ in NINE}
    last = run(*plant(zero, names), now=evening + 3 * MINUTE, spec=THREE_WAVES, state=read_state(fourth.status))
    assert (last.state.phase, len(last.state.members)) == (Phase.ASLEEP, 6)


def test_no_more_wake_at_once_than_allowed() -> None:
    spec = environment(maxParallel=2)
    down = {f"Deployment_m{number}": DOWN3 for number in range(5)}
    first = run(
        *(member(f"Deployment/m{number}", 0) for number in range(5)), now=DAWN, spec=spec, state=holding(ASLEEP, **down)
    )
    assert actions(first) == ["m0=3", "m1=3"]
    seen = [
        member("Deployment/m0"),
        member("Deployment/m1", ready=False),
        *(member(f"Deployment/m{number}", 0) for number in (2, 3, 4)),
    ]
    assert actions(run(*seen, now=DAWN + MINUTE, spec=spec, state=read_state(first.status))) == ["m2=3"]


def test_the_lead_is_learnt_from_the_last_wakes() -> None:
    assert lead_of((), 30 * MINUTE) == timedelta(0)
    assert lead_of((100,), 30 * MINUTE) == timedelta(seconds=100)
    assert lead_of(tuple(range(10, 110, 10)), 30 * MINUTE) == timedelta(seconds=90)
    assert lead_of((9999,), 30 * MINUTE) == 30 * MINUTE
    woken = run(
        member(),
        now=DAWN + 4 * MINUTE,
        state=replace(run(member(count=0), now=DAWN, state=holding(ASLEEP, Deployment_web=DOWN3)).state),
    )
    assert (woken.state.phase, woken.state.wakes) == (Phase.AWAKE, (240,))
    assert woken.status.last_wake is not None
    assert woken.status.last_wake.seconds == 240
    early = run(member(count=0), spec=WAKES_EARLY, state=replace(holding(ASLEEP, Deployment_web=DOWN3), wakes=(240,)))
    assert early.look_again_at == datetime(2026, 11, 24, 7, 56, tzinfo=UTC)
    assert (early.status.lead, early.status.next_change and early.status.next_change.at) == (
        "240s",
        "2026-11-24T07:56:00Z",
    )


def test_a_wave_does_not_wait_for_a_member_that_its_trigger_keeps_awake() -> None:
    spec = environment(asleep={"triggersWake": True})
    busy = member(SO, 2, triggers_active=True)
    assert run(busy, spec=spec, state=AWAKE).state.rests


@pytest.mark.parametrize(
    ("seen", "valid"),
    [
        ((), ("True", "")),
        ((member(wave=0),), ("True", "")),
        ((member(wave=1),), ("False", "spec.waves[0].selector: wave 'data' selects no member; correct it, or take it out")),
    ],
    ids=["no members at all", "it has one", "it has none"],
)  # fmt: skip
def test_a_wave_that_selects_nothing_is_told(seen: tuple[MemberSeen, ...], valid: tuple[str, str]) -> None:
    spec = environment(waves=[{"name": "data", "selector": {"matchLabels": {"w": "data"}}}])
    conditions = {one.type: (one.status, one.message) for one in run(*seen, spec=spec, now=NOON).status.conditions}
    assert conditions["Valid"] == valid


def test_members_of_another_environment_that_are_not_ready_take_no_place_of_those_that_wake() -> None:
    spec = environment(maxParallel=1)
    foreign = member("Deployment/foreign", 3, ready=False, owned_by="older")
    morning = run(member(count=0), foreign, spec=spec, state=holding(ASLEEP, Deployment_web=DOWN3), now=DAWN)
    assert SetReplicas(3) in [each.action for each in morning.members]
