"""Documents -> problems, in the order in which they are written.

For each object of ours: schema, then the admission checks with the other files as its neighbours, then its triggers.
An object that the schema refuses is judged beside the refused fields. Of a workload only the replica count is judged,
where a ScaledObject sets it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import orjson

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.foreign import list_at, map_at, name_of, namespace_of, text_at, texts_at, title_of, value_at
from keda_py.apis.kinds.table import KINDS
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.apis.trigger_authentication import TriggerAuthentication
from keda_py.calendars.countries import check_countries
from keda_py.core.admission import codes
from keda_py.core.admission.checks import Check, check_of
from keda_py.core.admission.codes import ignored_codes, without_ignored
from keda_py.core.admission.defaults import warn_of_bounds
from keda_py.core.admission.environments import check_new_override
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding
from keda_py.core.admission.other_kinds import check_authentication, check_scaled_job
from keda_py.core.admission.scaled_object import check_scaled_object
from keda_py.core.meaning.kinds import check_kind_meaning
from keda_py.core.meaning.notes import notes_of
from keda_py.core.meaning.policies import cover, describe_coverage, describe_hours
from keda_py.core.meaning.scaled_object import check_job_meaning, check_meaning
from keda_py.core.meaning.target import check_target
from keda_py.core.spec import ScalingSpec, TriggersSpec
from keda_py.errors import ConfigError
from keda_py.kube.resources import (
    CALENDARS,
    CLUSTER_CALENDARS,
    CLUSTER_ENVIRONMENTS,
    ENVIRONMENTS,
    OVERRIDES,
    SCALING_SCHEDULES,
)
from keda_py.sdk.checks import check_trigger, context_of
from keda_py.sdk.context import SharedContext
from keda_py.validation.documents import Document
from keda_py.validation.environments import EnvironmentsOfFiles, is_job
from keda_py.validation.problems import Problem, Severity
from keda_py.validation.release import Release, completed
from keda_py.validation.schema_errors import is_beside, mend
from keda_py.validation.schemas import check_schema, our_kinds
from keda_py.validation.versions import check_hpa_of, check_scaled_object_of, is_hpa

_WITH_TRIGGERS = ("ScaledObject", "ScaledJob")
_WITH_HOLIDAYS = tuple(one.kind for one in (CALENDARS, CLUSTER_CALENDARS, ENVIRONMENTS, CLUSTER_ENVIRONMENTS))
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def is_ours(document: Document) -> bool:
    """Whether it is an object that is checked here, one in a wrong apiVersion or of a misspelt kind included."""
    api_version, kind = document.body["apiVersion"], document.body["kind"]
    groups = {known.partition("/")[0] for known, _ in our_kinds()}
    return api_version.partition("/")[0] in groups or ("keda" in api_version and kind in _kinds())


class Validation:
    """The checks over one set of files, as if they were applied `now`; None: at this moment.

    `kubernetes` is the version that they are applied to; None: what differs by version is not checked.
    """

    def __init__(
        self,
        release: Release,
        shared_context: SharedContext,
        now: datetime | None = None,
        kubernetes: int | None = None,
        named: Collection[str] = (),
    ) -> None:
        self.release, self._shared_context, self._kubernetes = release, shared_context, kubernetes
        self._now = now = now or shared_context.clock.now()
        self._covered = cover(self.release.completed, named)
        environments = [*self.release.bodies[ENVIRONMENTS.kind], *self._covered.environments]
        bodies = {**self.release.bodies, ENVIRONMENTS.kind: environments}
        self._environments = EnvironmentsOfFiles(bodies, self.release.scaled(), now)
        self._checks: dict[str, Check] = {
            **{kind.name: check_of(kind.model) for kind in KINDS},
            "ScaledObject": self._check_scaled_object,
            "ScaledJob": self._check_scaled_job,
            "TriggerAuthentication": self._check_authentication,
            ENVIRONMENTS.kind: self._check_environment,
            OVERRIDES.kind: self._check_override,
            SCALING_SCHEDULES.kind: self._check_schedule,
        }

    @property
    def objects(self) -> int:
        """How many objects are checked."""
        return sum(is_ours(document) or self._is_checked_hpa(document.body) for document in self.release.documents)

    def _is_checked_hpa(self, body: Mapping[str, Any]) -> bool:
        return self._kubernetes is not None and is_hpa(body)

    def problems(self) -> Iterator[Problem]:
        """Yield all errors and warnings."""
        for document, body in zip(self.release.documents, self.release.completed, strict=True):
            found = self._findings(document.body, body) if is_ours(document) else self._check_foreign(body)
            ignored = document.ignored | ignored_codes(map_at(document.body, "metadata", "annotations"))
            for finding in without_ignored(found, ignored):
                yield _problem(document, finding)

    def notes(self) -> Iterator[Problem]:
        """Yield notes on objects with readable triggers: their windows in words, and what a deletion leaves behind."""
        for document, body in zip(self.release.documents, self.release.completed, strict=True):
            if body["kind"] == CLUSTER_ENVIRONMENTS.kind and name_of(body) in self._covered.by:
                yield from self._notes_of_policy(document, body)
            if body["kind"] not in _WITH_TRIGGERS or not is_ours(document):
                continue
            try:
                notes = list(notes_of(self._spec_of(body)))
            except ConfigError:
                continue  # it is a problem already
            for note in notes:
                yield _placed(document, "note", note.message, note.field)

    def _notes_of_policy(self, document: Document, body: dict[str, Any]) -> Iterator[Problem]:
        yield _placed(
            document, "note", f"spec.template: {describe_hours(map_at(body, 'spec', 'template'))}", "spec.template"
        )
        for text in describe_coverage(name_of(body), self._covered):
            yield _placed(document, "note", f"spec.namespaceSelector: {text}", "spec.namespaceSelector")

    def _spec_of(self, body: dict[str, Any]) -> TriggersSpec:
        is_job = body["kind"] == "ScaledJob"
        if is_job:
            return self.release.scaled_job(parse_object(ScaledJob, body))
        return self.release.scaled_object(body).spec

    def _findings(self, body: dict[str, Any], whole: dict[str, Any]) -> Iterator[Finding]:
        """The findings about an object as it is written, and completed."""
        api_version, kind = body["apiVersion"], body["kind"]
        if (api_version, kind) not in our_kinds():
            yield _deny_kind(api_version, kind)
            return
        found = list(check_schema(body))
        yield from found
        if any(isinstance(finding, Denial) and not finding.code for finding in found):
            refused = [finding.field for finding in found]
            yield from self._check_readable_triggers(body, refused)
            yield from self._check_rest(body, refused)
            return
        yield from self._check_readable(kind, body, whole)

    def _check_readable(self, kind: str, body: dict[str, Any], whole: dict[str, Any]) -> Iterator[Finding]:
        try:
            yield from self._checks[kind](whole)
            if kind in _WITH_HOLIDAYS:
                check_countries(body)
            yield from check_kind_meaning(kind, whole)
            if kind == "ScaledObject" and self._kubernetes is not None:
                yield from check_scaled_object_of(body, self._kubernetes)
            if kind == "ScaledObject":
                spec = self.release.scaled_object(whole).spec
                yield from check_target(spec, namespace_of(body), self.release.located)
                yield from self._environments.check_scaled_object(spec)
        except ConfigError as error:
            for one in error.each:
                yield Denial(message=str(one), reason="invalid-object", field=one.field)

    def _check_scaled_object(self, body: Mapping[str, object]) -> Iterator[Finding]:
        written = self.release.scaled_object(body)
        spec = written.spec
        yield from check_scaled_object(written.obj, spec, self.release.neighbourhood(spec))
        yield from warn_of_bounds(spec)
        yield from self._check_triggers(spec.triggers, spec.namespace, spec)
        yield from check_meaning(spec)

    def _check_scaled_job(self, body: Mapping[str, object]) -> Iterator[Finding]:
        obj = parse_object(ScaledJob, body)
        yield from check_scaled_job(obj)
        yield from warn_of_bounds(self.release.scaled_job(obj))
        for index, trigger in enumerate(obj.spec.triggers):
            if trigger.metric_type:
                field = f"spec.triggers[{index}].metricType"
                text = f"{field}: Cannot set metricType in ScaledJob triggers; remove it"
                yield Denial(message=text, reason="incorrect-triggers", field=field)
        yield from self._check_triggers(obj.spec.triggers, obj.metadata.namespace, None)
        yield from check_job_meaning(obj.spec.triggers, obj.metadata.annotations)

    def _check_triggers(
        self, triggers: Sequence[ScaleTrigger], namespace: str, spec: ScalingSpec | None
    ) -> Iterator[Finding]:
        for index, trigger in enumerate(triggers):
            context = context_of(trigger, index, self._shared_context, spec)
            yield from check_trigger(trigger, self.release.parameters(trigger, namespace), context, spec)

    def _check_readable_triggers(self, body: dict[str, Any], refused: Sequence[str]) -> Iterator[Finding]:
        """Check the readable triggers of an object that the schema refuses, so that one run shows all mistakes."""
        if body["kind"] not in _WITH_TRIGGERS:
            return
        for index, trigger in enumerate(list_at(body, "spec", "triggers")):
            at = f"spec.triggers[{index}]"
            if not isinstance(trigger, dict) or any(
                field in (at, "spec.triggers") or field.startswith(f"{at}.") for field in refused
            ):
                continue
            try:
                written = parse_object(ScaleTrigger, trigger)
            except ConfigError:
                continue  # a value that the schema has room for, and no trigger
            context = context_of(written, index, self._shared_context, None)
            yield from check_trigger(written, self.release.parameters(written, namespace_of(body)), context, None)

    def _check_rest(self, body: dict[str, Any], refused: Sequence[str]) -> Iterator[Finding]:
        """Check the other fields of an object without triggers that the schema refuses."""
        mended = None if body["kind"] in _WITH_TRIGGERS else mend(body, our_kinds()[body["apiVersion"], body["kind"]])
        if mended is None:
            return
        readable, touched = mended
        for finding in self._check_readable(body["kind"], readable, completed(readable)):
            if isinstance(finding, Denial) and finding.field not in refused and is_beside(finding.field, touched):
                yield finding

    def _check_authentication(self, body: Mapping[str, object]) -> Iterator[Finding]:
        obj = parse_object(TriggerAuthentication, body)
        yield from check_authentication(obj)
        if obj.spec.file_path:
            text = "spec.filePath: only a ClusterTriggerAuthentication may read files; use one, or a Secret"
            yield Denial(message=text, reason="incorrect-authentication", field="spec.filePath")
        for field, kind, references in (
            ("secretTargetRef", "Secret", obj.spec.secret_target_ref),
            ("configMapTargetRef", "ConfigMap", obj.spec.config_map_target_ref),
        ):
            for index, reference in enumerate(references):
                keys = self.release.keys_of(kind, obj.metadata.namespace, reference.name)
                if keys is not None and reference.key not in keys:
                    path = f"spec.{field}[{index}].key"
                    there = ", ".join(sorted(keys)) or "none"
                    text = f'{path}: {kind} "{reference.name}" has no key "{reference.key}"; it has: {there}'
                    yield AdmissionWarning(message=text, field=path, code=codes.MISSING_KEY)

    def _check_environment(self, body: Mapping[str, object]) -> Iterator[Finding]:
        yield from check_of(Environment)(body)
        yield from self._environments.check_environment(dict(body))

    def _check_schedule(self, body: Mapping[str, object]) -> Iterator[Finding]:
        yield from check_of(ScalingSchedule)(body)
        yield from self._environments.check_schedule(parse_object(ScalingSchedule, body))

    def _check_override(self, body: Mapping[str, object]) -> Iterator[Finding]:
        """Check it as admission checks a new one; an Override that was read from a cluster may have ended."""
        new = parse_object(Override, body)
        old = new if new.metadata.uid else None
        there = [one for one in self.release.bodies[OVERRIDES.kind] if namespace_of(one) == new.metadata.namespace]
        yield from check_new_override(new, old, self._now, len(there) - 1)
        yield from self._environments.check_override(new)

    def _check_foreign(self, body: dict[str, Any]) -> Iterator[Finding]:
        if self._kubernetes is not None and is_hpa(body):
            return check_hpa_of(body, self._kubernetes)
        if is_job(body):
            return self._environments.check_job(body)
        return self._check_count(body)

    def _check_count(self, body: dict[str, Any]) -> Iterator[Finding]:
        """Warn of a replica count in a workload: `kubectl apply` and GitOps tools would fight with the autoscaler."""
        owner = self.release.owner_of(body)
        if owner is not None and map_at(body, "spec").get("replicas") is not None and not _is_servers_own(body):
            text = f'spec.replicas: ScaledObject "{owner.name}" sets this count; each apply would set it back'
            text = f"{text}: remove the line"
            yield AdmissionWarning(message=text, field="spec.replicas", code=codes.WRITTEN_REPLICAS)


def _is_servers_own(body: dict[str, Any]) -> bool:
    """Whether the count of a live object is the API server's default or a scaler's: not written by `kubectl apply`."""
    if not text_at(body, "metadata", "resourceVersion"):
        return False
    applied = texts_at(body, "metadata", "annotations").get(_LAST_APPLIED, "")
    try:
        return value_at(orjson.loads(applied), "spec", "replicas") is None
    except orjson.JSONDecodeError:
        return True


def _kinds() -> dict[str, str]:
    """Map each of our kinds to its apiVersion."""
    return {kind: api_version for api_version, kind in our_kinds()}


def _deny_kind(api_version: str, kind: str) -> Denial:
    """Build kubectl's "no matches for kind", with a suggestion."""
    known = _kinds()
    if kind in known:
        text = f'apiVersion: "{api_version}" has no {kind}; use "{known[kind]}"'
        return Denial(message=text, reason="schema", field="apiVersion")
    spelt = {one.lower(): one for one in known}
    near = get_close_matches(kind.lower(), spelt, n=1)
    remedy = f'did you mean "{spelt[near[0]]}"?' if near else f"its kinds are {', '.join(known)}"
    return Denial(message=f'kind: "{api_version}" has no {kind}; {remedy}', reason="schema", field="kind")


def _problem(document: Document, finding: Finding) -> Problem:
    severity: Severity = "error" if isinstance(finding, Denial) else "warning"
    return replace(_placed(document, severity, finding.message, finding.field), code=finding.code)


def _placed(document: Document, severity: Severity, message: str, field: str) -> Problem:
    return Problem(
        severity=severity,
        file=document.file,
        line=document.lines.at(field),
        message=message,
        object=title_of(document.body),
        field=field,
        template=document.template,
    )
