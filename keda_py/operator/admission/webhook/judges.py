"""What judges an object of each kind: the checks that `keda-py validate` runs, too, with what the operator knows.

The process is small because it imports a kind's models and checks with its first review: those of ScaledObjects are
imported at once, as nearly every review is about one, all others together take 6 MB more. Next: the checks, which are
pure (`keda_py/core/admission/`, `keda_py/core/meaning/`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

from keda_py.apis.admission_review import AdmissionRequest
from keda_py.apis.foreign import Obj
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.admission.defaults import warn_of_bounds
from keda_py.core.admission.findings import Denial, Finding, Neighbourhood
from keda_py.core.admission.scaled_object import check_scaled_object
from keda_py.core.defaults.filling import fill_scaled_job, fill_scaled_object
from keda_py.core.defaults.layers import Layers
from keda_py.core.meaning.scaled_object import check_job_meaning, check_meaning
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.errors import ConfigError, Unavailable
from keda_py.sdk.checks import warn_of_triggers
from keda_py.sdk.context import SharedContext

if TYPE_CHECKING:
    from keda_py.apis.environments.environment import Environment
    from keda_py.apis.environments.override import Override
    from keda_py.core.meaning.surroundings import Surroundings

MOST_FINDINGS = 100
"""Looked for in an object, those that it switches off included."""
SCALED_OBJECT, SCALED_JOB, OVERRIDE, ENVIRONMENT = "ScaledObject", "ScaledJob", "Override", "Environment"
_WITH_HOLIDAYS = ("Calendar", ENVIRONMENT)
"""These kinds, and those of the cluster that end with their names."""

Judge = Callable[[Obj, AdmissionRequest], Awaitable[Iterable[Finding]]]


class Inquirer(Protocol):
    """What the operator is asked for: `inquiries.py`. All raise Unavailable."""

    async def around(self, spec: ScalingSpec) -> Neighbourhood:
        """The neighbours of a ScaledObject."""
        ...

    async def around_environment(self, environment: "Environment") -> "Surroundings":
        """The CronJobs beside an Environment, and its calendar."""
        ...

    async def defaults_of(self, namespace: str) -> Layers:
        """The defaults and bounds of a namespace, () if they are not known."""
        ...

    async def overrides_of(self, namespace: str) -> tuple[datetime, int]:
        """The operator's time, and how many Overrides of a namespace have not ended."""
        ...


@dataclass(frozen=True, slots=True)
class Judges:
    """Judges by kind. Scalers are built in `shared_context`, and never opened."""

    shared_context: SharedContext
    operator: Inquirer

    def of(self, kind: str) -> Judge:
        """Return what judges objects of a kind."""
        judge: Judge
        match kind:
            case "ScaledObject":
                return self._judge_scaled_object
            case "ScaledJob":
                return self._judge_scaled_job
            case "Override":
                return self._judge_override
            case "Environment":
                judge = self._judge_environment
            case _:
                judge = partial(_judge_alone, kind)
        return partial(_judge_countries, judge) if kind.endswith(_WITH_HOLIDAYS) else judge

    async def _judge_scaled_object(self, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        obj = parse_object(ScaledObject, body)
        spec = AS_WRITTEN.of(obj)
        around = await self.operator.around(spec)
        spec = fill_scaled_object(obj, around.defaults) if around.defaults else spec
        admission = check_scaled_object(obj, spec, around, dry_run=bool(request.dry_run))
        triggers = warn_of_triggers(obj.spec.triggers, self.shared_context)
        return chain(admission, warn_of_bounds(spec), triggers, check_meaning(spec))

    async def _judge_scaled_job(self, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        """By itself first; without an answer no bound is known."""
        from keda_py.apis.scaled_job import ScaledJob

        findings = list(islice(self._check_scaled_job(body), MOST_FINDINGS))
        if any(isinstance(one, Denial) for one in findings):
            return findings
        try:
            layers = await self.operator.defaults_of(request.namespace)
        except Unavailable:
            return findings
        return chain(findings, warn_of_bounds(fill_scaled_job(parse_object(ScaledJob, body), layers)))

    def _check_scaled_job(self, body: Obj) -> Iterator[Finding]:
        from keda_py.apis.scaled_job import ScaledJob
        from keda_py.core.admission.other_kinds import check_scaled_job

        obj = parse_object(ScaledJob, body)
        yield from check_scaled_job(obj)
        yield from warn_of_triggers(obj.spec.triggers, self.shared_context)
        yield from check_job_meaning(obj.spec.triggers, obj.metadata.annotations)

    async def _judge_override(self, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        """By itself, by who writes it (no author is named by another user), by the time, and by how many there are."""
        from keda_py.apis.environments.override import Override
        from keda_py.core.admission.environments import check_new_override, check_requester
        from keda_py.core.meaning.environments import check_override_meaning

        new = parse_object(Override, body)
        now, others = await self.operator.overrides_of(request.namespace)
        old = _read_old(request.old)
        findings = check_requester(body, request.old, request.user_info.username)
        return chain(findings, check_new_override(new, old, now, others), check_override_meaning(new.spec))

    async def _judge_environment(self, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        """By itself first: what is denied is not asked about. Without an answer it is judged by itself alone."""
        from keda_py.apis.environments.environment import Environment
        from keda_py.core.meaning.surroundings import check_surroundings

        findings = list(await _judge_alone(ENVIRONMENT, body, request))
        environment = parse_object(Environment, body)
        try:
            around = await self.operator.around_environment(environment)
        except Unavailable:
            return findings
        return chain(findings, check_surroundings(environment, around))


async def _judge_alone(kind: str, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
    """By itself, and what may be meant otherwise."""
    from keda_py.apis.kinds.table import KINDS
    from keda_py.core.admission.checks import check_of
    from keda_py.core.meaning.kinds import check_kind_meaning

    model = next(row.model for row in KINDS if row.name == kind)
    return chain(check_of(model)(body), check_kind_meaning(kind, body))


async def _judge_countries(judge: Judge, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
    """Also by the countries of holidays: the first one loads a library, so that other reviews go on meanwhile."""
    from keda_py.calendars.countries import check_countries

    findings = await judge(body, request)
    await asyncio.to_thread(check_countries, body)
    return findings


def _read_old(body: Obj | None) -> "Override | None":
    """As it was; None for a new one, or one that could not be written today."""
    from keda_py.apis.environments.override import Override

    try:
        return None if body is None else parse_object(Override, body)
    except ConfigError:
        return None
