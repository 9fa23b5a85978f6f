"""An admission review, from its bytes to its verdict: cheap refusals first, then the kind's checks.

The checks are pure (`keda_py/core/admission/`). A body is bounded in bytes before it comes here (`server.py`), in
lists and maps before it is parsed, in everything else before models are made of it (`extent.py`).
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Protocol

import orjson

from keda_py.apis.admission_review import AdmissionRequest, AdmissionReview
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override
from keda_py.apis.foreign import map_at
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject, ScaleTrigger
from keda_py.calendars.countries import check_countries
from keda_py.core.admission.checks import Check, check_of
from keda_py.core.admission.codes import MEANING, ignored_codes, without_ignored
from keda_py.core.admission.defaults import warn_of_bounds
from keda_py.core.admission.environments import check_new_override, check_requester
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding, Neighbourhood
from keda_py.core.admission.other_kinds import check_scaled_job
from keda_py.core.admission.scaled_object import check_scaled_object
from keda_py.core.defaults.filling import fill_scaled_job, fill_scaled_object
from keda_py.core.defaults.layers import Layers
from keda_py.core.meaning.environments import check_override_meaning
from keda_py.core.meaning.kinds import check_kind_meaning
from keda_py.core.meaning.scaled_object import check_job_meaning, check_meaning
from keda_py.core.meaning.surroundings import Surroundings, check_surroundings
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.errors import ConfigError, Unavailable
from keda_py.kube.resources import Obj
from keda_py.operator.admission.webhook.extent import check_extent, judged_parts
from keda_py.operator.admission.webhook.paths import (
    ADMITTED,
    ENVIRONMENT,
    OVERRIDE,
    SCALED_JOB,
    SCALED_OBJECT,
    WITH_HOLIDAYS,
    webhook_of,
)
from keda_py.sdk.checks import warn_of_triggers
from keda_py.sdk.context import SharedContext

MOST_CONTAINERS = 400_000
"""Lists and maps in a body: an object as it is and as it was, 1.5 MiB each, have fewer."""
MOST_WARNINGS, MOST_FINDINGS = 20, 100
"""Told of an object; looked for, those that it switches off included."""
LONGEST_MESSAGE, LONGEST_WARNING = 4096, 1024
"""Characters; an API server shows less."""

Judge = Callable[[Obj, AdmissionRequest], Awaitable[Iterable[Finding]]]


class Inquirer(Protocol):
    """What the operator is asked for: `inquiries.py`. All raise Unavailable."""

    async def around(self, spec: ScalingSpec) -> Neighbourhood:
        """The neighbours of a ScaledObject."""
        ...

    async def around_environment(self, environment: Environment) -> Surroundings:
        """The CronJobs beside an Environment, and its calendar."""
        ...

    async def defaults_of(self, namespace: str) -> Layers:
        """The defaults and bounds of a namespace, () if they are not known."""
        ...

    async def overrides_of(self, namespace: str) -> tuple[datetime, int]:
        """The operator's time, and how many Overrides of a namespace have not ended."""
        ...


class Malformed(Exception):
    """No AdmissionReview; the text is for its sender, and repeats nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionResult:
    """The answer, and what is counted and told of it."""

    response: Obj
    judged: bool = False
    denied: str = ""
    """Denial.reason."""
    notes: tuple[str, ...] = ()
    """Warnings that an Event repeats."""
    author: str = ""
    """Who creates this Override."""


def read_review(body: bytes) -> AdmissionRequest:
    """The question in a body. Raises Malformed."""
    if body.count(b"[") + body.count(b"{") > MOST_CONTAINERS:
        raise Malformed(f"more than {MOST_CONTAINERS} lists and maps")
    collects = gc.isenabled()
    gc.disable()  # what is parsed has no cycles, but each 700 new containers would be looked through for some
    try:
        return parse_object(AdmissionReview, _json_object(body)).request
    except ConfigError as error:
        raise Malformed(str(error)) from None
    finally:
        if collects:
            gc.enable()


def _json_object(body: bytes) -> Obj:
    try:
        review = orjson.loads(body)
    except ValueError:
        raise Malformed("not JSON") from None
    if not isinstance(review, dict):
        raise Malformed("not a JSON object")
    return review


class Reviewer:
    """Judges reviews. `namespaces` are those that this operator watches, all for none; it is asked for neighbours."""

    def __init__(self, shared_context: SharedContext, namespaces: Sequence[str], operator: Inquirer) -> None:
        self._shared_context, self._namespaces, self._operator = shared_context, frozenset(namespaces), operator
        self._judges: dict[str, Judge] = {
            **{webhook_of(kind).path: _judge(check_of(kind.model), kind.name) for kind in ADMITTED},
            SCALED_JOB.path: self._judge_scaled_job,
            SCALED_OBJECT.path: self._judge_scaled_object,
            OVERRIDE.path: self._judge_override,
            ENVIRONMENT.path: self._judge_environment,
        }
        self._judges |= {one.path: _with_countries(self._judges[one.path]) for one in WITH_HOLIDAYS}

    async def review(self, path: str, request: AdmissionRequest) -> AdmissionResult:
        """The verdict at one of our paths. Raises what `around` raises."""
        is_ours = not (request.namespace and self._namespaces) or request.namespace in self._namespaces
        if request.new is None or not is_ours or _only_sheds_finalizers(request):
            return AdmissionResult(response=_response(request.uid))
        denial, warnings = await self._judge(path, request.new, request)
        judged = path == SCALED_OBJECT.path
        if denial is not None:
            return AdmissionResult(response=_response(request.uid, denial=denial), judged=judged, denied=denial.reason)
        sentences = () if request.dry_run else tuple(warning.message for warning in warnings if warning.recorded)
        created = path == OVERRIDE.path and request.operation == "CREATE" and not request.dry_run
        author = request.user_info.username if created else ""
        lines = [_one_line(_labelled(warning))[:LONGEST_WARNING] for warning in warnings]
        return AdmissionResult(
            response=_response(request.uid, warnings=lines), judged=judged, notes=sentences, author=author
        )

    async def _judge(
        self, path: str, obj: Obj, request: AdmissionRequest
    ) -> tuple[Denial | None, list[AdmissionWarning]]:
        """Up to the first denial, or so many warnings; the checks work only as far as they are asked."""
        warnings: list[AdmissionWarning] = []
        parts = judged_parts(obj)
        if (too_large := check_extent(parts)) is not None:
            return too_large, warnings
        try:
            ignored = ignored_codes(map_at(parts, "metadata", "annotations"))
            found = islice(await self._judges[path](parts, request), MOST_FINDINGS)
            for finding in without_ignored(found, ignored):
                if isinstance(finding, Denial):
                    return finding, warnings
                warnings.append(finding)
                if len(warnings) >= MOST_WARNINGS:
                    break
        except ConfigError as error:
            return Denial(message=str(error), reason="invalid-object", field=error.field), warnings
        return None, warnings

    async def _judge_scaled_object(self, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        obj = parse_object(ScaledObject, body)
        spec = AS_WRITTEN.of(obj)
        around = await self._operator.around(spec)
        spec = fill_scaled_object(obj, around.defaults) if around.defaults else spec
        admission = check_scaled_object(obj, spec, around, dry_run=bool(request.dry_run))
        return chain(admission, warn_of_bounds(spec), self._warn(obj.spec.triggers), check_meaning(spec))

    async def _judge_override(self, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        """By itself, by who writes it (no author is named by another user), by the time, and by how many there are."""
        new = parse_object(Override, body)
        now, others = await self._operator.overrides_of(request.namespace)
        old = _read_old(request.old)
        findings = check_requester(body, request.old, request.user_info.username)
        return chain(findings, check_new_override(new, old, now, others), check_override_meaning(new.spec))

    async def _judge_environment(self, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        """By itself first: what is denied is not asked about. Without an answer it is judged by itself alone."""
        findings = [*check_of(Environment)(body), *check_kind_meaning(Environment.__name__, body)]
        environment = parse_object(Environment, body)
        try:
            around = await self._operator.around_environment(environment)
        except Unavailable:
            return findings
        return chain(findings, check_surroundings(environment, around))

    async def _judge_scaled_job(self, body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        """By itself first; without an answer no bound is known."""
        findings = list(islice(self._check_scaled_job(body), MOST_FINDINGS))
        if any(isinstance(one, Denial) for one in findings):
            return findings
        try:
            layers = await self._operator.defaults_of(request.namespace)
        except Unavailable:
            return findings
        return chain(findings, warn_of_bounds(fill_scaled_job(parse_object(ScaledJob, body), layers)))

    def _check_scaled_job(self, body: Mapping[str, object]) -> Iterator[Finding]:
        obj = parse_object(ScaledJob, body)
        yield from check_scaled_job(obj)
        yield from self._warn(obj.spec.triggers)
        yield from check_job_meaning(obj.spec.triggers, obj.metadata.annotations)

    def _warn(self, triggers: Sequence[ScaleTrigger]) -> Iterator[AdmissionWarning]:
        return warn_of_triggers(triggers, self._shared_context)


def _read_old(body: Obj | None) -> Override | None:
    """As it was; None for a new one, or one that could not be written today."""
    try:
        return None if body is None else parse_object(Override, body)
    except ConfigError:
        return None


def _judge(check: Check, kind: str = "") -> Judge:
    """For kinds that are judged by themselves; of `kind` also what may be meant otherwise."""

    async def judge(body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        return chain(check(body), check_kind_meaning(kind, body))

    return judge


def _with_countries(judge: Judge) -> Judge:
    """Also by the countries of holidays: the first one loads a library, so that other reviews go on meanwhile."""

    async def judge_all(body: Obj, request: AdmissionRequest) -> Iterable[Finding]:
        findings = await judge(body, request)
        await asyncio.to_thread(check_countries, body)
        return findings

    return judge_all


def _only_sheds_finalizers(request: AdmissionRequest) -> bool:
    """Deletion must go on, whatever the object says."""
    new, old = request.new or {}, request.old or {}
    if _finalizers(new) >= _finalizers(old):
        return False
    try:
        return bool(new.get("spec") == old.get("spec"))
    except RecursionError:  # nested deeper than any schema lets in
        return False


def _finalizers(obj: Obj) -> int:
    found = map_at(obj, "metadata").get("finalizers")
    return len(found) if isinstance(found, list) else 0


def _labelled(warning: AdmissionWarning) -> str:
    """With the code that switches it off, where it fits; KEDA's own warnings stay word for word."""
    if warning.code not in MEANING:
        return warning.message
    label = f" [{warning.code}]"
    return warning.message[: LONGEST_WARNING - len(label)] + label


def _one_line(text: str) -> str:
    """A warning travels in a header; keys that users wrote may hold anything."""
    return "".join(one if one.isprintable() else " " for one in text)


def _response(uid: str, *, denial: Denial | None = None, warnings: Sequence[str] = ()) -> Obj:
    response: Obj = {"uid": uid, "allowed": denial is None}
    if denial is not None:
        message = denial.message[:LONGEST_MESSAGE]
        response["status"] = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": message}
    if warnings:
        response["warnings"] = list(warnings)
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
