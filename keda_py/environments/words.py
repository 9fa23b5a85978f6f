"""An Environment in words: its phase, what comes next and when, who keeps it as it is and why. Pure."""

from collections.abc import Iterator
from datetime import datetime

from keda_py.apis.environments.environment import Environment, EnvironmentStatus, MemberUp, OverrideInForce
from keda_py.apis.environments.override import Override
from keda_py.core.environment.decision.members import MemberReason
from keda_py.core.environment.decision.state import Phase, Stage
from keda_py.core.environment.decision.still_up import in_words
from keda_py.core.environment.namespaces.coverage import OWNER_LABEL
from keda_py.core.environment.overrides import request_of
from keda_py.core.meaning.wake_services import describe_requests
from keda_py.core.values.times import parse_optional_time
from keda_py.core.waking.spec import build_wake_spec
from keda_py.errors import ConfigError
from keda_py.terminal.times import Times, rough_duration, spoken_duration

PHASES = {
    Phase.UNKNOWN: "unknown",
    Phase.ASLEEP: "asleep",
    Phase.WAKING: "waking",
    Phase.AWAKE: "awake",
    Phase.FALLING_ASLEEP: "falling asleep",
}
_GOES = {"Asleep": "sleeps", "Awake": "wakes", "Hold": "is held"}
_KEPT = {"Awake": "kept awake", "Asleep": "put to sleep", "Hold": "held"}
_WRONG = {"Valid": "False", "Contested": "True", "Conflict": "True"}


def phase_of(status: EnvironmentStatus) -> str:
    """`falling asleep`, `asleep, 4 still up` when its waves are over; `unknown` before the first look at it."""
    return f"asleep, {status.members_up} still up" if is_partly_up(status) else PHASES[Phase(status.phase)]


def is_partly_up(status: EnvironmentStatus) -> bool:
    """Whether its waves are asleep while members are up that no wave waits for."""
    rests = status.phase == Phase.FALLING_ASLEEP.value and status.transition is None
    return rests and bool(status.members_up)


def up_in_words(up: MemberUp, times: Times) -> str:
    """Write `created 40 s ago, left alone until 08:04 UTC: grace 15 min`."""

    def at(text: str) -> str:
        return times.spoken(found) if (found := time_of(text)) is not None else text

    def ago(text: str) -> str:
        return f"{spoken_duration(times.now - found)} ago" if (found := time_of(text)) is not None else f"at {text}"

    return times.localised(in_words(up, at=at, ago=ago))


def calendar_of(environment: Environment) -> str:
    """Name its calendar: `Calendar office`, or `its own hours`."""
    reference = environment.spec.calendar_ref
    return "its own hours" if reference is None else f"{reference.kind or 'Calendar'} {reference.name}"


def time_of(text: str) -> datetime | None:
    """Parse a stored time; None if it is empty or cannot be read."""
    try:
        return parse_optional_time(text, field="status")
    except ConfigError:
        return None


def change_of(status: EnvironmentStatus) -> tuple[str, datetime] | None:
    """Return (`sleeps`, `wakes` or `is held`, when); None if no change is known."""
    change = status.next_change
    at = time_of(change.at) if change is not None else None
    return (_GOES.get(change.to, change.to), at) if change is not None and at is not None else None


def next_in_words(status: EnvironmentStatus, times: Times) -> str:
    """Write `sleeps in 2 h 10 min`; "" if no change is known."""
    found = change_of(status)
    if found is None:
        return ""
    goes, at = found
    return f"{goes} in {rough_duration(at - times.now)}" if at > times.now else f"{goes} now"


def override_in_words(override: OverrideInForce, times: Times) -> str:
    """Write `kept awake by jana until 22:00 CET (21:00 UTC): release night`, or which request woke it."""
    if override.request:
        return woken_by(override.request, time_of(override.until), times)
    what = _KEPT.get(override.state, override.state)
    by = f" by {override.requested_by}" if override.requested_by else f" by Override {override.name}"
    ends = time_of(override.until)
    until = f" until {times.spoken(ends)}" if ends is not None else ""
    return f"{what}{by}{until}{f': {override.reason}' if override.reason else ''}"


def woken_by(request: str, ends: datetime | None, times: Times) -> str:
    """Write `woken by a request to web from 10.1.2.3, Mozilla, until 00:10 UTC`."""
    return f"woken by a request to {request}{f', until {times.spoken(ends)}' if ends is not None else ''}"


def override_asked(override: Override, times: Times) -> str:
    """Describe an Override, in force or to come: `dev awake until 22:00 UTC, by jana: release night`."""
    spec, status = override.spec, override.status
    if (request := request_of(override)) and spec.target is not None:
        return f"{spec.target.name} {woken_by(request, time_of(status.ends), times)}"
    state = _KEPT.get(spec.state, spec.state) if spec.replicas is None else f"{spec.replicas} replicas"
    target = "the Environment" if spec.target is None else spec.target.name
    if spec.target is not None and spec.target.kind != "Environment":
        target = f"{spec.target.kind} {target}"
    starts, ends = time_of(status.starts), time_of(status.ends)
    begins = f" from {times.spoken(starts)}" if starts is not None and starts > times.now else ""
    until = f" until {times.spoken(ends)}" if ends is not None else ""
    by = f", by {status.requested_by}" if status.requested_by else ""
    return f"{target} {state}{begins}{until}{by}{f': {spec.reason}' if spec.reason else ''}"


def reasons_of(environment: Environment, times: Times) -> Iterator[str]:
    """Explain its state: what is wrong first, then what rules it, then who keeps members up."""
    status = environment.status
    yield from wrong_of(status)
    yield from lack_of_members(environment)
    if status.override is not None:
        yield override_in_words(status.override, times)
    elif status.because:
        yield f"{status.because} ({calendar_of(environment)})"
    kept = [member for member in status.members.values() if member.stage == Stage.KEPT.value]
    if kept:
        by = ", ".join(sorted({member.by or "a person" for member in kept})[:3])
        yield f"{len(kept)} kept up by {by} until the next wake"
    others = [up for up in status.still_up if up.reason != MemberReason.KEPT_UP.value] if is_partly_up(status) else []
    if others:
        more = f", and {len(others) - 1} more" if len(others) > 1 else ""
        yield f"{others[0].member} is up: {up_in_words(others[0], times)}{more}"
    if wakes := wake_by_request(environment):
        yield wakes
    yield from deletion_in_words(status, times)
    yield from policy_of(environment)


def deletion_in_words(status: EnvironmentStatus, times: Times) -> Iterator[str]:
    """Write `its namespace is deleted Tue 1 Dec 08:00 UTC unless it is used`, or what is in the way of that."""
    found = status.deletion
    if found is None or (at := time_of(found.at)) is None:
        return
    if found.blocked:
        yield f"its namespace would be deleted {times.spoken(at)}, but {found.blocked}"
    else:
        yield f"its namespace is deleted {times.spoken(at)} unless it is used"


def policy_of(environment: Environment) -> Iterator[str]:
    """Name the ClusterEnvironment that writes the Environment's spec."""
    if name := environment.metadata.labels.get(OWNER_LABEL):
        yield f"ClusterEnvironment {name} writes its spec; edit that one"


def lack_of_members(environment: Environment) -> Iterator[str]:
    """Explain why nothing sleeps or wakes with an Environment that has no member."""
    if environment.status.ready == "0/0":
        spec = environment.spec
        of_selector = " that spec.selector and spec.exclude leave to it" if spec.selector or spec.exclude else ""
        yield f"it has no member: its namespace has no ScaledObject, Deployment, StatefulSet or CronJob{of_selector}"


def wake_by_request(environment: Environment) -> str:
    """Write `a request to web wakes it for 2 h` of one that is asleep, or why none does; "" of any other."""
    status, found = environment.status, environment.status.wake_on_request
    if status.phase != Phase.ASLEEP.value or found is None:
        return ""
    if found.ready:
        return _what_wakes(environment)
    because = next((one.because for one in found.not_woken), "none of its Services leads to wakers")
    return f"no request wakes it: {because}"


def _what_wakes(environment: Environment) -> str:
    wanted, found = environment.spec.wake_on_request, environment.status.wake_on_request
    if wanted is None or found is None or not found.services:
        return ""
    try:
        return describe_requests(build_wake_spec(wanted), found.services)
    except ConfigError:
        return ""  # the Valid condition says why


def advice_in_words(environment: Environment) -> Iterator[str]:
    """Say that its hours no longer fit its use, where a Prometheus was asked."""
    advice = environment.status.advice
    if advice is not None and advice.fits == "False":
        yield f"its hours do not fit: {advice.message}"


def requests_in_words(environment: Environment, times: Times) -> Iterator[str]:
    """Say which Services wake it, which cannot and why, and what the last request was; nothing without any of it."""
    found = environment.status.wake_on_request
    if found is None:
        return
    if wakes := _what_wakes(environment):
        yield f"requests: {wakes}"
    yield from (f"requests: {one.service} does not wake it: {one.because}" for one in found.not_woken)
    last = found.last_request
    if last is not None and (at := time_of(last.at)) is not None:
        client = last.client or "an unknown client"
        agent = f", {last.user_agent}" if last.user_agent else ""
        yield f"last request: to {last.service} from {client}{agent}, {times.spoken(at)}"


def wrong_of(status: EnvironmentStatus) -> Iterator[str]:
    """Yield the messages of conditions that report a problem."""
    for condition in status.conditions:
        if _WRONG.get(condition.type) == condition.status:
            yield f"{condition.reason}: {condition.message}"


def ruled_by(environment: Environment, times: Times) -> str:
    """Write `asleep by environment dev until Mon 23 Nov 08:30 CET (07:30 UTC) (Calendar office)`."""
    status = environment.status
    found = change_of(status)
    until = f" until {times.spoken(found[1])}" if found is not None else ""
    rule = f"Override {status.override.name}" if status.override is not None else calendar_of(environment)
    return f"{PHASES[Phase(status.phase)]} by environment {environment.metadata.name}{until} ({rule})"
