"""Environments for tests: a plant that is open from 08:00 to 18:00 UTC on each day, and its members."""

from datetime import UTC, datetime, timedelta
from typing import Any

from keda_py.apis.environments.calendar import CalendarSpec
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.reading import read_calendar
from keda_py.core.environment.decision.observation import MemberSeen, Role
from keda_py.core.environment.decision.state import MemberState, Stage
from keda_py.core.environment.overrides import OverrideSpec, TargetKey, read_override
from keda_py.core.environment.spec import EnvironmentSpec, build_environment

LONG_AGO = "2026-01-01T00:00:00Z"
HOURS = [{"from": "08:00", "to": "18:00"}]
INLINE: dict[str, Any] = {"timeZone": "UTC", "hours": HOURS}
NOON, NIGHT = datetime(2026, 11, 23, 12, tzinfo=UTC), datetime(2026, 11, 23, 23, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def calendar(**more: Any) -> Calendar:
    return read_calendar(CalendarSpec.model_validate(INLINE | more))


def environment(name: str = "dev", created: str = LONG_AGO, deleting: str = "", **spec: Any) -> EnvironmentSpec:
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": name,
        "creationTimestamp": created,
        "deletionTimestamp": deleting,
    }
    return build_environment(Environment.model_validate({"metadata": metadata, "spec": {"calendar": INLINE} | spec}))


def override(name: str, created: str, target: str = "Environment/dev", by: str = "jana", **spec: Any) -> OverrideSpec:
    kind, _, called = target.partition("/")
    body = {
        "metadata": {"name": name, "namespace": "shop", "creationTimestamp": created},
        "spec": {"target": {"kind": kind, "name": called}} | spec,
        "status": {"requestedBy": by},
    }
    return read_override(Override.model_validate(body), calendar())


def member(key: str = "Deployment/web", count: int | None = 3, *, ready: bool = True, **more: Any) -> MemberSeen:
    kind, _, name = key.partition("/")
    role = {"ScaledObject": Role.SCALED_OBJECT, "CronJob": Role.CRON_JOB}.get(kind, Role.WORKLOAD)
    created = more.pop("created", datetime(2026, 1, 1, tzinfo=UTC))
    targets = (TargetKey(kind, name),)
    return MemberSeen(key=key, role=role, created=created, count=count, ready=ready, targets=targets, **more)


def remembered(stage: Stage, replicas: int = 3, **more: Any) -> MemberState:
    return MemberState(stage=stage, replicas=replicas, since=NIGHT - timedelta(hours=1), **more)
