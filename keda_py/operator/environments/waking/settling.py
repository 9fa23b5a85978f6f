"""Environments and waking on request: what a decision wants of the slices, what it waits for, and what the status says.

In: a decision and the members. Next: `operator/waking/waking.py`, which keeps the slices.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from keda_py.apis.environments.environment import EnvironmentStatus
from keda_py.apis.environments.waking import WakeOnRequestStatus
from keda_py.apis.foreign import map_at
from keda_py.apis.wire import Condition
from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.goal import GoalReason, State
from keda_py.core.environment.decision.observation import EnvironmentSeen, Role
from keda_py.core.environment.decision.state import Phase, lead_of
from keda_py.core.environment.overrides import OverrideState
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.waking.rules import WakeState, WavePart
from keda_py.core.waking.slices import WakeOwner
from keda_py.core.waking.spec import WakeSpec
from keda_py.kube.resources import ENVIRONMENTS
from keda_py.operator.controller.state import Remembered
from keda_py.operator.environments.waking.requests import WakeRequests
from keda_py.operator.waking.waking import Waking
from keda_py.operator.waking.wishes import KeptDown, OwnerWish

NOT_INSTALLED = "no wakers are installed; set the chart's waker.enabled, which sets --waker-service"
CONDITION = "WakesOnRequest"
Decide = Callable[..., EnvironmentDecision]
"""Decides again about what is `seen`."""
_LONGEST_WAKE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class EnvironmentWaking:
    """Both are None without wakers."""

    waking: Waking | None
    requests: WakeRequests | None

    def settle(
        self,
        spec: EnvironmentSpec,
        seen: EnvironmentSeen,
        decision: EnvironmentDecision,
        state: Remembered,
        decide: Decide,
    ) -> EnvironmentDecision:
        """Note which slices the decision wants; decide again if it would begin to fall asleep before they are there.

        The status of what is returned says which Services wake the environment.
        """
        wish = wish_of(spec, seen, decision)
        if self.waking is not None:
            self.waking.want(spec.uid, wish)
        if spec.wake is None:
            return decision
        if decision.goal.state is State.ASLEEP and not decision.state.rests:
            pending = self._pending(spec.wake, wish)
            decision = decide(seen=replace(seen, wakers_pending=pending)) if pending else decision
        return replace(decision, status=self._status(decision, wish, state))

    def _pending(self, wake: WakeSpec, wish: OwnerWish | None) -> str:
        """Say why it may not begin to fall asleep; "" if it may."""
        if self.waking is None:
            return NOT_INSTALLED if wake.require_waker else ""
        return self.waking.sleep_obstacle(wish) if wish is not None else ""

    def forget(self, uid: str) -> None:
        if self.waking is not None and self.requests is not None:
            self.waking.forget(uid)
            self.requests.forget(uid)

    def subscribe(self, notify: Callable[[str], None]) -> Callable[[], None]:
        """Call `notify` with the uid of each Environment whose Services have changed."""
        return self.waking.subscribe(notify) if self.waking is not None else lambda: None

    def _status(self, decision: EnvironmentDecision, wish: OwnerWish | None, state: Remembered) -> EnvironmentStatus:
        """Return the decision's status with what is known of its Services, and the last request as stored."""
        kept = _stored(state.status)
        if self.requests is not None:
            kept = self.requests.add_news(state.uid, kept)
        if self.waking is None or wish is None:
            told, reason, message = kept, "NoWakers", NOT_INSTALLED if self.waking is None else "it is being deleted"
        else:
            found = self.waking.coverage(wish)
            fields = {"services": list(found.services), "ready": found.ready, "not_woken": list(found.not_woken)}
            told = kept.model_copy(update=fields)
            problems = [f"{one.service}: {one.because}" for one in found.not_woken]
            reason = "SomeAreNot" if problems else "AllAre" if found.services else "NoService"
            message = "; ".join(problems[:5]) or f"{len(found.services)} Services wake it"
        holds = reason == "AllAre" or (reason == "SomeAreNot" and bool(told.services) and not _unreached(told))
        condition = Condition(type=CONDITION, status="True" if holds else "False", reason=reason, message=message)
        conditions = [*decision.status.conditions, condition]
        return decision.status.model_copy(update={"wake_on_request": told, "conditions": conditions})


def _unreached(told: WakeOnRequestStatus) -> bool:
    return any(one.reason == "NoWaker" for one in told.not_woken)


def _stored(status: Mapping[str, Any]) -> WakeOnRequestStatus:
    """Read the last request and the count of wakes; what another client has made unreadable begins anew."""
    stored = map_at(dict(status), "wakeOnRequest")
    try:
        return WakeOnRequestStatus.model_validate(
            {key: stored[key] for key in ("lastRequest", "wakes") if key in stored}
        )
    except ValueError:
        return WakeOnRequestStatus()


def wish_of(spec: EnvironmentSpec, seen: EnvironmentSeen, decision: EnvironmentDecision) -> OwnerWish | None:
    """Return what the environment wants of its Services; None if nothing."""
    if spec.wake is None or decision.released:
        return None
    state = _state_of(decision)
    own = [one for one in seen.members if not one.owned_by and one.key not in decision.kept_down]
    status, usual = decision.status, lead_of(decision.state.wakes, _LONGEST_WAKE)
    waves = [WavePart(name=one.name, ready=one.ready, total=one.total) for one in status.waves if one.total]
    waves = waves or [WavePart(name="members", ready=status.members_ready, total=status.members_total)]
    override = decision.goal.override
    rules = override is not None and override.state is OverrideState.AWAKE and not override.request
    return OwnerWish(
        owner=WakeOwner(api_version=ENVIRONMENTS.api_version, kind=ENVIRONMENTS.kind, name=spec.name, uid=spec.uid),
        namespace=spec.namespace,
        spec=spec.wake,
        state=state,
        pods=frozenset(frozenset(one.pod_labels.items()) for one in own if one.pod_labels),
        pods_unknown=any(not one.pod_labels and one.role is not Role.CRON_JOB for one in own),
        kept_down=tuple(
            KeptDown(one.key, frozenset(one.pod_labels.items()), decision.kept_down[one.key])
            for one in seen.members
            if one.key in decision.kept_down and one.pod_labels
        ),
        # While it is awake nothing is shown, so that the rules do not change with each pod.
        waves=tuple(waves) if state is WakeState.WAKING else (),
        usual=int(usual.total_seconds()),
        ready_at=_ready_at(decision, usual) if state is WakeState.WAKING else None,
        kept_up_by=override.because if rules and override is not None else "",
    )


def _state_of(decision: EnvironmentDecision) -> WakeState:
    goal, state = decision.goal, decision.state
    if goal.state is State.ASLEEP or goal.reason is GoalReason.WAKERS_PENDING:
        return WakeState.ASLEEP
    if goal.state is State.HOLD:
        return WakeState.ASLEEP if state.rests else WakeState.FORWARDING
    return WakeState.FORWARDING if state.phase is Phase.AWAKE and not state.transition else WakeState.WAKING


def _ready_at(decision: EnvironmentDecision, usual: timedelta) -> datetime | None:
    transition = decision.state.transition
    return None if transition is None or not usual else transition.started + usual
