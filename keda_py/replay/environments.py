"""One Environment over time: `core/environment/decision` decides, members are ready as soon as they are up. Pure.

How long its wakes took is taken from its status and not learnt anew, so `readyBy` begins as early as it does now.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from keda_py.core.environment.decision.decision import EnvironmentDecision, decide
from keda_py.core.environment.decision.goal import State
from keda_py.core.environment.decision.idleness import revisions_of
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen
from keda_py.core.environment.decision.state import EnvironmentState, Stage
from keda_py.core.environment.overrides import Overrides
from keda_py.core.meaning.causes import by_environment
from keda_py.replay.plan import EnvironmentPlan
from keda_py.replay.timeline import Step

_ASLEEP = (Stage.FALLING, Stage.DOWN)


class EnvironmentReplay:
    """`due` is when to decide next; `awake` is what is wanted, None before the first decision.

    With `resumes` it begins with what the Environment's status remembers.
    """

    def __init__(self, plan: EnvironmentPlan, overrides: Overrides, start: datetime, *, resumes: bool = False) -> None:
        self.spec = plan.spec
        self.due: datetime | None = start
        self.awake: bool | None = None
        self.began_awake = True
        self.because = ""
        self.steps: list[Step] = []
        self._plan, self._overrides = plan, overrides
        self._state = plan.state if resumes else EnvironmentState(wakes=plan.state.wakes)

    @property
    def moves(self) -> bool:
        """True while it is waking or falling asleep: each change of a member counts then."""
        return self._state.transition is not None

    def is_asleep(self, key: str) -> bool:
        """Return whether that member is to be at 0."""
        remembered = self._state.members.get(key)
        return remembered is not None and remembered.stage in _ASLEEP

    def decide(self, members: Sequence[MemberSeen], now: datetime) -> tuple[EnvironmentDecision, bool]:
        """Decide what its members are to do, and whether it has to decide again on what comes of that."""
        seen = EnvironmentSeen(members=members, calendar_error=self._plan.problem)
        before = self._state
        if before.activity is not None:  # a forecast knows of no rollout: members run on what they run now
            before = replace(before, activity=replace(before.activity, revisions=revisions_of(members)))
        decision = decide(self.spec, self._plan.calendar, self._overrides, seen, before, now)
        state = replace(decision.state, wakes=self._plan.state.wakes)
        changed, self._state = state != self._state, state
        self.because = by_environment(self.spec.name, decision.goal.because)
        self._note(decision, now)
        self.due = decision.look_again_at
        return decision, changed

    def _note(self, decision: EnvironmentDecision, now: datetime) -> None:
        goal = decision.goal
        if goal.state is State.HOLD:
            return
        awake = goal.state is State.AWAKE
        if self.awake is None:
            self.began_awake = awake
        elif awake is not self.awake:
            reason, before = goal.reason.value, int(self.awake)
            self.steps.append(Step(at=now, before=before, replicas=int(awake), reason=reason, because=goal.because))
        self.awake = awake
