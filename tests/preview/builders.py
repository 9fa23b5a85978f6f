"""Previews of manifests for tests, of the week from Monday, 23 November 2026, UTC."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from keda_py.kube.resources import Obj
from keda_py.replay.previews import Preview, Subject, preview
from keda_py.replay.reading.manifests import ManifestSource, read_plans
from tests.builders import HOURS, bare_scaled_object, environment

BEGINS = datetime(2026, 11, 23, tzinfo=UTC)
WEEK = timedelta(days=7)


def look(*bodies: Obj, begins: datetime = BEGINS, length: timedelta = WEEK) -> Preview:
    """Preview these manifests."""
    plans = read_plans([ManifestSource(body=body) for body in bodies], begins, begins + length)
    return preview(plans, begins, begins + length)


def the(subject: str, found: Preview) -> Subject:
    """Find the subject of KIND/NAME."""
    return next(one for one in found.subjects if f"{one.kind}/{one.name}" == subject)


def moves(subject: Subject) -> list[tuple[str, int, int]]:
    """Write (Mon 08:00:00, before, after) for each move, in UTC."""
    return [(f"{step.at:%a %H:%M:%S}", step.before, step.replicas) for step in subject.timeline.moves]


def app(*triggers: Obj, **spec: Any) -> Obj:
    """A ScaledObject in the namespace shop."""
    return bare_scaled_object(*triggers, namespace="shop", **spec)


def dev(*, hours: Sequence[Obj] = HOURS, **spec: Any) -> Obj:
    """An Environment in the namespace shop, open in these hours."""
    return environment(namespace="shop", **{"calendar": {"timeZone": "UTC", "hours": list(hours)}, **spec})
