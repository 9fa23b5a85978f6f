"""Members that are up though their environment is to be asleep, with the reason and the end of each. Pure.

An environment is asleep when nothing of it is up. What its waves do not wait for (members that are too new, kept by a
person or an Override, woken by a trigger) may be up long after the waves are over: until then it falls asleep.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from keda_py.apis.environments.environment import WRITE_FAILED, MemberUp
from keda_py.core.environment.decision.members import MemberDecision, MemberReason
from keda_py.core.environment.decision.observation import MemberSeen, Role
from keda_py.core.environment.decision.state import Phase, Transition
from keda_py.core.environment.overrides import OverrideState, Ruling
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.values.durations import in_words as length_in_words
from keda_py.core.values.times import write_time

# Members that a status lists, which also has to remember the counts of a thousand.
MOST_LISTED = 50
_LONGEST_ERROR, _MOST_NAMED = 200, 5
OVERRIDDEN = "Override"
"""The reason of a member that an Override rules."""
_GOING = (MemberReason.PUT_TO_SLEEP.value, MemberReason.PUT_TO_SLEEP_AGAIN.value)


def own_members(members: Iterable[MemberSeen]) -> list[MemberSeen]:
    """Leave out members that another Environment has, and those that are only given back."""
    return [member for member in members if not member.owned_by and not member.released]


def is_up(member: MemberSeen) -> bool:
    """Return whether it runs, or may: a count, a CronJob that is not suspended, or pods that have yet to end."""
    return bool(member.count) or member.stopping


def phase_at_rest(phase: Phase, members: Sequence[MemberSeen]) -> Phase:
    """Return ASLEEP or FALLING_ASLEEP, when no wave is at work. An unknown count leaves the phase as it was."""
    own = own_members(members)
    if any(is_up(member) for member in own):
        return Phase.FALLING_ASLEEP
    is_known = all(member.count is not None for member in own)
    return Phase.ASLEEP if is_known or phase is Phase.ASLEEP else Phase.FALLING_ASLEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """The reasons for which a member may be up, besides what was decided about it."""

    spec: EnvironmentSpec
    transition: Transition | None
    held: str
    """The reason why the whole environment is held; "" if it is not."""

    def list_up(
        self, members: Sequence[MemberSeen], decisions: Sequence[MemberDecision], verdicts: Mapping[str, Ruling]
    ) -> list[MemberUp]:
        """List the first members: those that stay up before those that are being scaled down."""
        by_key = {decision.key: decision for decision in decisions}
        found = [
            self._up(member, by_key[member.key], verdicts[member.key])
            for member in own_members(members)
            if is_up(member) or member.count is None
        ]
        return sorted(found, key=lambda up: up.reason in _GOING)[:MOST_LISTED]

    def _up(self, member: MemberSeen, decision: MemberDecision, verdict: Ruling) -> MemberUp:
        up = MemberUp(member=member.key, reason=decision.reason.value, because=self._because(member, decision))
        rules = verdict.rules
        if (
            rules is not None
            and rules.state is not OverrideState.ASLEEP
            and decision.reason is not MemberReason.COUNT_UNKNOWN
        ):
            until = "" if rules.ends is None else write_time(rules.ends)
            return up.model_copy(update={"reason": OVERRIDDEN, "because": verdict.because, "until": until})
        if decision.reason is MemberReason.YOUNG:
            until = write_time(member.created + self.spec.grace)
            return up.model_copy(update={"since": write_time(member.created), "until": until})
        if decision.reason.value in _GOING and decision.state is not None and not member.stopping:
            reason = WRITE_FAILED if member.error else up.reason
            return up.model_copy(update={"reason": reason, "since": write_time(decision.state.since)})
        return up

    def _because(self, member: MemberSeen, decision: MemberDecision) -> str:
        match decision.reason:
            case _ if member.stopping:
                return "its last pods are ending"
            case MemberReason.YOUNG:
                return f"grace {length_in_words(self.spec.grace)}"
            case MemberReason.HELD:
                return self.held
            case MemberReason.WAITS_TO_SLEEP:
                wave = self.transition.wave if self.transition is not None else len(self.spec.waves)
                return f"it waits until wave {self.spec.wave_name(wave)} sleeps"
            case MemberReason.WOKEN_BY_TRIGGER:
                return "a trigger is active, which wakes it (spec.asleep.triggersWake)"
            case MemberReason.KEPT_UP:
                return f"{decision.because}; it stays up until the next wake"
            case MemberReason.PUT_TO_SLEEP | MemberReason.PUT_TO_SLEEP_AGAIN:
                return self._going(member)
            case _:
                return decision.because or decision.reason.value

    @staticmethod
    def _going(member: MemberSeen) -> str:
        doing = "it is being suspended" if member.role is Role.CRON_JOB else "it is being scaled down"
        return f"{doing}; the last try failed: {member.error[:_LONGEST_ERROR]}" if member.error else doing


def in_words(up: MemberUp, *, at: Callable[[str], str], ago: Callable[[str], str]) -> str:
    """Say why it is up; `at` and `ago` write the stored times."""
    if up.reason == MemberReason.YOUNG.value:
        return f"created {ago(up.since)}, left alone until {at(up.until)}: {up.because}"
    return f"{up.because} since {at(up.since)}" if up.since else up.because


def still_up_in_words(count: int, found: Sequence[MemberUp]) -> str:
    """Write `2 still up: Deployment/web: created at ...` for Events and conditions, with the times of the status."""
    sentences = [f"{up.member}: {in_words(up, at=str, ago=lambda text: f'at {text}')}" for up in found[:_MOST_NAMED]]
    more = len(found) - len(sentences)
    head = f"{count} still up" if count else f"{len(found)} not known to be asleep"
    return f"{head}: {'; '.join(sentences)}{f'; and {more} more' if more > 0 else ''}"
