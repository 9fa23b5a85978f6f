"""Overrides: which one rules a target at an instant, and why.

An Override of an object goes before one of its Environment; of several for the same target the newest rules. One that
has ended rules nothing, and is removed a day later. What is asked is answered for any instant, so that `decision/` can
look ahead.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from keda_py.apis.environments.override import NEXT_CHANGE, Override
from keda_py.apis.environments.override import OverrideSpec as WireSpec
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.queries import moment_of
from keda_py.core.values.durations import parse_duration
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.times import parse_optional_time, parse_time, write_time
from keda_py.errors import ConfigError

KEPT_AFTER_END = timedelta(days=1)
MOST_OVERRIDES = 200
"""Overrides of a namespace that have not ended; the admission refuses more."""
MOST_REPLICAS = 10_000
"""The largest count that an Override may ask for."""
_NO_TIME = timedelta(0)
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class TargetKey:
    """The target of an Override, in its namespace."""

    kind: str
    name: str


class OverrideState(StrEnum):
    """The state that an Override asks for."""

    AWAKE = "Awake"
    ASLEEP = "Asleep"
    HOLD = "Hold"
    EXACTLY = "Exactly"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideSpec:
    """An Override with its times fixed; `ends` None: until it is deleted. `replicas` goes with EXACTLY alone."""

    name: str
    created: datetime
    target: TargetKey
    state: OverrideState
    replicas: int | None = None
    starts: datetime
    ends: datetime | None
    reason: str = ""
    requested_by: str = ""
    request: str = ""
    """The request by which a waker has asked for it, such as `web from 10.1.2.3, Mozilla`; "" for any other."""
    ends_of: str = ""
    """The text that the end of NextChange was found for, which an edit changes; "" for any other end."""

    def holds(self, at: datetime) -> bool:
        """True at an instant at which it has begun and has not ended."""
        return self.starts <= at and (self.ends is None or at < self.ends)

    def keeps_down(self, count: int | None) -> bool:
        """Return whether it keeps a workload that has this count at 0."""
        match self.state:
            case OverrideState.ASLEEP:
                return True
            case OverrideState.EXACTLY:
                return self.replicas == 0
            case OverrideState.HOLD:
                return count == 0
            case _:
                return False

    @property
    def summary(self) -> str:
        """`Awake until 2026-11-23T22:00:00Z`, `3 replicas`."""
        what = f"{self.replicas} replicas" if self.state is OverrideState.EXACTLY else str(self.state)
        return what if self.ends is None else f"{what} until {write_time(self.ends)}"

    @property
    def because(self) -> str:
        """Say who asked for what and why."""
        if self.request:
            until = "" if self.ends is None else f", until {write_time(self.ends)}"
            return f"woken by a request to {self.request}{until}"
        by = f" by {self.requested_by}" if self.requested_by else ""
        reason = f": {self.reason}" if self.reason else ""
        return f"Override {self.name}{by} ({self.summary}){reason}"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The ruling about a target at an instant; `rules` is None without an Override; at `changes_at` it may change."""

    rules: OverrideSpec | None
    because: str = ""
    changes_at: datetime | None = None


def read_override(
    override: Override, calendar: Calendar | None, *, environment: str = "", now: datetime | None = None
) -> OverrideSpec:
    """The spec. `calendar` is that of the target's Environment, for NextChange; `environment` the namespace's only one.

    `for` counts from the begin, however late it was edited. NextChange is looked up once, and its end stands in
    `status.ends`; after an edit of more than its reason it is the next change from `now`. Raises ConfigError.
    """
    spec, meta = override.spec, override.metadata
    created = parse_time(meta.creation_timestamp, field="metadata.creationTimestamp")
    mistakes = Mistakes()
    starts, target, ends, asked = created, TargetKey("", ""), None, ""
    with mistakes.noted():
        _check_state(spec)
        target = _target_of(override, environment)
    with mistakes.noted():
        starts = max(parse_optional_time(spec.from_, field="spec.from") or created, created)
    with mistakes.noted():
        asked = f"{target.kind}/{target.name} {spec.state or spec.replicas} from {write_time(starts)}"
        ends = _end_of(override, asked, starts, now, calendar)
    mistakes.refuse()
    return OverrideSpec(
        name=meta.name,
        created=created,
        target=target,
        state=OverrideState(spec.state) if spec.state else OverrideState.EXACTLY,
        replicas=spec.replicas,
        starts=starts,
        ends=ends,
        reason=spec.reason[:_LONGEST_TEXT],
        request=request_of(override),
        requested_by=override.status.requested_by,
        ends_of=asked if spec.until == NEXT_CHANGE else "",
    )


def request_of(override: Override) -> str:
    """Return the request that asked for it; "" of any other Override, and after an edit that has made another of it.

    The operator writes the request twice, and both must agree: a user who may create Overrides may not write statuses,
    and one who may write statuses cannot turn a person's Override into one by a request. A user with both rights
    could: the chart's policy of admission keeps all but the operator from `status.request`.
    """
    target, request = override.spec.target, override.status.request
    wakes = override.spec.state == "Awake" and target is not None and target.kind == "Environment"
    return request[:_LONGEST_TEXT] if wakes and override.spec.reason == reason_of(request) else ""


def reason_of(request: str) -> str:
    """Return `spec.reason` of the Override that a request asks for."""
    return f"request to {request}"


def _check_state(spec: WireSpec) -> None:
    if (spec.replicas is None) == (not spec.state):
        raise ConfigError("spec: give one of state and replicas", field="spec")
    if (spec.replicas or 0) > MOST_REPLICAS:
        text = f"spec.replicas: {spec.replicas} is too high; use {MOST_REPLICAS} or less"
        raise ConfigError(text, field="spec.replicas")


def _target_of(override: Override, environment: str) -> TargetKey:
    target = override.spec.target
    if target is None:
        if not environment:
            text = "spec.target: is required, as the namespace has no Environment or several; name kind and name"
            raise ConfigError(text, field="spec.target")
        return TargetKey("Environment", environment)
    if target.kind == "Environment" and override.spec.replicas is not None:
        text = (
            "spec.replicas: an Environment has no count; use state, or name a ScaledObject, Deployment or StatefulSet"
        )
        raise ConfigError(text, field="spec.replicas")
    return TargetKey(target.kind, target.name)


def _end_of(
    override: Override, asked: str, starts: datetime, now: datetime | None, calendar: Calendar | None
) -> datetime | None:
    spec, status = override.spec, override.status
    if spec.until and spec.for_:
        raise ConfigError("spec: give one of until and for", field="spec.until")
    if spec.for_:
        lasts = parse_duration(spec.for_, _NO_TIME, field="spec.for")
        if not lasts:
            raise ConfigError(f"spec.for: {spec.for_!r} has no length; write for example 3h", field="spec.for")
        return starts + lasts
    if spec.until != NEXT_CHANGE:
        return parse_optional_time(spec.until, field="spec.until")
    if override.end_is_fixed or (status.ends and status.ends_of == asked):
        return parse_time(status.ends, field="status.ends")
    edited = now if status.observed_generation else None
    changes_at = None if calendar is None else moment_of(calendar, max(starts, edited or starts)).changes_at
    if changes_at is None:
        text = "spec.until: NextChange needs an Environment whose calendar opens or closes; write a time, or use for"
        raise ConfigError(text, field="spec.until")
    return changes_at


def check_override(spec: OverrideSpec, now: datetime, others: int) -> None:
    """Check a new Override for its admission. Raises ConfigError for an end in the past, and for too many `others`."""
    if spec.ends is not None and spec.ends <= max(now, spec.starts):
        until = write_time(spec.ends)
        remedy = "write a later time, or delete the Override to end it"
        raise ConfigError(f"spec.until: {until} is over before it begins; {remedy}", field="spec.until")
    if others >= MOST_OVERRIDES:
        text = f"the namespace has {others} Overrides that have not ended, {MOST_OVERRIDES} at most; delete some first"
        raise ConfigError(text, field="metadata.namespace")


class Overrides:
    """The Overrides of a namespace, found by target. Immutable; asking costs as much as the target has Overrides."""

    def __init__(self, overrides: Iterable[OverrideSpec] = ()) -> None:
        by_target: dict[TargetKey, list[OverrideSpec]] = {}
        for each in sorted(overrides, key=lambda one: (one.created, one.name), reverse=True):
            by_target.setdefault(each.target, []).append(each)
        self._newest_first: Mapping[TargetKey, Sequence[OverrideSpec]] = by_target

    def verdict(self, targets: Sequence[TargetKey], at: datetime) -> Ruling:
        """Find the ruling at an instant. `targets` are of one rank: an object and its workload, or an Environment."""
        known = [each for target in targets for each in self._newest_first.get(target, ())]
        if not known:
            return Ruling(None)
        times = (time for each in known for time in (each.starts, each.ends) if time is not None and time > at)
        changes_at = min(times, default=None)
        holding = sorted((each for each in known if each.holds(at)), key=lambda one: (one.created, one.name))
        if not holding:
            return Ruling(None, changes_at=changes_at)
        *others, rules = holding
        because = rules.because + (f"; it is newer than {', '.join(one.name for one in others[:3])}" if others else "")
        return Ruling(rules, because, changes_at)

    def standing(self, spec: OverrideSpec, at: datetime) -> "OverridePhase":
        """Return the phase of one of these Overrides, and why."""
        if at < spec.starts:
            return OverridePhase("Pending", f"begins at {write_time(spec.starts)}")
        if not spec.holds(at):
            return OverridePhase("Ended", f"ended at {write_time(spec.ends or at)}")
        rules = self.verdict([spec.target], at).rules
        if rules is not None and rules.name != spec.name:
            return OverridePhase("Outranked", f"Override {rules.name} for the same target is newer")
        return OverridePhase("Active", spec.because)


@dataclass(frozen=True, slots=True)
class OverridePhase:
    """`status.phase` of an Override, and why."""

    phase: str
    because: str


def removable_at(spec: OverrideSpec) -> datetime | None:
    """Return when it is to be deleted; None: it does not end."""
    return None if spec.ends is None else spec.ends + KEPT_AFTER_END
