"""Environments, calendars and Overrides -> warnings about effects that their authors may not intend. Pure.

`check_calendar_meaning` and `check_override_meaning` need no other object; the other checks take what is known of the
namespace: its members, its older Environments, its CronJobs.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

from keda_py.apis.environments.calendar import CalendarRef, Hours
from keda_py.apis.environments.override import OverrideSpec
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.environment.calendar.days import DAY, parse_minute, parse_weekdays
from keda_py.core.environment.decision.deletion import ALLOW_LABEL, is_protected
from keda_py.core.environment.decision.state import Activity, lead_of
from keda_py.core.environment.spec import EnvironmentSpec, first_of
from keda_py.core.values.durations import in_words
from keda_py.core.values.times import write_time
from keda_py.errors import ConfigError

_NOON, _NIGHT = DAY // 2, 11 * 60
_MOST_NAMED, _MOST_LISTED, _MOST_COMPARED = 3, 10, 200
_Entry = tuple[frozenset[int], int, int]
"""Days of the week from Monday, and minutes: opens, closes; closes may lie in the next day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledObject:
    """An object that an Environment may select by its labels."""

    kind: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]

    @property
    def title(self) -> str:
        """Kind and name, for messages."""
        return f"{self.kind} {self.name}"


def check_hours(hours: Sequence[Hours], field: str) -> Iterator[AdmissionWarning]:
    """Warn of hours that are open all night and closed at noon, unless others of the same days are open by day."""
    try:
        entries = [_read(one, f"{field}[{number}]") for number, one in enumerate(hours)]
    except ConfigError:
        return  # admission denies these
    by_day = frozenset[int]().union(*(days for days, opens, closes in entries if _covers_noon(opens, closes)))
    for number, (days, opens, closes) in enumerate(entries):
        if closes - opens >= _NIGHT and closes - DAY < _NOON < opens and not days & by_day and closes > DAY:
            one = hours[number]
            text = (
                f"{field}[{number}]: {one.from_} to {one.to} is open at night and closed by day: if {one.to} to "
                f"{one.from_} is meant, exchange from and to"
            )
            yield AdmissionWarning(message=text, field=f"{field}[{number}]", code=codes.HOURS_SWAPPED)


def check_override_meaning(spec: OverrideSpec) -> Iterator[AdmissionWarning]:
    """Warn of an Override that never ends by itself."""
    if not spec.until and not spec.for_:
        text = "spec: neither until nor for is given, so it rules until it is deleted; write for example for: 3h"
        yield AdmissionWarning(message=text, field="spec", code=codes.OVERRIDE_ENDLESS)


def check_reference(
    reference: CalendarRef, known: Collection[str], where: str, field: str = "spec.calendarRef"
) -> Iterator[AdmissionWarning]:
    """Warn of a calendar that is not among the `known` names of its kind; `where` says which objects these are."""
    if reference.name in known:
        return
    near = get_close_matches(reference.name, list(known)[:_MOST_COMPARED], n=1)
    remedy = f'did you mean "{near[0]}"?' if near else "add it, or correct the name"
    kind = reference.kind or "Calendar"
    text = f'{field}.name: {kind} "{reference.name}" is not in {where}, and without it nothing follows its hours'
    yield AdmissionWarning(message=f"{text}; {remedy}", field=f"{field}.name", code=codes.NO_CALENDAR)


def check_members(
    spec: EnvironmentSpec, members: Sequence[LabelledObject], older: Sequence[EnvironmentSpec]
) -> Iterator[AdmissionWarning]:
    """Warn of members that an older Environment owns, and of waves that select none. Silent without members."""
    taken = [one for one in members if spec.takes(one.labels, one.annotations)]
    yield from _check_shared(taken, older)
    waves = {spec.wave_of(one.labels) for one in taken}
    for number, wave in enumerate(spec.waves):
        if taken and number not in waves:
            field = f"spec.waves[{number}].selector"
            text = (
                f"{field}: wave {wave.name!r} selects none of the {len(taken)} members here; what counts are the "
                "labels of the members themselves, of a ScaledObject its own and not its workload's"
            )
            yield AdmissionWarning(message=text, field=field, code=codes.WAVE_EMPTY)


def _check_shared(taken: Sequence[LabelledObject], older: Sequence[EnvironmentSpec]) -> Iterator[AdmissionWarning]:
    found = [(one.title, first_of(older, one.labels, one.annotations)) for one in taken]
    owners = {title: owner.name for title, owner in found if owner is not None}
    for name in dict.fromkeys(owners.values()):
        names = [title for title, owner in owners.items() if owner == name]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        field = "spec.selector"
        text = (
            f"{field}: {', '.join(names[:_MOST_NAMED])}{more}: Environment {name} has this too, and the older of the "
            "two rules it; choose by spec.selector or spec.exclude, so that each member has one Environment"
        )
        yield AdmissionWarning(message=text, field=field, code=codes.MEMBERS_SHARED)


def _read(hours: Hours, field: str) -> _Entry:
    days = frozenset(parse_weekdays(hours.days, field=field))
    opens, closes = parse_minute(hours.from_, field=field), parse_minute(hours.to, field=field)
    return days, opens, closes if closes > opens else closes + DAY


def _covers_noon(opens: int, closes: int) -> bool:
    return opens <= _NOON < closes


def describe_waves(spec: EnvironmentSpec, members: Sequence[LabelledObject]) -> Iterator[str]:
    """Describe the waves in the order of waking, each with its members and the pause before the next."""
    by_wave: defaultdict[int, list[str]] = defaultdict(list)
    for one in members:
        if spec.takes(one.labels, one.annotations):
            by_wave[spec.wave_of(one.labels)].append(one.title)
    for position in range(len(spec.waves) + 1):
        if position == len(spec.waves) and not by_wave[position]:
            continue
        titles = by_wave[position]
        more = f" and {len(titles) - _MOST_LISTED} more" if len(titles) > _MOST_LISTED else ""
        text = f"wave {spec.wave_name(position)}: {', '.join(titles[:_MOST_LISTED]) or 'no member'}{more}"
        if position < len(spec.waves):
            wave = spec.waves[position]
            pause = f", then {in_words(wave.pause)} of pause" if wave.pause else ""
            text = f"{text}; the next one waits for it up to {in_words(wave.timeout)}{pause}"
        yield text


def describe_lead(spec: EnvironmentSpec, wakes: tuple[int, ...]) -> str:
    """Describe the lead that `readyBy` derives from the last wakes, given in seconds; "" if it is off."""
    if not spec.ready_by:
        return ""
    most = in_words(spec.max_lead)
    if not wakes:
        return f"readyBy: no wake is known yet, so it begins with the hours; later up to {most} before them"
    lead = in_words(lead_of(wakes, spec.max_lead))
    return f"readyBy: it begins to wake {lead} before the hours, as its last wakes took, {most} at most"


def describe_deletion(
    spec: EnvironmentSpec, labels: Mapping[str, str] | None, activity: Activity | None, begins: datetime
) -> str:
    """Say when `deleteAfter` could delete the namespace at the earliest, and what it needs; "" if it deletes nothing.

    `labels` are the namespace's, None if they are not known. Without a use that has ended it counts from `begins`.
    """
    if spec.delete_after is None:
        return ""
    if is_protected(spec.namespace, ""):
        return f"deleteAfter: namespace {spec.namespace} is never deleted"
    idle = activity is not None and not activity.in_use
    since = activity.last if activity is not None and idle else begins
    needs = ["environments.deleteNamespaces: true of the chart"]
    if labels is None or labels.get(ALLOW_LABEL) != "true":
        lacks = "" if labels is None else " (it has none)"
        needs.append(f'the label {ALLOW_LABEL}: "true" of the namespace{lacks}')
    if not spec.delete_bound_volumes:
        needs.append("no PersistentVolumeClaim that is bound")
    return (
        f"deleteAfter: its namespace could be deleted at {write_time(since + spec.delete_after)} at the earliest, if "
        f"nothing uses it from {write_time(since)} on; that needs {', '.join(needs[:-1])}{' and ' * (len(needs) > 1)}"
        f"{needs[-1]}"
    )
