"""An environment is asleep when nothing of it is up; until then it says what is up, why, and until when."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from keda_py.apis.environments.environment import MemberUp
from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.members import SetReplicas
from keda_py.core.environment.decision.observation import MemberSeen
from keda_py.core.environment.decision.state import EnvironmentState, Phase, Stage, read_state
from keda_py.core.environment.decision.still_up import MOST_LISTED, in_words
from tests.core.environment.builders import MINUTE, NIGHT, NOON, environment, member, override, remembered
from tests.core.environment.deciding import ASLEEP, AWAKE, DOWN3, SO, conditions, holding, run

YOUNG = member("Deployment/new", created=NIGHT - timedelta(seconds=40))
FALLEN = EnvironmentState(phase=Phase.FALLING_ASLEEP, since=NIGHT - 10 * MINUTE)
"""A state whose waves are over while something is up."""
AT_19 = "2026-11-23T19:00:00Z"


def told(up: MemberUp) -> str:
    return in_words(up, at=str, ago=lambda text: f"at {text}")


def up_of(decision: EnvironmentDecision) -> dict[str, str]:
    return {one.member: told(one) for one in decision.status.still_up}


def test_one_whose_members_are_all_too_young_is_not_asleep_and_says_until_when_they_stay() -> None:
    decision = run(YOUNG, state=AWAKE)
    assert (decision.state.phase, decision.status.up, decision.status.ready) == (Phase.FALLING_ASLEEP, "1/1", "1/1")
    assert up_of(decision) == {
        "Deployment/new": ("created at 2026-11-23T22:59:20Z, left alone until 2026-11-23T23:14:20Z: grace 15 min")
    }
    asleep = next(one for one in decision.status.conditions if one.type == "Asleep")
    assert (asleep.status, asleep.reason) == ("False", "MembersStillUp")
    assert asleep.message.startswith("1 still up: Deployment/new: created at 2026-11-23T22:59:20Z, left alone until")
    assert decision.look_again_at == NIGHT + 14 * MINUTE + timedelta(seconds=20)


def test_asleep_begins_when_the_last_member_sleeps() -> None:
    falling = run(member("Deployment/new"), state=FALLEN, now=NIGHT)
    assert [each.action for each in falling.members] == [SetReplicas(0)]
    ends = run(
        member("Deployment/new", 0, ready=False, stopping=True), state=read_state(falling.status), now=NIGHT + MINUTE
    )
    assert (ends.state.phase, up_of(ends)) == (Phase.FALLING_ASLEEP, {"Deployment/new": "its last pods are ending"})
    slept = run(member("Deployment/new", 0), state=read_state(ends.status), now=NIGHT + 2 * MINUTE)
    assert (slept.state.phase, slept.state.since) == (Phase.ASLEEP, NIGHT + 2 * MINUTE)
    assert (slept.status.up, slept.status.still_up, conditions(slept)["Asleep"]) == ("0/1", [], "True")
    later = run(member("Deployment/new", 0), state=read_state(slept.status), now=NIGHT + 5 * MINUTE)
    assert later.state.since == NIGHT + 2 * MINUTE


def test_only_a_member_whose_count_could_not_be_written_is_told_with_the_error() -> None:
    refused, other = member("Deployment/new", error="web must keep one replica"), member("ScaledObject/app")
    decision = run(refused, other, state=FALLEN)
    assert {one.member: (one.reason, one.because) for one in decision.status.still_up} == {
        "Deployment/new": ("WriteFailed", "it is being scaled down; the last try failed: web must keep one replica"),
        "ScaledObject/app": ("PutToSleep", "it is being scaled down"),
    }


def test_a_count_that_is_not_known_is_told_with_the_reason() -> None:
    decision = run(member("Fleet/ships", None, error="it has no spec.replicas"), state=FALLEN)
    assert up_of(decision) == {"Fleet/ships": "its count could not be read: it has no spec.replicas"}


ROWS: list[tuple[str, MemberSeen, dict[str, Any], str]] = [
    ("kept up", member(count=2, manager="kubectl-edit"), {"state": holding(ASLEEP, Deployment_web=DOWN3)}, "kubectl-edit scaled it up; it stays up until the next wake"),
    ("contested", member(count=5, manager="argocd"), {"state": holding(ASLEEP, Deployment_web=remembered(Stage.CONTESTED, 5, by="argocd"))}, "argocd put its count back 2 times; let it ignore the count (Argo CD: ignoreDifferences on /spec/replicas), or exclude the member"),
    ("overridden", member(), {"overrides": (override("o", AT_19, "Deployment/web", state="Awake", until="2026-11-24T00:00:00Z", reason="load test"),)}, "Override o by jana (Awake until 2026-11-24T00:00:00Z): load test"),
    ("kept up, though an Override would have it asleep", member(count=2, manager="k9s"), {"state": holding(ASLEEP, Deployment_web=DOWN3), "overrides": (override("o", AT_19, "Deployment/web", state="Asleep"),)}, "k9s scaled it up; it stays up until the next wake"),
    ("pinned", member(SO, 2), {"overrides": (override("o", AT_19, SO, replicas=2),)}, "Override o by jana (2 replicas)"),
    ("woken by a trigger", member(SO, 4, triggers_active=True), {"spec": environment(asleep={"triggersWake": True}), "state": holding(ASLEEP, ScaledObject_queue=DOWN3)}, "a trigger is active, which wakes it (spec.asleep.triggersWake)"),
    ("being scaled down", member(), {"state": holding(ASLEEP, Deployment_web=remembered(Stage.FALLING, start=3))}, "it is being scaled down since 2026-11-23T22:00:00Z"),
    ("a CronJob", member("CronJob/report", 1), {"state": holding(ASLEEP, CronJob_report=remembered(Stage.FALLING, 1, start=1))}, "it is being suspended since 2026-11-23T22:00:00Z"),
]  # fmt: skip


@pytest.mark.parametrize(("_", "seen", "given", "why"), ROWS, ids=[row[0] for row in ROWS])
def test_each_member_that_is_up_at_night_says_why(_: str, seen: MemberSeen, given: dict[str, Any], why: str) -> None:
    decision = run(seen, member("Deployment/other", 0), **given)
    assert decision.state.phase is Phase.FALLING_ASLEEP
    assert (decision.status.up, up_of(decision)) == ("1/2", {seen.key: why})


def test_a_member_that_waits_for_its_wave_says_for_which() -> None:
    waves = [{"name": "data", "selector": {"matchLabels": {"wave": "data"}}}]
    decision = run(member(wave=0), member("Deployment/last", wave=1), spec=environment(waves=waves), state=AWAKE)
    assert up_of(decision) == {
        "Deployment/last": "it is being scaled down since 2026-11-23T23:00:00Z",
        "Deployment/web": "it waits until wave rest sleeps",
    }


def test_an_override_that_puts_the_environment_to_sleep_beats_the_grace() -> None:
    asked = override("o", "2026-11-23T11:00:00Z", state="Asleep", **{"for": "3h"})
    young = member("Deployment/new", created=NOON - timedelta(seconds=40))
    assert [each.action for each in run(young, state=AWAKE, now=NOON, overrides=(asked,)).members] == [SetReplicas(0)]
    assert [each.action for each in run(YOUNG, state=AWAKE).members] != [SetReplicas(0)]


def test_a_count_that_is_not_known_neither_puts_the_environment_to_sleep_nor_wakes_it() -> None:
    unknown = member(count=None, ready=False)
    asleep = run(unknown, state=holding(ASLEEP, Deployment_web=DOWN3))
    assert (asleep.state.phase, asleep.state.since) == (Phase.ASLEEP, NIGHT)
    falling = run(unknown, state=holding(FALLEN, Deployment_web=DOWN3))
    assert falling.state.phase is Phase.FALLING_ASLEEP
    assert up_of(falling) == {"Deployment/web": "its count could not be read"}


def test_a_crowd_that_grew_at_night_is_not_woken_though_its_new_members_are_up() -> None:
    down = {f"Deployment_d{number:04}": DOWN3 for number in range(1000)}
    asleep = tuple(member(f"Deployment/d{number:04}", 0) for number in range(1000))
    night = run(*asleep, YOUNG, state=holding(FALLEN, **down))
    assert (night.state.phase, night.goal.state) == (Phase.FALLING_ASLEEP, "Asleep")
    assert len(night.status.members) == 1000


def test_held_at_night_it_still_tells_what_came_up() -> None:
    hold = override("o", AT_19, state="Hold", reason="incident")
    held = run(member(count=2), state=holding(ASLEEP, Deployment_web=DOWN3), overrides=(hold,))
    assert (held.state.phase, up_of(held)) == (
        Phase.FALLING_ASLEEP,
        {"Deployment/web": "Override o by jana (Hold): incident"},
    )
    assert run(member(count=0), state=replace(held.state), overrides=(hold,)).state.phase is Phase.ASLEEP


def test_by_day_what_is_up_is_a_number_alone() -> None:
    status = run(member(), member("Deployment/off", 0), state=AWAKE, now=NOON).status
    assert (status.ready, status.up, status.members_up, status.still_up) == ("2/2", "1/2", 1, [])


def test_a_status_names_the_first_members_that_are_up_and_counts_all() -> None:
    crowd = [member(f"Deployment/m{number:03}", created=NIGHT) for number in range(MOST_LISTED + 20)]
    status = run(*crowd, state=AWAKE).status
    assert (status.members_up, len(status.still_up)) == (MOST_LISTED + 20, MOST_LISTED)
