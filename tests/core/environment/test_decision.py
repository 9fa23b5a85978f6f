"""Every row of the two tables, and the status of a decision."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.core.environment.calendar.queries import moment_of
from keda_py.core.environment.decision import goal as goals
from keda_py.core.environment.decision import members
from keda_py.core.environment.decision.decision import EnvironmentDecision, decide
from keda_py.core.environment.decision.goal import TOO_MANY
from keda_py.core.environment.decision.idleness import revisions_of
from keda_py.core.environment.decision.members import (
    Action,
    Keep,
    OverlayAsleep,
    OverlayHold,
    OverlayReplicas,
    Resume,
    SetReplicas,
    Suspend,
)
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen, Writer, is_ready, writer_of
from keda_py.core.environment.decision.report import held_up
from keda_py.core.environment.decision.state import (
    Activity,
    EnvironmentState,
    MemberState,
    Phase,
    Stage,
    Transition,
    read_state,
)
from keda_py.core.environment.namespaces.order import NamespaceTurn, NamespaceWait
from keda_py.core.environment.overrides import Overrides
from keda_py.core.environment.spec import MOST_MEMBERS
from keda_py.errors import ConfigError
from tests.calls import calls_of
from tests.core.environment.builders import MINUTE, NIGHT, NOON, environment, member, override, remembered
from tests.core.environment.deciding import (
    ASLEEP,
    AWAKE,
    CRON,
    DAWN,
    DEV,
    DOWN3,
    FALLING3,
    OFFICE,
    SO,
    WAKES_EARLY,
    conditions,
    holding,
    run,
)
from tests.costs import cpu_of

FALLING = Transition(to=Phase.ASLEEP, started=NIGHT, wave=0, wave_started=NIGHT)
AT_19 = "2026-11-23T19:00:00Z"
CROWD = tuple(member(f"Deployment/d{number:04}", 2) for number in range(MOST_MEMBERS + 1))
SHARED_FIRST = NamespaceTurn(wake=NamespaceWait(awaited="shared", longest=5 * MINUTE))
GOALS: list[tuple[goals.GoalReason, dict[str, Any], Phase, str]] = [
    (goals.GoalReason.RELEASED, {"spec": environment(deleting=AT_19)}, Phase.AWAKE, "the Environment is being deleted"),
    (goals.GoalReason.OVERRIDE_AWAKE, {"overrides": (override("o", AT_19, state="Awake", reason="release"),)}, Phase.AWAKE, "Override o by jana (Awake): release"),
    (goals.GoalReason.OVERRIDE_ASLEEP, {"overrides": (override("o", "2026-11-23T11:00:00Z", state="Asleep", **{"for": "3h"}),), "now": NOON}, Phase.ASLEEP, "Override o by jana (Asleep until 2026-11-23T14:00:00Z)"),
    (goals.GoalReason.OVERRIDE_HOLD, {"overrides": (override("o", "2026-11-23T11:00:00Z", state="Hold"),), "now": NOON}, Phase.ASLEEP, "Override o by jana (Hold)"),
    (goals.GoalReason.CALENDAR_INVALID, {"calendar": None, "calendar_error": "spec.timeZone: wrong"}, Phase.ASLEEP, "there is no valid calendar, so it stays as it is: spec.timeZone: wrong"),
    (goals.GoalReason.OPEN, {"now": NOON}, Phase.AWAKE, "hours every day 08:00-18:00"),
    (goals.GoalReason.READY_BY, {"spec": WAKES_EARLY, "now": datetime(2026, 11, 23, 7, 50, tzinfo=UTC), "state": replace(ASLEEP, wakes=(660,))}, Phase.AWAKE, "to be ready by then, 11 min before hours every day 08:00-18:00"),
    (goals.GoalReason.CLOSED, {}, Phase.ASLEEP, "outside of the hours"),
    (goals.GoalReason.WAKERS_PENDING, {"wakers_pending": "no waker", "state": AWAKE}, Phase.AWAKE, "it falls asleep once requests can wake it (outside of the hours): no waker"),
    (goals.GoalReason.IDLE, {"spec": environment(idleAfter="2h"), "now": NOON, "state": replace(AWAKE, activity=Activity(last=NOON - timedelta(hours=2), in_use=False, revisions=revisions_of(())))}, Phase.ASLEEP, "not used for 2 h: no active trigger, Override or rollout"),
    (goals.GoalReason.AWAITS_ORDER, {"now": datetime(2026, 11, 23, 8, 1, tzinfo=UTC), "turn": SHARED_FIRST}, Phase.ASLEEP, "it waits for shared, until 08:05 UTC at most; hours every day 08:00-18:00"),
    (goals.GoalReason.TOO_MANY_MEMBERS, {"seen": CROWD, "state": AWAKE}, Phase.AWAKE, TOO_MANY),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "given", "phase", "because"), GOALS, ids=[row[0].value for row in GOALS])
def test_an_environment_is_awake_or_asleep_for_one_reason(
    reason: goals.GoalReason, given: dict[str, Any], phase: Phase, because: str
) -> None:
    decision = run(*given.get("seen", ()), **{name: each for name, each in given.items() if name != "seen"})
    assert (decision.goal.reason, decision.goal.because) == (reason, because)
    assert decision.state.phase is phase


def test_every_reason_of_an_environment_is_reached() -> None:
    assert {row[0] for row in GOALS} == set(goals.GoalReason)


@pytest.mark.parametrize("state", [ASLEEP, replace(AWAKE, phase=Phase.FALLING_ASLEEP, transition=FALLING)])
def test_wakers_that_go_wake_nothing_that_sleeps_or_falls_asleep_already(state: EnvironmentState) -> None:
    decision = run(member(), state=state, wakers_pending="no waker")
    assert decision.goal.state is goals.State.ASLEEP


R = members.MemberReason
WAVES = [{"name": "data", "selector": {"matchLabels": {"wave": "data"}}, "timeout": "2m", "pause": "10s"}]
WAVED = environment(waves=WAVES)
ROWS: list[tuple[str, members.MemberReason, MemberSeen, dict[str, Any], Action, Stage | None]] = [
    # At night.
    ("put to sleep", R.PUT_TO_SLEEP, member(), {}, SetReplicas(0), Stage.FALLING),
    ("killed before it was scaled", R.PUT_TO_SLEEP, member(), {"state": holding(ASLEEP, Deployment_web=FALLING3)}, SetReplicas(0), Stage.FALLING),
    ("seen at 0", R.ASLEEP, member(count=0), {"state": holding(ASLEEP, Deployment_web=FALLING3)}, Keep(), Stage.DOWN),
    ("asleep", R.ASLEEP, member(count=0), {"state": holding(ASLEEP, Deployment_web=DOWN3)}, Keep(), Stage.DOWN),
    ("at 0 by its owner", R.ASLEEP, member(count=0), {}, Keep(), Stage.DOWN),
    ("a CronJob", R.PUT_TO_SLEEP, member(CRON, 1), {}, Suspend(), Stage.FALLING),
    ("a ScaledObject", R.PUT_TO_SLEEP, member(SO, 2), {}, OverlayAsleep(), Stage.FALLING),
    ("a ScaledObject asleep", R.ASLEEP, member(SO, 0), {"state": holding(ASLEEP, ScaledObject_queue=DOWN3)}, OverlayAsleep(), Stage.DOWN),
    ("its trigger is active", R.WOKEN_BY_TRIGGER, member(SO, 4, triggers_active=True), {"spec": environment(asleep={"triggersWake": True}), "state": holding(ASLEEP, ScaledObject_queue=DOWN3)}, OverlayAsleep(True), Stage.DOWN),
    ("created a moment ago", R.YOUNG, member(created=NIGHT - 14 * MINUTE), {}, Keep(), None),
    ("created before the grace", R.PUT_TO_SLEEP, member(created=NIGHT - 15 * MINUTE), {}, SetReplicas(0), Stage.FALLING),
    ("too many to remember", R.TOO_MANY, member(), {"others": CROWD}, Keep(), None),
    ("a later wave falls first", R.WAITS_TO_SLEEP, member(wave=0), {"spec": WAVED, "state": AWAKE, "others": (member("Deployment/last", wave=1),)}, Keep(), None),
    ("scaled up by a person", R.KEPT_UP, member(count=2, manager="kubectl-scale"), {"state": holding(ASLEEP, Deployment_web=DOWN3)}, Keep(), Stage.KEPT),
    ("kept up by a person", R.KEPT_UP, member(count=2, manager="helm"), {"state": holding(ASLEEP, Deployment_web=remembered(Stage.KEPT, start=2, by="kubectl"))}, Keep(), Stage.KEPT),
    ("a ScaledObject kept up", R.KEPT_UP, member(SO, 2, manager="kubectl"), {"state": holding(ASLEEP, ScaledObject_queue=DOWN3)}, OverlayHold(), Stage.KEPT),
    ("put back once", R.PUT_TO_SLEEP_AGAIN, member(count=5, manager="argocd-controller"), {"state": holding(ASLEEP, Deployment_web=DOWN3)}, SetReplicas(0), Stage.FALLING),
    ("put back twice", R.CONTESTED, member(count=5, manager="argocd-controller"), {"state": holding(ASLEEP, Deployment_web=remembered(Stage.DOWN, put_backs=1, by="argocd-controller"))}, Keep(), Stage.CONTESTED),
    ("an HPA was quicker", R.PUT_TO_SLEEP, member(count=4, manager="kube-controller-manager"), {"state": holding(ASLEEP, Deployment_web=FALLING3)}, SetReplicas(0), Stage.FALLING),
    ("woken a moment ago, asleep again", R.PUT_TO_SLEEP, member(), {"state": holding(ASLEEP, Deployment_web=remembered(Stage.RISING))}, SetReplicas(0), Stage.FALLING),
    ("not counted", R.COUNT_UNKNOWN, member(count=None), {"state": holding(ASLEEP, Deployment_web=DOWN3)}, Keep(), Stage.DOWN),
    ("of another Environment", R.OWNED_BY_ANOTHER, member(owned_by="old"), {}, Keep(), None),
    # By day.
    ("awake", R.AWAKE, member(), {"now": NOON, "state": AWAKE}, Keep(), None),
    ("awake, not ready", R.NOT_READY, member(ready=False), {"now": NOON, "state": AWAKE}, Keep(), None),
    ("woken", R.WOKEN, member(count=0), {"now": DAWN, "state": holding(ASLEEP, Deployment_web=DOWN3)}, SetReplicas(3), Stage.RISING),
    ("killed before it was given back", R.WOKEN, member(count=0), {"now": DAWN, "state": holding(ASLEEP, Deployment_web=remembered(Stage.RISING))}, SetReplicas(3), Stage.RISING),
    ("seen given back", R.NOT_READY, member(ready=False), {"now": DAWN, "state": holding(ASLEEP, Deployment_web=remembered(Stage.RISING))}, Keep(), None),
    ("killed while falling, now awake", R.WOKEN, member(), {"now": DAWN, "state": holding(ASLEEP, Deployment_web=FALLING3)}, Keep(), Stage.RISING),
    ("a count of 0 is given back", R.GIVEN_BACK, member(count=0), {"now": DAWN, "state": holding(ASLEEP, Deployment_web=remembered(Stage.DOWN, 0))}, Keep(), None),
    ("kept by a person, now its own again", R.WOKEN, member(count=2), {"now": DAWN, "state": holding(ASLEEP, Deployment_web=remembered(Stage.KEPT, start=2))}, SetReplicas(3), Stage.RISING),
    ("contested, left", R.GIVEN_BACK, member(count=5), {"now": DAWN, "state": holding(ASLEEP, Deployment_web=remembered(Stage.CONTESTED, 5))}, Keep(), None),
    ("a CronJob wakes", R.WOKEN, member(CRON, 0), {"now": DAWN, "state": holding(ASLEEP, CronJob_report=remembered(Stage.DOWN, 1))}, Resume(), Stage.RISING),
    ("a ScaledObject wakes", R.WOKEN, member(SO, 0), {"now": DAWN, "state": holding(ASLEEP, ScaledObject_queue=DOWN3)}, Keep(), Stage.RISING),
    ("waits for its wave", R.WAITS_TO_WAKE, member(count=0, wave=1), {"now": DAWN, "spec": WAVED, "state": holding(ASLEEP, Deployment_web=DOWN3, Deployment_db=DOWN3), "others": (member("Deployment/db", 0, wave=0),)}, Keep(), Stage.DOWN),
    # With a rule of its own.
    ("held", R.HELD, member(), {"overrides": (override("o", AT_19, "Deployment/web", state="Hold"),)}, Keep(), None),
    ("a ScaledObject held", R.HELD, member(SO, 2), {"overrides": (override("o", AT_19, SO, state="Hold"),)}, OverlayHold(), None),
    ("kept awake", R.WOKEN, member(count=0), {"overrides": (override("o", AT_19, "Deployment/web", state="Awake"),), "state": holding(ASLEEP, Deployment_web=DOWN3)}, SetReplicas(3), Stage.RISING),
    ("put to sleep by day", R.PUT_TO_SLEEP, member(), {"now": NOON, "state": AWAKE, "overrides": (override("o", "2026-11-23T11:00:00Z", "Deployment/web", state="Asleep"),)}, SetReplicas(0), Stage.FALLING),
    ("pinned", R.PINNED, member(count=0), {"overrides": (override("o", AT_19, "Deployment/web", replicas=2),), "state": holding(ASLEEP, Deployment_web=DOWN3)}, SetReplicas(2), Stage.PINNED),
    ("a ScaledObject pinned", R.PINNED, member(SO, 2), {"overrides": (override("o", AT_19, SO, replicas=2),)}, OverlayReplicas(2), None),
    ("no longer pinned", R.WOKEN, member(count=2), {"now": NOON, "state": holding(AWAKE, Deployment_web=remembered(Stage.PINNED, to=2))}, SetReplicas(3), Stage.RISING),
    ("no longer pinned, at night", R.PUT_TO_SLEEP, member(count=2), {"state": holding(ASLEEP, Deployment_web=remembered(Stage.PINNED, to=2))}, SetReplicas(0), Stage.FALLING),
    # Given back for good.
    ("no member any more", R.WOKEN, member(count=0, released=True), {"state": holding(ASLEEP, Deployment_web=DOWN3)}, SetReplicas(3), Stage.RISING),
    ("the Environment is deleted", R.WOKEN, member(count=0, wave=1), {"spec": environment(waves=WAVES, deleting=AT_19), "state": holding(ASLEEP, Deployment_web=DOWN3)}, SetReplicas(3), Stage.RISING),
]  # fmt: skip


@pytest.mark.parametrize(("_", "reason", "seen", "given", "action", "stage"), ROWS, ids=[row[0] for row in ROWS])
def test_a_member_is_changed_or_left_for_one_reason(
    _: str, reason: members.MemberReason, seen: MemberSeen, given: dict[str, Any], action: Action, stage: Stage | None
) -> None:
    given = dict(given)
    decision = run(seen, *given.pop("others", ()), **given)
    found = next(each for each in decision.members if each.key == seen.key)
    assert (found.reason, found.action) == (reason, action)
    assert (None if found.state is None else found.state.stage) == stage
    assert read_state(decision.status).members == {
        key: _to_the_second(each) for key, each in decision.state.members.items()
    }


def _to_the_second(state: MemberState) -> MemberState:
    return replace(state, since=state.since.replace(microsecond=0))


def test_every_reason_of_a_member_is_reached() -> None:
    assert {row[1] for row in ROWS} == set(members.MemberReason)


def test_the_remembered_count_is_that_of_before() -> None:
    web = run(member(count=7)).state.members["Deployment/web"]
    assert (web.stage, web.replicas, web.start) == (Stage.FALLING, 7, 7)
    kept = run(member(count=2, manager="kubectl"), state=holding(ASLEEP, Deployment_web=DOWN3)).state.members[
        "Deployment/web"
    ]
    assert (kept.replicas, kept.by) == (3, "kubectl")
    fought = run(member(count=8, manager="helm"), state=holding(ASLEEP, Deployment_web=DOWN3)).state.members[
        "Deployment/web"
    ]
    assert (fought.replicas, fought.put_backs) == (8, 1)


def test_a_contested_environment_says_who_and_what_to_do() -> None:
    twice = remembered(Stage.DOWN, put_backs=1, by="argocd-controller")
    status = run(member(count=5, manager="argocd-controller"), state=holding(ASLEEP, Deployment_web=twice)).status
    contested = next(each for each in status.conditions if each.type == "Contested")
    assert (contested.status, contested.reason) == ("True", "PutBackTwice")
    assert contested.message == (
        "Deployment/web: argocd-controller put its count back 2 times; let it ignore the count (Argo CD: "
        "ignoreDifferences on /spec/replicas), or exclude the member"
    )


def test_the_status_says_what_is_and_what_comes_next() -> None:
    decision = run(member(), member("Deployment/api", ready=False), now=NOON, state=AWAKE)
    status = decision.status
    assert (status.phase, status.ready) == ("Awake", "1/2")
    assert status.next_change is not None
    assert (status.next_change.at, status.next_change.to) == ("2026-11-23T18:00:00Z", "Asleep")
    assert status.next_change.because == "outside of the hours"
    assert decision.look_again_at == datetime(2026, 11, 23, 18, tzinfo=UTC)
    assert conditions(decision) == {
        "Ready": "False",
        "Asleep": "False",
        "Valid": "True",
        "Contested": "False",
        "Conflict": "False",
    }
    ready = next(each for each in status.conditions if each.type == "Ready")
    assert (ready.reason, ready.message) == ("MembersNotReady", "not ready: Deployment/api")
    assert conditions(run(member(), now=NOON, state=AWAKE))["Ready"] == "True"


def test_the_next_change_looks_past_an_override() -> None:
    late = override("late", AT_19, state="Awake", until="2026-11-23T23:30:00Z")
    status = run(now=NIGHT, overrides=(late,)).status
    assert status.override is not None
    assert (status.override.summary, status.override.requested_by) == ("Awake until 2026-11-23T23:30:00Z", "jana")
    assert status.next_change is not None
    assert (status.next_change.at, status.next_change.to) == ("2026-11-23T23:30:00Z", "Asleep")
    over_night = override("night", AT_19, state="Awake", until="2026-11-24T08:00:00Z")
    following = run(now=NIGHT, overrides=(over_night,)).status.next_change
    assert following is not None
    assert following.at == "2026-11-24T18:00:00Z"


def test_without_a_calendar_nothing_is_put_to_sleep_and_nothing_woken() -> None:
    falling = EnvironmentState(phase=Phase.FALLING_ASLEEP, since=NIGHT)
    assert run(member(), state=falling, calendar=None, calendar_error="gone").members[0].action == Keep()
    asleep = run(member(count=0), state=holding(ASLEEP, Deployment_web=DOWN3), calendar=None, calendar_error="gone")
    assert asleep.members[0].action == Keep()
    assert conditions(asleep)["Valid"] == "False"
    waking = holding(replace(ASLEEP, phase=Phase.WAKING), Deployment_web=DOWN3)
    assert run(member(count=0), state=waking, calendar=None, calendar_error="gone").members[0].action == SetReplicas(3)
    new = run(member(), state=EnvironmentState(), calendar=None, calendar_error="gone")
    assert (new.state.phase, new.members[0].action) == (Phase.AWAKE, Keep())


def test_a_deleted_environment_goes_when_all_is_given_back() -> None:
    deleted = environment(deleting=AT_19)
    assert not run(member(count=0), spec=deleted, state=holding(ASLEEP, Deployment_web=DOWN3)).released
    assert run(member(count=3), spec=deleted, state=holding(ASLEEP, Deployment_web=remembered(Stage.RISING))).released
    assert run(spec=deleted, state=holding(ASLEEP, Deployment_gone=DOWN3)).released


@pytest.mark.parametrize(
    ("manager", "writer"),
    [
        *((name, Writer.CONTROLLER) for name in ("argocd-controller", "argocd-application-controller", "kustomize-controller", "helm", "flux", "my-operator")),
        *((name, Writer.PERSON) for name in ("kubectl-scale", "kubectl-edit", "Mozilla", "node-fetch", "k9s", "")),
        *((name, Writer.OURS) for name in ("keda-py", "kube-controller-manager")),
    ],
)  # fmt: skip
def test_the_field_manager_tells_controllers_from_people(manager: str, writer: Writer) -> None:
    assert writer_of(manager) is writer


def test_a_scaled_object_at_0_is_ready_only_if_that_is_its_own_minimum() -> None:
    assert [is_ready(0, 0), is_ready(0, 0, minimum=1), is_ready(3, 2), is_ready(3, 3), is_ready(3, 3, minimum=5)] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert [is_ready(0, 1, asleep=True), is_ready(0, 0, minimum=1, asleep=True)] == [False, True]


def test_a_thousand_members_are_decided_about_in_little_time() -> None:
    awake = [member(f"Deployment/m{number}") for number in range(1000)]
    down = holding(ASLEEP, **{f"Deployment_m{number}": DOWN3 for number in range(1000)})
    asleep = [member(f"Deployment/m{number}", 0) for number in range(1000)]
    assert cpu_of(lambda: run(*awake, now=NOON, state=AWAKE), ConfigError) < 0.05  # 10 ms
    assert cpu_of(lambda: run(*asleep, state=down), ConfigError) < 0.05  # 17 ms
    assert len(run(*asleep, state=down).status.model_dump_json(by_alias=True, exclude_defaults=True)) < 200_000


WEB = "apps/v1/Deployment/web"


@pytest.mark.parametrize(
    ("seen", "key"),
    [
        ((member("Deployment/web", 0),), "Deployment/web"),
        ((member("ScaledObject/web", 2, workload="apps/v1/Deployment/api"), member("Deployment/web", 0)), "Deployment/web"),
        ((member("ScaledObject/web", 0, workload=WEB),), "ScaledObject/web"),
    ],
    ids=["it is gone", "it scales something else", "it is there"],
)  # fmt: skip
def test_the_count_of_a_scaled_object_goes_to_the_workload_that_it_leaves(
    seen: tuple[MemberSeen, ...], key: str
) -> None:
    state = holding(ASLEEP, ScaledObject_web=remembered(Stage.DOWN, 3, workload=WEB))
    decision = run(*seen, state=state)
    assert decision.state.members[key].replicas == 3
    assert read_state(decision.status).members == decision.state.members
    assert decision.state.members.keys() <= {one.key for one in seen}


def test_a_workload_that_is_gone_as_well_leaves_nothing() -> None:
    state = holding(ASLEEP, ScaledObject_web=remembered(Stage.DOWN, 3, workload=WEB))
    assert run(member("Deployment/api", 0), state=state).state.members.keys() == {"Deployment/api"}


def by_type(decision: EnvironmentDecision, kind: str) -> tuple[str, str, str]:
    (found,) = (one for one in decision.status.conditions if one.type == kind)
    return found.status, found.reason, found.message


def test_as_many_members_as_a_status_remembers_sleep_and_fit_into_one_object() -> None:
    most = tuple(
        member(f"ScaledObject/{number:0253}", 2, workload=f"apps/v1/Deployment/{number:0253}")
        for number in range(MOST_MEMBERS)
    )
    decision = run(*most, state=AWAKE)
    assert {each.reason for each in decision.members} == {R.PUT_TO_SLEEP}
    assert by_type(decision, "Valid")[0] == "True"
    written = decision.status.model_dump_json(by_alias=True, exclude_defaults=True)
    fields_of_managers = sum(len(key) + 120 for key in decision.status.members)
    assert len(written) + fields_of_managers < 1_300_000  # etcd refuses objects of 1.5 MiB


def test_of_one_member_more_none_is_put_to_sleep_and_the_condition_says_what_to_do() -> None:
    decision = run(*CROWD, state=AWAKE)
    assert {type(each.action) for each in decision.members} == {Keep}
    assert decision.status.members == {}
    assert by_type(decision, "Valid") == ("False", "TooManyMembers", TOO_MANY)
    assert "1000 members" in TOO_MANY
    assert "spec.selector" in TOO_MANY


def test_a_crowd_that_grows_while_it_falls_asleep_or_sleeps_forgets_no_count() -> None:
    down = {f"Deployment_d{number:04}": DOWN3 for number in range(MOST_MEMBERS)}
    asleep = tuple(member(f"Deployment/d{number:04}", 0) for number in range(MOST_MEMBERS))
    night = run(*asleep, member("Deployment/new"), state=holding(ASLEEP, **down))
    assert night.state.phase is Phase.FALLING_ASLEEP
    assert len(night.status.members) == MOST_MEMBERS
    assert [each.key for each in night.members if each.reason is R.TOO_MANY] == ["Deployment/new"]
    waves = Transition(to=Phase.ASLEEP, started=NIGHT, wave=0, wave_started=NIGHT)
    falling = replace(holding(ASLEEP, **down), phase=Phase.FALLING_ASLEEP, transition=waves)
    turned = run(*asleep, member("Deployment/new"), state=falling)
    assert turned.state.phase is Phase.WAKING
    assert len(turned.status.members) == MOST_MEMBERS
    morning = run(*asleep, member("Deployment/new"), state=holding(ASLEEP, **down), now=DAWN)
    assert [each.action for each in morning.members].count(SetReplicas(3)) == DEV.max_parallel


def test_a_deletion_that_is_held_up_says_what_is_in_the_way_and_what_to_do() -> None:
    leaving, held = environment(deleting=AT_19), holding(ASLEEP, Deployment_web=DOWN3)
    unknown = by_type(run(member(count=None), spec=leaving, state=held), "Released")
    assert unknown[:2] == ("False", "CountUnknown")
    assert unknown[2].startswith("the count of Deployment/web cannot be read; it is deleted as soon as that works;")
    assert "take its finalizer finalizer.keda.sh off (Deployment/web 3)" in unknown[2]
    refused = EnvironmentSeen(members=[member(count=0, error="deployments is forbidden")])
    decision = decide(leaving, OFFICE, Overrides(), refused, held, NIGHT)
    assert held_up(decision.status).startswith("a count cannot be given back: deployments is forbidden; it is deleted")
    rising = run(member(count=0), spec=leaving, state=held)
    assert by_type(rising, "Released")[:2] == ("False", "GivingBack")
    assert held_up(rising.status) == ""
    assert by_type(run(member(), spec=leaving, state=AWAKE), "Released")[:2] == ("True", "AllGivenBack")


def test_the_calendar_is_asked_once_about_now_and_once_about_the_next_change() -> None:
    decided: list[EnvironmentDecision] = []
    assert calls_of(lambda: decided.append(run(now=NIGHT)), moment_of) == 2
    change = decided[0].next_change
    assert change is not None
    assert (f"{change.at:%d %H:%M}", change.to) == ("24 08:00", goals.State.AWAKE)
