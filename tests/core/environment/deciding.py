"""One decision about an Environment, from what a test says is seen."""

from dataclasses import replace
from datetime import UTC, datetime

from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.decision.decision import EnvironmentDecision, decide
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen
from keda_py.core.environment.decision.state import (
    EnvironmentState,
    MemberState,
    Phase,
    Stage,
)
from keda_py.core.environment.namespaces.order import NO_TURN, NamespaceTurn
from keda_py.core.environment.overrides import Overrides, OverrideSpec
from keda_py.core.environment.spec import EnvironmentSpec
from tests.core.environment.builders import NIGHT, NOON, calendar, environment, remembered

DEV, OFFICE = environment(), calendar()
ASLEEP, AWAKE = EnvironmentState(phase=Phase.ASLEEP, since=NIGHT), EnvironmentState(phase=Phase.AWAKE, since=NOON)


def run(
    *seen: MemberSeen,
    now: datetime = NIGHT,
    spec: EnvironmentSpec = DEV,
    state: EnvironmentState = ASLEEP,
    overrides: tuple[OverrideSpec, ...] = (),
    calendar: Calendar | None = OFFICE,
    calendar_error: str = "",
    wakers_pending: str = "",
    turn: NamespaceTurn = NO_TURN,
) -> EnvironmentDecision:
    found = EnvironmentSeen(members=seen, calendar_error=calendar_error, wakers_pending=wakers_pending, turn=turn)
    return decide(spec, calendar, Overrides(overrides), found, state, now)


def holding(state: EnvironmentState, **members_: MemberState) -> EnvironmentState:
    """Add members to a state; their keys are written Deployment_web."""
    return replace(state, members={key.replace("_", "/"): each for key, each in members_.items()})


WAKES_EARLY = environment(readyBy=True)
DAWN = datetime(2026, 11, 23, 8, tzinfo=UTC)
SO, CRON = "ScaledObject/queue", "CronJob/report"
DOWN3, FALLING3 = remembered(Stage.DOWN), remembered(Stage.FALLING, start=3)


def conditions(decision: EnvironmentDecision) -> dict[str, str]:
    return {each.type: each.status for each in decision.status.conditions}
