"""Zones of Calendars, in which the times of Environments are shown, read with the rights of the user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import name_of, namespace_of, text_at
from keda_py.core.cron.zones import load_zone
from keda_py.errors import ConfigError, Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CALENDARS, CLUSTER_CALENDARS

Place = tuple[str, str, str]
"""(kind, namespace, name)."""


@dataclass(frozen=True, slots=True)
class CalendarZones:
    """Zones of the Calendars that the user may list."""

    by_place: Mapping[Place, str] = field(default_factory=dict)

    def of(self, environment: Environment) -> ZoneInfo | None:
        """Return the zone of an Environment; None if its Calendar is missing, invalid, or may not be read."""
        spec = environment.spec
        zone = spec.calendar.time_zone if spec.calendar is not None else ""
        if spec.calendar_ref is not None:
            kind = spec.calendar_ref.kind or CALENDARS.kind
            where = environment.metadata.namespace if kind == CALENDARS.kind else ""
            zone = self.by_place.get((kind, where, spec.calendar_ref.name), "")
        try:
            return load_zone(zone) if zone else None
        except ConfigError:
            return None


async def list_zones(client: KubeClient, namespace: str) -> CalendarZones:
    """List the zones of a namespace and of the cluster; "" for every namespace. Raises KubeError."""
    found: dict[Place, str] = {}
    for resource in (CALENDARS, CLUSTER_CALENDARS):
        try:
            for live in await client.list(resource, namespace if resource.namespaced else ""):
                found[resource.kind, namespace_of(live), name_of(live)] = text_at(live, "spec", "timeZone")
        except (Forbidden, NotFound):
            continue
    return CalendarZones(found)
