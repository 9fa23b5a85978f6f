"""ScalingSchedules: the period in force, what changes next, and the spec of a ScaledObject under its bounds.

Periods are looked at in order, and the first whose time it is holds. Of two schedules for one ScaledObject the older
rules; the other says Conflict.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from keda_py.apis.environments.calendar import CalendarRef
from keda_py.apis.environments.scaling_schedule import Bounds, Period, ScalingSchedule, ScalingScheduleSpec
from keda_py.core.cron.zones import load_zone
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.queries import moment_of
from keda_py.core.environment.calendar.reading import read_week
from keda_py.core.environment.scaling.overlays import exactly, hold_at, paused_by_owner, within
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.selecting import build_selector
from keda_py.core.values.selectors import LabelSelector
from keda_py.core.values.times import parse_time
from keda_py.errors import ConfigError

OTHERWISE = "otherwise"
_MOST_STEPS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsSpec:
    """The bounds of a period. `replicas` is exact and stands alone; with `closed` triggers are not asked."""

    min_replicas: int | None = None
    max_replicas: int | None = None
    replicas: int | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodSpec:
    """Bounds while the calendar is open."""

    name: str
    calendar: Calendar
    bounds: BoundsSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSpec:
    """A ScalingSchedule whose calendars were found. `otherwise` None: the manifest holds."""

    namespace: str
    name: str
    uid: str
    created: datetime
    names: frozenset[str]
    selector: LabelSelector | None
    periods: tuple[PeriodSpec, ...]
    otherwise: BoundsSpec | None

    def takes(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether it is for the ScaledObject of that name in its namespace."""
        chosen = self.selector is not None and self.selector.matches({"metadata": {"labels": labels}})
        return name in self.names or chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The period that holds: its name, or `otherwise`; `bounds` None: the manifest. `changes_at`: the next period."""

    period: str
    bounds: BoundsSpec | None
    changes_at: datetime | None = None
    changes_to: str = ""


def build_schedule(schedule: ScalingSchedule, find: Callable[[CalendarRef], Calendar]) -> ScheduleSpec:
    """Build the spec; `find` gives the calendar that a period names. Both raise ConfigError."""
    meta, spec = schedule.metadata, schedule.spec
    mistakes = Mistakes()
    with mistakes.noted():
        if not spec.names and spec.selector is None:
            raise ConfigError("spec: chooses no ScaledObject; give names or a selector", field="spec")
    with mistakes.noted():
        selector = build_selector(spec.selector, "spec.selector")
    periods = _build_periods(spec, find, mistakes)
    with mistakes.noted():
        otherwise = None if spec.otherwise is None else _build_bounds(spec.otherwise, "spec.otherwise")
    mistakes.refuse()
    return ScheduleSpec(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        created=parse_time(meta.creation_timestamp, field="metadata.creationTimestamp"),
        names=frozenset(spec.names),
        selector=selector,
        periods=periods,
        otherwise=otherwise,
    )


def _build_periods(
    spec: ScalingScheduleSpec, find: Callable[[CalendarRef], Calendar], mistakes: Mistakes
) -> tuple[PeriodSpec, ...]:
    zone, built = load_zone("UTC"), []
    with mistakes.noted():
        if any(period.hours for period in spec.periods):
            zone = load_zone(spec.time_zone, field="spec.timeZone")
    names = [period.name for period in spec.periods]
    for number, period in enumerate(spec.periods):
        field = f"spec.periods[{number}]"
        with mistakes.noted():
            if period.name == OTHERWISE or period.name in names[:number]:
                text = f"{field}.name: {period.name!r} is taken; give each period a name of its own"
                raise ConfigError(text, field=f"{field}.name")
        with mistakes.noted():
            built.append(_build_period(period, zone, find, field))
    return tuple(built)


def _build_period(period: Period, zone: ZoneInfo, find: Callable[[CalendarRef], Calendar], field: str) -> PeriodSpec:
    mistakes = Mistakes()
    with mistakes.noted():
        if (period.calendar_ref is None) == (not period.hours):
            raise ConfigError(f"{field}: give one of calendarRef and hours", field=field)
        if period.calendar_ref is not None:
            calendar = find(period.calendar_ref)
        else:
            calendar = Calendar(zone=zone, week=read_week(period.hours, field=f"{field}.hours"))
    with mistakes.noted():
        bounds = _build_bounds(period, field)
    mistakes.refuse()
    return PeriodSpec(name=period.name, calendar=calendar, bounds=bounds)


def _build_bounds(bounds: Bounds, field: str) -> BoundsSpec:
    least, most = bounds.min_replicas, bounds.max_replicas
    if bounds.replicas is None and least is None and most is None and not bounds.triggers:
        raise ConfigError(f"{field}: changes nothing; give replicas, minReplicas, maxReplicas or triggers", field=field)
    if bounds.replicas is not None and not (least is None and most is None and not bounds.triggers):
        text = f"{field}.replicas: {bounds.replicas} is exact; leave out minReplicas, maxReplicas and triggers"
        raise ConfigError(text, field=f"{field}.replicas")
    if least is not None and most is not None and least > most:
        text = f"{field}.minReplicas: {least} is more than maxReplicas {most}; lower it"
        raise ConfigError(text, field=f"{field}.minReplicas")
    return BoundsSpec(
        min_replicas=least, max_replicas=most, replicas=bounds.replicas, closed=bounds.triggers == "Closed"
    )


def in_force(schedule: ScheduleSpec, now: datetime) -> InForce:
    """Find the period that holds now, and when another one will."""
    name, bounds, at = _period_at(schedule, now)
    for _ in range(_MOST_STEPS):
        if at is None:
            break
        following, _bounds, then = _period_at(schedule, at)
        if following != name:
            return InForce(period=name, bounds=bounds, changes_at=at, changes_to=following)
        at = then
    return InForce(period=name, bounds=bounds, changes_at=at)


def _period_at(schedule: ScheduleSpec, at: datetime) -> tuple[str, BoundsSpec | None, datetime | None]:
    """Return (name, bounds, first change of any calendar) for the period that holds then."""
    moments = [moment_of(period.calendar, at) for period in schedule.periods]
    changes_at = min((one.changes_at for one in moments if one.changes_at is not None), default=None)
    for period, moment in zip(schedule.periods, moments, strict=True):
        if moment.open:
            return period.name, period.bounds, changes_at
    return OTHERWISE, schedule.otherwise, changes_at


def lay_bounds_over(spec: ScalingSpec, bounds: BoundsSpec | None) -> ScalingSpec:
    """Lay a period's bounds over the spec; None leaves it unchanged. A ScaledObject that its owner has paused stays so.

    One bound alone moves the other where they would cross: min 8 under a manifest's max of 5 makes it 8 to 8.
    """
    if bounds is None or paused_by_owner(spec):
        return spec
    if bounds.replicas is not None:
        return exactly(spec, bounds.replicas)
    least = spec.min_replicas if bounds.min_replicas is None else bounds.min_replicas
    most = spec.max_replicas if bounds.max_replicas is None else bounds.max_replicas
    if least > most:
        least, most = (least, least) if bounds.min_replicas is not None else (most, most)
    spec, most = within(spec, most)
    least = min(least, most)
    idle = spec.idle_replicas
    if bounds.closed:
        return hold_at(spec, least if idle is None or bounds.min_replicas is not None else idle)
    if idle is not None and idle >= least:
        idle = None
    if bounds.min_replicas is None and least == spec.min_replicas:
        return replace(spec, max_replicas=most, idle_replicas=idle)
    return replace(spec, declared_min=least, max_replicas=most, idle_replicas=idle)


def schedule_of(schedules: Sequence[ScheduleSpec], name: str, labels: Mapping[str, str]) -> ScheduleSpec | None:
    """Find the schedule that rules a ScaledObject: the oldest that takes it."""
    taking = [each for each in schedules if each.takes(name, labels)]
    return min(taking, key=lambda one: (one.created, one.uid), default=None)


def conflicts_of(
    schedule: ScheduleSpec, schedules: Sequence[ScheduleSpec], objects: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Map ScaledObjects that it takes, and an older schedule rules, to its name; `objects` are name -> labels."""
    found = {}
    for name, labels in objects.items():
        if schedule.takes(name, labels):
            ruling = schedule_of(schedules, name, labels)
            if ruling is not None and ruling.uid != schedule.uid:
                found[name] = ruling.name
    return found
