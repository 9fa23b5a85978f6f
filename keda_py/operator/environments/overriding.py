"""The Overrides of a namespace as decisions ask them; one that cannot be read rules nothing."""

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import NEXT_CHANGE, Override
from keda_py.apis.foreign import name_of
from keda_py.apis.parsing import parse_object
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.overrides import Overrides, OverrideSpec, read_override
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.resources import Obj
from keda_py.operator.environments.caches import EnvironmentCaches
from keda_py.operator.environments.calendars import Calendars


class Overriding:
    """Reads Overrides."""

    def __init__(self, caches: EnvironmentCaches, calendars: Calendars) -> None:
        self._caches, self._calendars = caches, calendars

    async def of_namespace(self, namespace: str) -> Overrides:
        """All that can be read."""
        found = []
        for live in self._caches.overrides.objects(namespace):
            try:
                found.append(await self.read(live))
            except (ConfigError, KubeError):
                continue  # told by its own status
        return Overrides(found)

    async def read(self, live: Obj) -> OverrideSpec:
        """One. Raises ConfigError, and KubeError where its calendar cannot be read now."""
        override = parse_object(Override, live)
        environments = self._caches.environments.objects(override.metadata.namespace)
        only = name_of(environments[0]) if len(environments) == 1 else ""
        target = override.spec.target
        calendar = None
        if override.spec.until == NEXT_CHANGE and not override.status.ends:
            name = target.name if target is not None and target.kind == "Environment" else only
            calendar = await self._calendar(override.metadata.namespace, name)
        return read_override(override, calendar, environment=only)

    async def _calendar(self, namespace: str, environment: str) -> Calendar | None:
        live = self._caches.environments.get(namespace, environment) if environment else None
        if live is None:
            return None
        written = parse_object(Environment, live)
        return await self._calendars.of_environment(namespace, environment, written.spec)
