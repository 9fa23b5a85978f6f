"""The Overrides of a namespace as decisions ask them; one that cannot be read rules nothing.

What was read of one is kept for as long as it says the same, so that a namespace with many of them costs as much as
those that change. Of more than `MOST_OVERRIDES` that have not ended the oldest are read.
"""

from collections.abc import Callable
from itertools import islice

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import NEXT_CHANGE, Override, is_told
from keda_py.apis.foreign import name_of, namespace_of, text_at, value_at
from keda_py.apis.parsing import parse_object
from keda_py.clock import Clock
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.overrides import MOST_OVERRIDES, Overrides, OverrideSpec, read_override
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.resources import Obj
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars

_Said = tuple[object, ...]


class Overriding:
    """Reads Overrides."""

    def __init__(self, clock: Clock, caches: EnvironmentCaches, calendars: Calendars) -> None:
        self._clock, self._caches, self._calendars = clock, caches, calendars
        self._known: dict[str, tuple[_Said, Overrides]] = {}
        self._read: dict[str, dict[str, tuple[_Said, OverrideSpec]]] = {}
        self._room: dict[str, tuple[_Said, set[str]]] = {}

    def subscribe(self, notify: Callable[[str], None]) -> Callable[[], None]:
        """Call `notify` with the namespace of each Override that comes, goes, changes, begins or ends."""

        def hear(old: Obj | None, new: Obj | None) -> None:
            notify(namespace_of(new or old))

        return self._caches.overrides.subscribe(hear)

    async def of_namespace(self, namespace: str) -> Overrides:
        """All that have not ended and can be read.

        Asked for by each look of each Override: built anew only when one has changed.
        """
        lives = [live for live in self._caches.overrides.objects(namespace) if not _has_ended(live)]
        versions = tuple((live["metadata"]["uid"], live["metadata"]["resourceVersion"]) for live in lives)
        said = (self._only_environment(namespace), *versions)
        known = self._known.get(namespace)
        if known is not None and known[0] == said:
            return known[1]
        self._forget_gone(namespace, {uid for uid, _ in versions})
        found, settled = [], True
        for live in self._taken(lives):
            settled = settled and not _moves(live)
            try:
                found.append(await self.read(live))
            except (ConfigError, KubeError):
                continue  # told by its own status
        built = Overrides(found)
        if settled:
            self._known[namespace] = (said, built)
        return built

    def check_room(self, live: Obj) -> None:
        """Raises ConfigError for one that comes after too many others, as a crowd may pass the admission at once."""
        if not self.has_room(live["metadata"]["namespace"], live["metadata"]["uid"]):
            text = f"the namespace has {MOST_OVERRIDES} older Overrides that have not ended, which is the most"
            raise ConfigError(f"{text}; delete some of them", field="metadata.namespace")

    def has_room(self, namespace: str, uid: str) -> bool:
        """Whether that Override is one of those that are read."""
        lives = self._caches.overrides.objects(namespace)
        if len(lives) <= MOST_OVERRIDES:
            return True
        known = self._room.get(namespace)
        standing = tuple((live["metadata"]["uid"], _has_ended(live)) for live in lives)
        if known is None or known[0] != standing:
            known = self._room[namespace] = (standing, {live["metadata"]["uid"] for live in self._taken(lives)})
        return uid in known[1]

    @staticmethod
    def _taken(lives: list[Obj]) -> list[Obj]:
        going_on = sorted((live for live in lives if not _has_ended(live)), key=_age)
        return [*islice(going_on, MOST_OVERRIDES), *filter(_has_ended, lives)]

    def _forget_gone(self, namespace: str, uids: set[str]) -> None:
        kept = {uid: one for uid, one in self._read.get(namespace, {}).items() if uid in uids}
        self._read[namespace] = kept
        if not kept:
            del self._read[namespace]
            self._known.pop(namespace, None)
            self._room.pop(namespace, None)

    async def read(self, live: Obj) -> OverrideSpec:
        """One. Raises ConfigError, and KubeError where its calendar cannot be read now."""
        namespace, uid = live["metadata"]["namespace"], live["metadata"]["uid"]
        only = self._only_environment(namespace)
        said = (live["metadata"].get("generation"), only, *(value_at(live, "status", one) for one in _STORED))
        kept = self._read.setdefault(namespace, {})
        known = kept.get(uid)
        if known is not None and known[0] == said:
            return known[1]
        override, calendar = parse_object(Override, live), None
        if override.spec.until == NEXT_CHANGE and not override.end_is_fixed:
            target = override.spec.target
            name = target.name if target is not None and target.kind == "Environment" else only
            calendar = await self._calendar(namespace, name)
        spec = read_override(override, calendar, environment=only, now=self._clock.now())
        if not _moves(live):
            kept[uid] = (said, spec)
        return spec

    def _only_environment(self, namespace: str) -> str:
        environments = self._caches.environments.objects(namespace)
        return name_of(environments[0]) if len(environments) == 1 else ""

    async def _calendar(self, namespace: str, environment: str) -> Calendar | None:
        live = self._caches.environments.get(namespace, environment) if environment else None
        if live is None:
            return None
        written = parse_object(Environment, live)
        return await self._calendars.of_environment(namespace, environment, written.spec)


_STORED = ("ends", "requestedBy", "observedGeneration")


def _has_ended(live: Obj) -> bool:
    status = live.get("status")
    return status is not None and status.get("phase") == "Ended" and _is_told(live, status)


def _is_told(live: Obj, status: Obj) -> bool:
    """Whether its status is of its spec, and not of one before an edit."""
    return is_told(status.get("observedGeneration", 0), live["metadata"].get("generation", 0))


def _age(live: Obj) -> tuple[str, str]:
    return text_at(live, "metadata", "creationTimestamp"), name_of(live)


def _moves(live: Obj) -> bool:
    """Whether it says more than its own text: an end that a calendar is still to fix."""
    is_fixed = text_at(live, "status", "ends") and _is_told(live, live["status"])
    return text_at(live, "spec", "until") == NEXT_CHANGE and not is_fixed
