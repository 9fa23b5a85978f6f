"""Environments for the overview of all objects: which has an object, when it changes next, and its zone."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import Obj, namespace_of, texts_at
from keda_py.core.environment.spec import EnvironmentSpec, build_environment, owner_of
from keda_py.environments.requests import NotInstalled, list_environments, read_environment
from keda_py.environments.words import change_of
from keda_py.environments.zones import CalendarZones, list_zones
from keda_py.errors import ConfigError, Forbidden
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import SCALED_OBJECTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """Environment of an object: its next change with the time, and its Calendar's zone."""

    goes: str = ""
    at: datetime | None = None
    zone: ZoneInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulers:
    """Environments that the user may list, by the objects that they have."""

    by_namespace: Mapping[str, list[tuple[EnvironmentSpec, Environment]]] = field(default_factory=dict)
    zones: CalendarZones = field(default_factory=CalendarZones)

    def of(self, live: Obj) -> Ruler | None:
        """Find the ruler of an object; None if no Environment has it."""
        known = self.by_namespace.get(namespace_of(live), [])
        specs = [spec for spec, _ in known]
        owner = owner_of(specs, texts_at(live, "metadata", "labels"), texts_at(live, "metadata", "annotations"))
        environment = next((environment for spec, environment in known if spec is owner), None)
        if environment is None:
            return None
        goes, at = change_of(environment.status) or ("", None)
        return Ruler(goes=goes, at=at, zone=self.zones.of(environment))

    def zone_of(self, live: Obj) -> ZoneInfo | None:
        """Return the zone of a ScaledObject's Environment; None without one, and for a ScaledJob."""
        ruler = self.of(live) if live.get("kind", SCALED_OBJECTS.kind) == SCALED_OBJECTS.kind else None
        return ruler.zone if ruler is not None else None


NONE = Rulers()


async def read_rulers(client: KubeClient, namespace: str) -> Rulers:
    """Read the Environments of a namespace, "" for every one. Raises KubeError."""
    by_namespace: defaultdict[str, list[tuple[EnvironmentSpec, Environment]]] = defaultdict(list)
    try:
        for live in await list_environments(client, namespace):
            try:
                environment = read_environment(live)
                by_namespace[namespace_of(live)].append((build_environment(environment), environment))
            except ConfigError:
                continue  # `keda-py env` reports it
    except (NotInstalled, Forbidden):
        return NONE
    return Rulers(by_namespace=by_namespace, zones=await list_zones(client, namespace))
