"""A CronJob compared with the hours of its Environment: does its schedule ever fall into them? Pure, and bounded.

An Environment suspends its CronJobs while it sleeps. A run whose time passes meanwhile is missed; Kubernetes makes up
for the last missed one as soon as the CronJob is resumed, unless `startingDeadlineSeconds` is over by then.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from keda_py.apis.foreign import Obj, map_at, name_of, text_at, texts_at, value_at
from keda_py.core.admission import codes
from keda_py.core.admission.codes import ignored_codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.cron.windows import next_fire
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.queries import Opening, openings
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.values.durations import in_words
from keda_py.core.values.own_annotations import EXCLUDE
from keda_py.errors import ConfigError

CRON_JOB = "CronJob"
RECIPE = "examples/job-at-night"
# Different schedules of an Environment that are checked: one that never falls into the hours costs 10 ms.
MOST_SCHEDULES = 20
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LONGEST_SHOWN = 60
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSchedule:
    """The fields of a CronJob that its runs depend on. `zone` "": that of the control plane, nearly always UTC."""

    name: str
    schedule: str
    zone: str = ""
    deadline: timedelta | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def expression(self) -> str:
        """The five cron fields, without a prefix for the zone."""
        return _DESCRIPTORS.get(self.schedule.strip().lower(), self.schedule)

    @property
    def words(self) -> str:
        """The schedule as it was written, with its zone."""
        return f'"{self.schedule[:_LONGEST_SHOWN]}" ({self.zone or "UTC"})'


def read_job(body: Obj) -> JobSchedule:
    """Read a CronJob from a manifest, or from a live object."""
    seconds = value_at(body, "spec", "startingDeadlineSeconds")
    known = isinstance(seconds, int) and not isinstance(seconds, bool) and 0 <= seconds < timedelta.max.days
    return JobSchedule(
        name=name_of(body),
        schedule=text_at(body, "spec", "schedule"),
        zone=text_at(map_at(body, "spec"), "timeZone"),
        deadline=timedelta(seconds=seconds) if known else None,
        labels=texts_at(body, "metadata", "labels"),
        annotations=texts_at(body, "metadata", "annotations"),
    )


def check_jobs(
    spec: EnvironmentSpec, calendar: Calendar, jobs: Iterable[JobSchedule], now: datetime
) -> Iterator[tuple[JobSchedule, AdmissionWarning]]:
    """Warn of each job of an Environment whose time never falls into its hours, unless it switches the warning off."""
    opened: Sequence[Opening] | None = None
    known: dict[tuple[str, str], bool] = {}
    for job in jobs:
        if not spec.takes(job.labels, job.annotations) or codes.JOB_NEVER_RUNS in ignored_codes(job.annotations):
            continue
        opened = list(openings(calendar, now)) if opened is None else opened
        asked = job.expression, job.zone
        if asked not in known and len(known) < MOST_SCHEDULES:
            known[asked] = _misses(job, opened)
        if known.get(asked):
            yield job, _warning(spec, job, opened, calendar)


def describe_job(job: JobSchedule) -> str:
    """Describe the schedule, and what Kubernetes does about runs that are missed while it is suspended."""
    when = "" if job.deadline is None else f" if that is no more than {in_words(job.deadline)} ago"
    return f"schedule {job.words}; of runs missed while suspended Kubernetes starts the last as it is resumed{when}"


def _misses(job: JobSchedule, opened: Sequence[Opening]) -> bool:
    """Whether it fires, but never in an opening. Schedules that cannot be parsed are left to the API server."""
    try:
        fires: datetime | None = None
        # `next_fire` excludes its start: a minute earlier includes a firing at the very opening. Its result is used
        # until an opening begins after it, since finding one costs up to 10 ms.
        for opening in opened:
            if fires is None or fires < opening.start:
                fires = next_fire(job.expression, job.zone, opening.start - _MINUTE)
            if fires is None or fires < opening.end:
                return False
    except ConfigError:
        return False
    return bool(opened)


def _warning(
    spec: EnvironmentSpec, job: JobSchedule, opened: Sequence[Opening], calendar: Calendar
) -> AdmissionWarning:
    at = opened[0].start.astimezone(calendar.zone)
    resumed = f"{at:%a %H:%M} {calendar.zone.key}"
    if job.deadline is not None and not _is_made_up_for(job, job.deadline, opened):
        comes = f"and startingDeadlineSeconds: {job.deadline.total_seconds():.0f} is over when it is resumed"
    else:
        comes = f"and Kubernetes runs the last missed one at once when it is resumed (next: {resumed})"
    text = (
        f"spec.schedule: {job.words} never falls into the hours of Environment {spec.name}, which suspends it "
        f"outside of them: it does not run at its time, {comes}; write a time within the hours, annotate it "
        f'{EXCLUDE}: "true" if it needs nothing that sleeps, or give it and what it needs hours of their own ({RECIPE})'
    )
    return AdmissionWarning(message=text, field="spec.schedule", code=codes.JOB_NEVER_RUNS)


def _is_made_up_for(job: JobSchedule, deadline: timedelta, opened: Sequence[Opening]) -> bool:
    """Whether one of the next openings begins before the deadline of a missed run is over."""
    for opening in opened[:8]:
        missed = next_fire(job.expression, job.zone, opening.start - deadline - _MINUTE)
        if missed is not None and missed <= opening.start:
            return True
    return False
