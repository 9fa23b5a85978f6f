"""Four weeks of an environment with overrides, kills, people and another controller: what must hold at all times."""

from datetime import datetime, timedelta

from hypothesis import given

from keda_py.core.environment.calendar.queries import moment_of
from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.members import Keep, MemberReason
from keda_py.core.environment.decision.observation import Role
from keda_py.core.environment.overrides import Overrides, OverrideState, TargetKey
from tests.core.environment.builders import environment
from tests.core.environment.model import ARGO, PERSON, NamespaceModel, Thing
from tests.core.environment.stories import (
    ASLEEP_PHASES,
    AWAKE_PHASES,
    KEYS,
    START,
    WAVES,
    WEEKS,
    Story,
    boundaries_of,
    calendar_of,
    override,
    stories,
)
from tests.properties import examples


def build(story: Story) -> NamespaceModel:
    things = []
    for (key, role, wave, count), seconds in zip(KEYS, story.pods_take, strict=True):
        takes = None if seconds is None else timedelta(seconds=seconds)
        fought = story.fought and key == "Deployment/git"
        thing = Thing(key, role, wave, count, START - timedelta(days=9), takes, fought, count=count)
        thing.ready_at = START if takes is not None else None
        things.append(thing)
    return NamespaceModel(
        spec=environment(waves=WAVES, readyBy=story.ready_by, maxParallel=story.parallel),
        calendar=calendar_of(story),
        things=things,
        overrides=[override(number, *each) for number, each in enumerate(story.overrides)],
        kills=story.kills,
        now=START,
    )


@examples(8)
@given(story=stories)
def test_four_weeks_lose_no_count_and_no_boundary(story: Story) -> None:
    model = build(story)
    boundaries = boundaries_of(model.calendar)
    lost_from, lost_until = story.lost[0], story.lost[0] + timedelta(minutes=story.lost[1])
    second, hour = timedelta(seconds=1), timedelta(hours=1)
    events = [
        *(at + second for at in boundaries),
        *(at + hour for at in boundaries),
        *(each[0] for each in story.edits),
        *(each[0] for each in story.overrides),
        lost_from,
        lost_until,
        *(START + hour * step for step in range(0, int(WEEKS / hour), 5)),
    ]
    for now in model.instants(START + WEEKS, events):
        model.calendar_lost = lost_from <= now < lost_until
        for when, member, count in story.edits:
            if when == now:
                model.person_scales(model.things[member], count)
        model.other_controller_acts()
        decision = model.settle()
        check(model, story, decision)
        if now - second in boundaries and is_ruled_by_calendar(model, now - 2 * hour):
            phases = AWAKE_PHASES if moment_of(model.calendar, now).open else ASLEEP_PHASES
            assert decision.state.phase in phases, f"a boundary was missed at {now}"


def is_ruled_by_calendar(model: NamespaceModel, since: datetime) -> bool:
    """No Override has ruled since then."""
    return not model.calendar_lost and not any(
        each.created <= model.now and (each.ends is None or each.ends > since) for each in model.overrides
    )


def check(model: NamespaceModel, story: Story, decision: EnvironmentDecision) -> None:
    asleep_is_allowed(model, story)
    counts_are_restored(model, decision)
    nothing_stays_up_by_itself(model, decision)
    other = environment("newer", created="2026-02-01T00:00:00Z")
    ignored = model.decide(other, owned_by="dev")
    assert {each.reason for each in ignored.members} == {MemberReason.OWNED_BY_ANOTHER}
    assert {type(each.action) for each in ignored.members} == {Keep}
    assert ignored.state.members == {}


def asleep_is_allowed(model: NamespaceModel, story: Story) -> None:
    """Each count of 0 that we set was set while closed, or by an Override, and never while the calendar was lost."""
    known = Overrides(model.overrides)
    for at, key, count in model.log:
        kind, _, name = key.partition("/")
        verdicts = [
            known.verdict([target], at).rules for target in (TargetKey(kind, name), TargetKey("Environment", "dev"))
        ]
        rule = next((each for each in verdicts if each is not None), None)
        if count == 0:
            asleep = rule is not None and rule.state is OverrideState.ASLEEP
            lost = story.lost[0] <= at < story.lost[0] + timedelta(minutes=story.lost[1])
            closed = rule is None and not lost and not moment_of(model.calendar, at).open
            owned = next(thing.owned for thing in model.things if thing.key == key) == 0
            assert asleep or closed or owned, f"{key} was put to sleep at {at}"
    model.log.clear()


def counts_are_restored(model: NamespaceModel, decision: EnvironmentDecision) -> None:
    """An environment that is awake has given back every count, unless an Override says otherwise."""
    if decision.state.phase != "Awake" or decision.goal.override is not None:
        return
    for thing in model.things:
        kind, _, name = thing.key.partition("/")
        if Overrides(model.overrides).verdict([TargetKey(kind, name)], model.now).rules is not None:
            continue
        if thing.key in decision.state.members:
            # Waves time out, and what waits behind a member that never becomes ready has its turn all the same.
            assert story_is_slow(model), (
                f"{thing.key} is still remembered at {model.now}: {decision.state.members[thing.key]}"
            )
            continue
        restored = thing.count >= thing.owned if thing.role is Role.SCALED_OBJECT else thing.count == thing.owned
        assert restored, f"{thing.key} has {thing.count} of {thing.owned} at {model.now}"


def nothing_stays_up_by_itself(model: NamespaceModel, decision: EnvironmentDecision) -> None:
    """At night only what a person or another controller has scaled up is up; and asleep nothing is."""
    if not decision.state.rests or decision.goal.state != "Asleep":
        return
    if decision.state.phase == "Asleep":
        assert [thing.key for thing in model.things if thing.count] == [], f"asleep is said at {model.now}"
    for thing in model.things:
        kind, _, name = thing.key.partition("/")
        ruled = Overrides(model.overrides).verdict([TargetKey(kind, name)], model.now).rules is not None
        assert thing.count == 0 or ruled or thing.manager in (PERSON, ARGO), f"{thing.key} is up at {model.now}"


def story_is_slow(model: NamespaceModel) -> bool:
    return any(thing.pods_take is None for thing in model.things)
