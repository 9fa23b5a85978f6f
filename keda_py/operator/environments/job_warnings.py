"""CronJobs that never run because hours or schedules have changed: Events with the words of admission.

Admission judges an Environment when it is applied; later changes of its Calendar and later CronJobs are judged here,
also those that were made while no operator ran. In: the members that were just seen. Out: a note for each job that does
not run any more, and the names for the status.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keda_py.apis.foreign import list_at
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.decision.observation import MemberSeen, Role
from keda_py.core.environment.decision.state import MemberState
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.meaning.jobs import JobSchedule, check_jobs, read_job
from keda_py.kube.resources import Obj

REASON = "JobNeverRuns"
MOST_TOLD = 5
"""Notes about one change; a Calendar may affect a hundred jobs."""
STORED, MOST_STORED = "jobsNeverRun", 100
"""Field of the status, and the names in it at most."""


@dataclass(frozen=True, slots=True)
class JobReport:
    """Names for the status, and notes about those that were not told yet."""

    stored: Sequence[str]
    notes: Sequence[str] = ()


@dataclass(slots=True)
class JudgedJobs:
    """The last judgement: its calendar, its jobs, and the warnings, None before the first one of this process.

    `told` are the jobs that this process has told; those of earlier processes are in the status, so that a restart
    repeats nothing, and changes that were made while no operator ran are told once.
    """

    calendar: Calendar | None = None
    jobs: Sequence[JobSchedule] = ()
    found: Mapping[str, AdmissionWarning] | None = None
    told: frozenset[str] = frozenset()
    created: datetime | None = None

    async def judge(
        self, spec: EnvironmentSpec, calendar: Calendar | None, jobs: Sequence[JobSchedule], now: datetime
    ) -> None:
        """Judge the jobs, again only if something has changed; without a calendar the last judgement stands."""
        if calendar is None or (self.found is not None and (calendar, jobs) == (self.calendar, self.jobs)):
            return
        # A schedule that never falls into the hours costs 10 ms: in a thread, as the loop serves all namespaces.
        found = await asyncio.to_thread(lambda: list(check_jobs(spec, calendar, jobs, now)))
        self.calendar, self.jobs, self.created = calendar, jobs, spec.created
        self.found = {job.name: warning for job, warning in found}

    def report(self, status: Mapping[str, Any], began: datetime) -> JobReport:
        """Report against a stored status. Of an Environment that was applied after this process `began`, and has no
        phase yet, admission has told them all.
        """
        stored = [name for name in list_at(status, STORED) if isinstance(name, str)]
        if self.found is None:
            return JobReport(stored)
        admitted = not status.get("phase") and self.created is not None and self.created >= began.replace(microsecond=0)
        known = self.told | set(stored)
        # A full list does not show what an earlier process told beyond it, and that many notes are enough.
        is_known = admitted or (len(stored) >= MOST_STORED and not self.told)
        new = [] if is_known else [name for name in self.found if name not in known]
        notes = [f"CronJob/{name}: {self.found[name].message} [{self.found[name].code}]" for name in new[:MOST_TOLD]]
        more = [f"{len(new) - MOST_TOLD} more CronJobs never run"] if len(new) > MOST_TOLD else []
        return JobReport(sorted(self.found)[:MOST_STORED], [*notes, *more])

    def note_told(self) -> None:
        """Note that the status has the last report."""
        self.told = frozenset(self.found or ())


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
