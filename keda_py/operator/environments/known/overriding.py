"""The Overrides of a namespace as decisions ask them; one that cannot be read rules nothing."""

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import NEXT_CHANGE, Override
from keda_py.apis.foreign import map_at, name_of, text_at
from keda_py.apis.parsing import parse_object
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.overrides import Overrides, OverrideSpec, read_override
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.resources import Obj
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars


class Overriding:
    """Reads Overrides."""

    def __init__(self, caches: EnvironmentCaches, calendars: Calendars) -> None:
        self._caches, self._calendars = caches, calendars
        self._known: dict[str, tuple[tuple[tuple[str, str], ...], Overrides]] = {}

    async def of_namespace(self, namespace: str) -> Overrides:
        """All that can be read. Asked for by each look of each Override: built anew only when one has changed."""
        lives = self._caches.overrides.objects(namespace)
        versions = tuple((live["metadata"]["uid"], live["metadata"]["resourceVersion"]) for live in lives)
        known = self._known.get(namespace)
        if known is not None and known[0] == versions:
            return known[1]
        found, settled = [], True
        for live in lives:
            settled = settled and not _moves(live)
            try:
                found.append(await self.read(live))
            except (ConfigError, KubeError):
                continue  # told by its own status
        built = Overrides(found)
        if settled:
            self._known[namespace] = (versions, built)
        return built

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


def _moves(live: Obj) -> bool:
    """Whether it says more than its own text: an end that a calendar is still to fix, a target that is left out."""
    open_end = text_at(live, "spec", "until") == NEXT_CHANGE and not text_at(live, "status", "ends")
    return open_end or not map_at(live, "spec", "target")
