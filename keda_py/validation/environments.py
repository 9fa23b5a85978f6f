"""Checks of Environments of files with their members, calendars and CronJobs, as the operator would judge them.

Of two Environments the one that is written first is taken for the older. Holidays of countries and files are left out:
one more open day never makes a warning wrong.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keda_py.apis.environments.calendar import Calendar as WireCalendar
from keda_py.apis.environments.calendar import CalendarRef
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override, OverrideTarget
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at, texts_at, value_at
from keda_py.apis.parsing import parse_object
from keda_py.core.admission.environments import created_some_time
from keda_py.core.admission.findings import Finding
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.reading import read_calendar
from keda_py.core.environment.spec import USUAL_KINDS, EnvironmentSpec, build_environment
from keda_py.core.meaning.environments import LabelledObject, check_members, check_reference
from keda_py.core.meaning.jobs import CRON_JOB, check_jobs, read_job
from keda_py.core.meaning.wake_services import check_kept_down, check_wake_services
from keda_py.core.spec import ScalingSpec
from keda_py.core.waking.services import WakeService, read_service
from keda_py.errors import ConfigError
from keda_py.sdk.registry import wake_spec_of, wakes_on_request

Bodies = Mapping[str, Sequence[dict[str, Any]]]
"""Kind -> completed objects."""
_HERE = "these files"
ENVIRONMENT = "Environment"
_WITH_PODS = ("Deployment", "StatefulSet")


@dataclass(frozen=True, slots=True)
class _WrittenEnvironment:
    """Environment as it is written."""

    spec: EnvironmentSpec
    wire: Environment


class EnvironmentsOfFiles:
    """Environments of the files. `scaled`: whether a ScaledObject scales an object, which is not a member then."""

    def __init__(self, bodies: Bodies, scaled: Iterable[dict[str, Any]], now: datetime) -> None:
        self._bodies, self._now = bodies, now
        self._scaled = {id(body) for body in scaled}
        self._by_namespace: defaultdict[str, list[_WrittenEnvironment]] = defaultdict(list)
        for body in bodies.get(ENVIRONMENT, ()):
            try:
                wire = parse_object(Environment, body)
                self._by_namespace[namespace_of(body)].append(
                    _WrittenEnvironment(build_environment(created_some_time(wire)), wire)
                )
            except ConfigError:
                continue  # reported with the object itself

    def check_environment(self, body: dict[str, Any]) -> Iterator[Finding]:
        """Check its calendar, its members and its waves."""
        known = self._by_namespace[namespace_of(body)]
        at = next((at for at, one in enumerate(known) if one.spec.name == name_of(body)), None)
        if at is None:
            return
        if (reference := known[at].wire.spec.calendar_ref) is not None:
            yield from check_reference(reference, self._calendars(namespace_of(body), reference), _HERE)
        spec = known[at].spec
        yield from check_members(spec, list(self._members(spec)), [one.spec for one in known[:at]])
        if spec.wake is not None:
            yield from check_wake_services(spec.wake, self._services(spec.namespace), list(self._pods(spec)), _HERE)

    def check_scaled_object(self, spec: ScalingSpec) -> Iterator[Finding]:
        """Check the Services whose requests are to wake it."""
        for number, trigger in enumerate(spec.triggers):
            wake = wake_spec_of([trigger])
            if wake is not None:
                pods = [
                    texts_at(body, "spec", "template", "metadata", "labels")
                    for body in self._bodies.get(spec.target.kind, ())
                    if (namespace_of(body), name_of(body)) == (spec.namespace, spec.target.name)
                ]
                at = f"spec.triggers[{number}].metadata"
                yield from check_wake_services(wake, self._services(spec.namespace), pods, _HERE, at)

    def check_override(self, override: Override) -> Iterator[Finding]:
        """Check whether it keeps a workload at 0 that requests would wake."""
        target = override.spec.target
        if target is None or target.kind == ENVIRONMENT:
            return
        if woken := self._woken_with(override.metadata.namespace, target):
            yield from check_kept_down(override.spec, woken)

    def _woken_with(self, namespace: str, target: OverrideTarget) -> str:
        """Name the ScaledObject or Environment that requests wake with an Override's target; "" if none does."""
        wanted = target.kind, target.name
        for body in self._bodies.get("ScaledObject", ()):
            reference = map_at(body, "spec", "scaleTargetRef")
            scaled = text_at(reference, "kind") or "Deployment", text_at(reference, "name")
            is_meant = wanted in (("ScaledObject", name_of(body)), scaled)
            if is_meant and namespace_of(body) == namespace:
                asks = any(wakes_on_request(text_at(one, "type")) for one in maps_at(body, "spec", "triggers"))
                return f"ScaledObject {name_of(body)}" if asks else self._environment_of(body)
        for body in self._bodies.get(target.kind, ()):
            if (namespace_of(body), name_of(body)) == (namespace, target.name):
                return self._environment_of(body)
        return ""

    def _environment_of(self, body: dict[str, Any]) -> str:
        """Name the Environment that has an object, if requests wake it."""
        labels, annotations = (texts_at(body, "metadata", part) for part in ("labels", "annotations"))
        for known in self._by_namespace[namespace_of(body)]:
            if known.spec.takes(labels, annotations):
                return f"Environment {known.spec.name}" if known.spec.wake is not None else ""
        return ""

    def _services(self, namespace: str) -> list[WakeService]:
        there = (one for one in self._bodies.get("Service", ()) if namespace_of(one) == namespace)
        return [*{one.name: one for one in map(read_service, there)}.values()]  # files may repeat an object

    def check_schedule(self, schedule: ScalingSchedule) -> Iterator[Finding]:
        """Check the calendars of its periods."""
        for number, period in enumerate(schedule.spec.periods):
            if (reference := period.calendar_ref) is not None:
                names = self._calendars(schedule.metadata.namespace, reference)
                yield from check_reference(reference, names, _HERE, f"spec.periods[{number}].calendarRef")

    def check_job(self, body: dict[str, Any]) -> Iterator[Finding]:
        """Check that a CronJob, unless its owner suspends it, has a time while its Environment is awake."""
        job = read_job(body)
        if value_at(body, "spec", "suspend") is True:
            return
        for known in self._by_namespace[namespace_of(body)]:
            if known.spec.takes(job.labels, job.annotations):
                if (calendar := self._calendar_of(known)) is not None:
                    yield from (found for _, found in check_jobs(known.spec, calendar, (job,), self._now))
                return

    def _calendar_of(self, known: _WrittenEnvironment) -> Calendar | None:
        """Read its calendar; None if it is unknown or refused."""
        spec, reference = known.wire.spec.calendar, known.wire.spec.calendar_ref
        try:
            if reference is not None:
                spec = parse_object(WireCalendar, self._calendars(known.spec.namespace, reference)[reference.name]).spec
            return None if spec is None else read_calendar(spec)
        except (KeyError, ConfigError):
            return None

    def _calendars(self, namespace: str, reference: CalendarRef) -> Mapping[str, dict[str, Any]]:
        """Return the calendars that the reference may name, by name."""
        kind = reference.kind or "Calendar"
        there = self._bodies.get(kind, ())
        return {name_of(body): body for body in there if kind == "ClusterCalendar" or namespace_of(body) == namespace}

    def _pods(self, spec: EnvironmentSpec) -> Iterator[Mapping[str, str]]:
        """Yield the labels of the pods of each member; a ScaledObject's are those of its workload."""
        for kind in _WITH_PODS:
            for body in self._bodies.get(kind, ()):
                labels, annotations = (texts_at(body, "metadata", part) for part in ("labels", "annotations"))
                own = id(body) in self._scaled or spec.takes(labels, annotations)
                if namespace_of(body) == spec.namespace and own:
                    yield texts_at(body, "spec", "template", "metadata", "labels")

    def _members(self, spec: EnvironmentSpec) -> Iterator[LabelledObject]:
        for kind in (*USUAL_KINDS, *(kind for _, kind in spec.kinds)):
            for body in self._bodies.get(kind, ()):
                if namespace_of(body) == spec.namespace and id(body) not in self._scaled:
                    labels, annotations = (texts_at(body, "metadata", part) for part in ("labels", "annotations"))
                    yield LabelledObject(kind=kind, name=name_of(body), labels=labels, annotations=annotations)


def is_job(body: Mapping[str, Any]) -> bool:
    """Whether it is a CronJob, which an Environment suspends."""
    return bool(body["kind"] == CRON_JOB and body["apiVersion"] == "batch/v1")
