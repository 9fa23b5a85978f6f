"""Admission of calendars, environments, overrides and scaling schedules: denies what could never work.

Each object is judged by itself: the controllers find out whether the calendar that it names exists, and what its files
of holidays contain, and their Valid condition reports it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from keda_py.apis.environments.calendar import Calendar as WireCalendar
from keda_py.apis.environments.calendar import CalendarRef, CalendarSpec, ClusterCalendar
from keda_py.apis.environments.cluster_environment import ClusterEnvironment
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import NEXT_CHANGE, REQUESTED_BY, Override
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.foreign import texts_at
from keda_py.core.admission.codes import NEVER_COVERED
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.reading import read_calendar
from keda_py.core.environment.namespaces.spec import (
    CLUSTERS_OWN,
    NAME_LABEL,
    build_cluster_environment,
    environment_of_template,
    of_template,
)
from keda_py.core.environment.overrides import OverrideSpec, read_override
from keda_py.core.environment.overrides import check_override as check_times
from keda_py.core.environment.scaling.schedules import build_schedule
from keda_py.core.environment.spec import build_environment
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.times import write_time
from keda_py.errors import ConfigError

T = TypeVar("T", Environment, Override, ScalingSchedule)

_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_ALWAYS = CalendarSpec.model_validate(
    {"timeZone": "UTC", "hours": [{"days": "Mon-Fri", "from": "00:00", "to": "24:00"}]}
)


def check_calendar(calendar: WireCalendar | ClusterCalendar) -> Iterator[Finding]:
    """Check hours, dates and zones. Raises ConfigError, as all checks here do."""
    read_calendar(calendar.spec)
    return iter(())


def check_environment(environment: Environment) -> Iterator[Finding]:
    """Check durations, selectors, waves, and a calendar of its own."""
    mistakes = Mistakes()
    with mistakes.noted():
        build_environment(created_some_time(environment))
    for number, wave in enumerate(environment.spec.waves):
        with mistakes.noted():
            if wave.selector is None:
                field = f"spec.waves[{number}].selector"
                text = f"{field}: is missing, so that wave {wave.name!r} selects nothing; write which members it has"
                raise ConfigError(text, field=field)
    with mistakes.noted():
        if environment.spec.calendar is not None:
            read_calendar(environment.spec.calendar, field="spec.calendar")
    mistakes.refuse()
    return iter(())


def check_cluster_environment(policy: ClusterEnvironment) -> Iterator[Finding]:
    """Check selectors, order, and the template as an Environment."""
    mistakes = Mistakes()
    dated = policy.metadata.model_copy(update={"creation_timestamp": write_time(_ANY_TIME)})
    with mistakes.noted():
        spec = build_cluster_environment(policy.model_copy(update={"metadata": dated}), {})
    try:
        list(check_environment(environment_of_template(policy)))
    except ConfigError as error:
        with mistakes.noted():
            raise of_template(error) from None
    mistakes.refuse()
    if spec.selects({NAME_LABEL: CLUSTERS_OWN[0]}):
        text = (
            f"spec.namespaceSelector selects {CLUSTERS_OWN[0]}, which no ClusterEnvironment covers; name it in "
            "spec.exclude, or select fewer namespaces"
        )
        yield AdmissionWarning(message=text, field="spec.namespaceSelector", code=NEVER_COVERED)


def check_override(override: Override) -> Iterator[Finding]:
    """Check target, state and times. Without a target it may mean the namespace's Environment and its calendar."""
    _read_override(override)
    return iter(())


def check_new_override(new: Override, old: Override | None, now: datetime, others: int) -> Iterator[Finding]:
    """Check as `check_override`, that a new one ends in the future, and that not too many `others` have not ended."""
    created = new.metadata.creation_timestamp or write_time(now)
    dated = new.model_copy(update={"metadata": new.metadata.model_copy(update={"creation_timestamp": created})})
    if old is None or old.spec != new.spec:
        read = _read_override(dated)
        # The calendar decides when NextChange ends, which is not known here.
        check_times(
            replace(read, ends=None) if new.spec.until == NEXT_CHANGE else read, now, others if old is None else 0
        )
    return iter(())


def _read_override(override: Override) -> OverrideSpec:
    spec = override.spec
    calendar = read_calendar(_ALWAYS) if spec.until == NEXT_CHANGE else None
    return read_override(created_some_time(override), calendar, environment="" if spec.target else "any")


def check_requester(new: Mapping[str, object], old: Mapping[str, object] | None, username: str) -> Iterator[Finding]:
    """Check the annotation with an Override's author: it is the user who creates it, or absent, and never changes."""
    said = texts_at(new, "metadata", "annotations").get(REQUESTED_BY, "")
    right = username if old is None else texts_at(old, "metadata", "annotations").get(REQUESTED_BY, "")
    if said and said != right:
        field = f"metadata.annotations[{REQUESTED_BY}]"
        author = f"{username!r} creates it" if old is None else f"it was {right!r} at first"
        message = f"{field}: {said[:100]!r} is another user: {author}; leave it out"
        yield Denial(message=message, reason="wrong-user", field=field)


def check_scaling_schedule(schedule: ScalingSchedule) -> Iterator[Finding]:
    """Check periods and bounds; a calendar that a period names is assumed to exist."""
    build_schedule(created_some_time(schedule), _any_calendar)
    return iter(())


def _any_calendar(_: CalendarRef) -> Calendar:
    return read_calendar(_ALWAYS)


def created_some_time(obj: T) -> T:
    """Add a creation time, which a manifest lacks, and which no rule here depends on."""
    if obj.metadata.creation_timestamp:
        return obj
    metadata = obj.metadata.model_copy(update={"creation_timestamp": write_time(_ANY_TIME)})
    return obj.model_copy(update={"metadata": metadata})
