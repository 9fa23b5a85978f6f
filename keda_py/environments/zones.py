"""Zones of Calendars, in which the times of Environments are shown, read with the rights of the user."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override
from keda_py.apis.foreign import name_of, namespace_of, text_at
from keda_py.core.cron.zones import load_zone
from keda_py.environments.requests import NotInstalled, list_environments, read_environment
from keda_py.errors import ConfigError, Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CALENDARS, CLUSTER_CALENDARS, ENVIRONMENTS
from keda_py.terminal.times import Times

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


@dataclass(frozen=True, slots=True)
class OverrideTimes:
    """Times of Overrides, each in the zone of the Calendar of the Environment that it is about."""

    reader: Times
    by_namespace: Mapping[str, Mapping[str, ZoneInfo | None]] = field(default_factory=dict)

    def of(self, override: Override) -> Times:
        """Return the times of an Override; the reader's alone if it is about another object or an unknown zone."""
        target, zones = override.spec.target, self.by_namespace.get(override.metadata.namespace, {})
        if target is None:
            return self.reader.of(next(iter(zones.values()))) if len(zones) == 1 else self.reader
        return self.reader.of(zones.get(target.name)) if target.kind == ENVIRONMENTS.kind else self.reader


async def read_override_times(client: KubeClient, namespace: str, reader: Times) -> OverrideTimes:
    """Read the zones of a namespace's Environments; "" for every namespace. Raises KubeError."""
    by_namespace = defaultdict[str, dict[str, ZoneInfo | None]](dict)
    try:
        lives = await list_environments(client, namespace)
    except (NotInstalled, Forbidden):
        return OverrideTimes(reader)
    zones = await list_zones(client, namespace)
    for live in lives:
        try:
            zone = zones.of(read_environment(live))
        except ConfigError:
            zone = None  # the operator leaves an unreadable one as it is
        by_namespace[namespace_of(live)][name_of(live)] = zone
    return OverrideTimes(reader, by_namespace)
