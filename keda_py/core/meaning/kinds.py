"""Warnings about an object of a kind without triggers, judged by itself: for the webhook and `validate`."""

from collections.abc import Iterator, Mapping

from keda_py.apis.environments.calendar import Calendar
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override
from keda_py.apis.parsing import parse_object
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.meaning.environments import check_hours, check_override_meaning

JUDGED = ("Calendar", "ClusterCalendar", "Environment", "Override")
"""The kinds that have such warnings."""


def check_kind_meaning(kind: str, body: Mapping[str, object]) -> Iterator[AdmissionWarning]:
    """Check an object that its admission accepts. Raises ConfigError for one that cannot be parsed."""
    match kind:
        case "Calendar" | "ClusterCalendar":
            yield from check_hours(parse_object(Calendar, body).spec.hours, "spec.hours")
        case "Environment":
            own = parse_object(Environment, body).spec.calendar
            yield from check_hours(own.hours if own is not None else (), "spec.calendar.hours")
        case "Override":
            yield from check_override_meaning(parse_object(Override, body).spec)
