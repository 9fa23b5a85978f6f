"""An Environment compared with its cluster, as the operator reports it to its webhook: CronJobs, and the calendar.
Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from keda_py.apis.environments.calendar import CalendarSpec
from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import Obj
from keda_py.core.admission.environments import created_some_time
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.environment.calendar.reading import read_calendar
from keda_py.core.environment.spec import build_environment
from keda_py.core.meaning.environments import check_reference
from keda_py.core.meaning.jobs import check_jobs, read_job
from keda_py.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The cluster around an Environment. `jobs` are CronJobs that their owners have not suspended.

    `calendar` is the one that is referred to, `calendars` are the names of its kind; None: not known.
    """

    now: datetime
    jobs: Sequence[Obj] = ()
    calendar: CalendarSpec | None = None
    calendars: Sequence[str] | None = None


def check_surroundings(environment: Environment, around: Surroundings) -> Iterator[AdmissionWarning]:
    """Warn about an Environment that its own checks accept."""
    reference = environment.spec.calendar_ref
    if reference is not None and around.calendars is not None:
        yield from check_reference(reference, around.calendars, "the cluster")
    hours = around.calendar if environment.spec.calendar is None else environment.spec.calendar
    try:
        calendar = None if hours is None else read_calendar(hours)
    except ConfigError:
        return  # the Calendar's own condition reports it
    if calendar is not None:
        spec = build_environment(created_some_time(environment))
        for job, warning in check_jobs(spec, calendar, map(read_job, around.jobs), around.now):
            yield replace(warning, message=f"CronJob {job.name}: {warning.message}")
