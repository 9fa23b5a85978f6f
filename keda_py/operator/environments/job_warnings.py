"""CronJobs that never run because hours or schedules have changed: Events with the words of admission.

Admission judges an Environment when it is applied; later changes of its Calendar and later CronJobs are judged here.
In: the members that were just seen. Out: a note for each job that does not run any more.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.decision.observation import MemberSeen, Role
from keda_py.core.environment.decision.state import MemberState
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.meaning.jobs import JobSchedule, check_jobs, read_job
from keda_py.kube.resources import Obj

REASON = "JobNeverRuns"
MOST_TOLD = 5
"""Notes about one change; a Calendar may affect a hundred jobs."""


@dataclass(slots=True)
class JudgedJobs:
    """The last judgement: its calendar, its jobs, and those that never run; None before the first one of this process.

    The first judgement yields no notes: admission gave them when the Environment was applied, and a restart changes
    nothing.
    """

    calendar: Calendar | None = None
    jobs: Sequence[JobSchedule] = ()
    never_run: frozenset[str] | None = None

    async def news(
        self, spec: EnvironmentSpec, calendar: Calendar | None, jobs: Sequence[JobSchedule], now: datetime
    ) -> list[str]:
        """Judge the jobs again if something has changed; return notes about those that never run and were not among
        these before.
        """
        if calendar is None or (self.never_run is not None and (calendar, jobs) == (self.calendar, self.jobs)):
            return []
        # A schedule that never falls into the hours costs 10 ms: in a thread, as the loop serves all namespaces.
        found = await asyncio.to_thread(lambda: list(check_jobs(spec, calendar, jobs, now)))
        before, self.calendar, self.jobs = self.never_run, calendar, jobs
        self.never_run = frozenset(job.name for job, _ in found)
        new = [(job, warning) for job, warning in found if before is not None and job.name not in before]
        sentences = [f"CronJob/{job.name}: {warning.message} [{warning.code}]" for job, warning in new[:MOST_TOLD]]
        return [*sentences, *([f"{len(new) - MOST_TOLD} more CronJobs never run"] if len(new) > MOST_TOLD else [])]


def running_jobs(
    found: Iterable[tuple[MemberSeen, Obj]], remembered: Mapping[str, MemberState]
) -> tuple[JobSchedule, ...]:
    """The Environment's own CronJobs by name, without those that their owners have suspended."""
    own = [
        read_job(live)
        for member, live in found
        if member.role is Role.CRON_JOB
        and not member.owned_by
        and not member.released
        and (member.count or (member.key in remembered and remembered[member.key].replicas))
    ]
    return tuple(sorted(own, key=lambda job: job.name))
