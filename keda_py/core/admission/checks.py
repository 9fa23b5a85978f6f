"""The table of admission checks of kinds whose objects are judged by themselves: for the webhook and `validate`.

Kinds with triggers are not listed: they are judged together with their triggers, and a ScaledObject with its
neighbours. A kind that is listed nowhere is only parsed.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from pydantic import BaseModel

from keda_py.apis.cloud_event_source import CloudEventSource, ClusterCloudEventSource
from keda_py.apis.environments.calendar import Calendar, ClusterCalendar
from keda_py.apis.environments.cluster_environment import ClusterEnvironment
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.keda_defaults import ClusterKedaDefaults, KedaDefaults
from keda_py.apis.environments.override import Override
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.parsing import parse_object
from keda_py.apis.trigger_authentication import ClusterTriggerAuthentication, TriggerAuthentication
from keda_py.core.admission.defaults import check_defaults
from keda_py.core.admission.environments import (
    check_calendar,
    check_cluster_environment,
    check_environment,
    check_override,
    check_scaling_schedule,
)
from keda_py.core.admission.findings import Finding
from keda_py.core.admission.other_kinds import check_authentication, check_cloud_event_source

M = TypeVar("M", bound=BaseModel)
Check = Callable[[Mapping[str, object]], Iterator[Finding]]
"""Checks an object as it was written; raises ConfigError for one that cannot be parsed."""


def _by(model: type[M], check: Callable[[M], Iterator[Finding]]) -> tuple[type[BaseModel], Check]:
    return model, lambda body: check(parse_object(model, body))


_CHECKS: Mapping[type[BaseModel], Check] = dict(
    (
        _by(TriggerAuthentication, check_authentication),
        _by(ClusterTriggerAuthentication, check_authentication),
        _by(CloudEventSource, check_cloud_event_source),
        _by(ClusterCloudEventSource, check_cloud_event_source),
        _by(Calendar, check_calendar),
        _by(ClusterCalendar, check_calendar),
        _by(Environment, check_environment),
        _by(ClusterEnvironment, check_cluster_environment),
        _by(Override, check_override),
        _by(ScalingSchedule, check_scaling_schedule),
        (KedaDefaults, partial(check_defaults, kind=KedaDefaults.__name__)),
        (ClusterKedaDefaults, partial(check_defaults, kind=ClusterKedaDefaults.__name__)),
    )
)


def check_of(model: type[BaseModel]) -> Check:
    """Return a function that parses an object of the kind and runs its checks."""
    return _CHECKS.get(model) or _by(model, _nothing_more)[1]


def _nothing_more(_: BaseModel) -> Iterator[Finding]:
    return iter(())
