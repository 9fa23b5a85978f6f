"""Zone in which an object's times are shown."""

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.apis.foreign import map_at, maps_at, name_of, text_at
from keda_py.core.cron.zones import load_zone
from keda_py.core.environment.scaling.schedules import schedule_of
from keda_py.core.metric_specs import CRON
from keda_py.errors import ConfigError
from keda_py.replay.plan import NamespacePlan
from keda_py.replay.reading.manifests import ManifestSource


def zone_of(manifest: Mapping[str, Any] | None) -> ZoneInfo | None:
    """Return the zone of the object's first window; None without a window."""
    for trigger in maps_at(manifest, "spec", "triggers"):
        if trigger.get("type") == CRON:
            try:
                return load_zone(text_at(trigger, "metadata", "timezone"))
            except ConfigError:
                continue
    return None


def zone_of_rule(live: Mapping[str, Any], sources: Sequence[ManifestSource]) -> ZoneInfo | None:
    """Return the zone of an Override's Environment, or of a ScalingSchedule's hours or first Calendar, or None."""
    bodies = {(source.body["kind"], name_of(source.body)): source.body for source in sources}
    spec = map_at(live, "spec")
    name = text_at(spec, "target", "name") if text_at(spec, "target", "kind") == "Environment" else ""
    is_override = text_at(live, "kind") == "Override"
    environments = [
        body
        for (kind, called), body in bodies.items()
        if is_override and kind == "Environment" and name in ("", called)
    ]
    written = [text_at(spec, "timeZone"), *(text_at(body, "spec", "calendar", "timeZone") for body in environments)]
    references = [map_at(body, "spec", "calendarRef") for body in environments]
    references += [map_at(period, "calendarRef") for period in maps_at(spec, "periods")]
    for reference in references:
        found = bodies.get((text_at(reference, "kind") or "Calendar", text_at(reference, "name")), {})
        written.append(text_at(found, "spec", "timeZone"))
    for zone in filter(None, written):
        try:
            return load_zone(zone)
        except ConfigError:
            continue
    return None


def zone_of_plan(plan: NamespacePlan) -> ZoneInfo | None:
    """Return the zone of the object's Environment, or of the schedule that rules it; None if nothing rules it."""
    for environment in plan.environments:
        if environment.calendar is not None:
            return environment.calendar.zone
    for obj in plan.objects:
        schedule = schedule_of(plan.schedules, obj.spec.name, obj.spec.labels)
        if schedule is not None:
            return next((period.calendar.zone for period in schedule.periods), None)
    return None
