"""The Overrides of a namespace as decisions need them; unreadable ones have no effect.

A parsed Override is kept until it changes, so that a look costs as much as the Overrides that changed, not as all of
them. Above `MOST_OVERRIDES` that have not ended, only the oldest are read.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from heapq import nsmallest

from keda_py.answers.fairness import TenantPlaces
from keda_py.apis.environments.calendar import CalendarRef
from keda_py.apis.environments.override import NEXT_CHANGE, Override, describes_generation
from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at, value_at
from keda_py.apis.parsing import parse_object
from keda_py.clock import Clock
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.overrides import MOST_OVERRIDES, Overrides, OverrideSpec, read_override
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.resources import ENVIRONMENTS, Obj
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars
from keda_py.operator.environments.known.manifest_cache import given, kept

_Said = tuple[object, ...]
_Age = tuple[str, str]
CalendarAnswers = dict[CalendarRef | str, Calendar | ConfigError]
"""Calendars by the reference of an Environment, or by the name of an Environment with hours of its own."""


@dataclass(frozen=True, slots=True)
class _Room:
    """The uids of the Overrides that are read; `last` is the youngest of them, None while there is room for more."""

    uids: frozenset[str]
    last: _Age | None


def _room_of(lives: list[Obj]) -> _Room:
    oldest = nsmallest(MOST_OVERRIDES, ((_age(live), _uid(live)) for live in lives if not _has_ended(live)))
    ended = (_uid(live) for live in lives if _has_ended(live))
    return _Room(
        frozenset({*(uid for _, uid in oldest), *ended}), oldest[-1][0] if len(oldest) == MOST_OVERRIDES else None
    )


class Overriding:
    """Reads the Overrides of namespaces, and keeps them until they change."""

    def __init__(self, clock: Clock, caches: EnvironmentCaches, calendars: Calendars) -> None:
        self._clock, self._caches, self._calendars = clock, caches, calendars
        self._known: dict[str, tuple[_Said, Overrides]] = {}
        self._read: dict[str, dict[str, tuple[_Said, OverrideSpec | ConfigError]]] = {}
        self._turns = TenantPlaces()
        self._room: dict[str, _Room] = {}
        caches.overrides.subscribe(self._hear)

    def subscribe(self, notify: Callable[[str], None]) -> Callable[[], None]:
        """Call `notify` with the namespace of each Override that comes, goes, changes, begins or ends."""

        def hear(old: Obj | None, new: Obj | None) -> None:
            notify(namespace_of(new or old))

        return self._caches.overrides.subscribe(hear)

    async def of_namespace(self, namespace: str) -> Overrides:
        """Return all Overrides that have not ended and can be read.

        Each look of each Override asks for this: it is built again only after a change, and by one look at a time.
        """
        async with self._turns.turn(namespace):
            return await self._of_namespace(namespace)

    async def _of_namespace(self, namespace: str) -> Overrides:
        lives = self._going_on(namespace)
        versions = tuple((live["metadata"]["uid"], live["metadata"]["resourceVersion"]) for live in lives)
        said = (self._only_environment(namespace), *versions)
        known = self._known.get(namespace)
        if known is not None and known[0] == said:
            return known[1]
        self._forget_gone(namespace, {uid for uid, _ in versions})
        found, settled = [], True
        asked: CalendarAnswers = {}
        for live in lives:
            settled = settled and not _moves(live)
            try:
                found.append(await self.read(live, asked))
            except (ConfigError, KubeError):
                continue  # its own status says why
        built = Overrides(found)
        # An end that a calendar decides may change while no Override does, so the result must not be kept.
        if settled:
            self._known[namespace] = (said, built)
        return built

    def check_room(self, live: Obj) -> None:
        """Raise ConfigError for an Override beyond MOST_OVERRIDES: many at once may pass the admission."""
        if not self.has_room(live["metadata"]["namespace"], live["metadata"]["uid"]):
            text = f"the namespace has {MOST_OVERRIDES} older Overrides that have not ended, which is the most"
            raise ConfigError(f"{text}; delete some of them", field="metadata.namespace")

    def has_room(self, namespace: str, uid: str) -> bool:
        room = self.room(namespace)
        return room is None or uid in room

    def room(self, namespace: str) -> Set[str] | None:
        """The uids of the Overrides that are read; None: all are. Computed again after a change that may affect it."""
        lives = self._caches.overrides.objects(namespace)
        if len(lives) <= MOST_OVERRIDES:
            return None
        if (known := self._room.get(namespace)) is None:
            known = self._room[namespace] = _room_of(lives)
        return known.uids

    def _hear(self, old: Obj | None, new: Obj | None) -> None:
        """Invalidate the room if it may have changed: not by one younger than all, so that bursts are cheap."""
        namespace = namespace_of(new or old)
        if (known := self._room.get(namespace)) is None:
            return
        if old is None and new is not None:
            same = known.last is not None and _age(new) > known.last and not _has_ended(new)
        elif new is None or old is None:
            same = _uid(old or {}) not in known.uids
        else:
            same = _has_ended(old) == _has_ended(new) and _uid(old) == _uid(new)
        if not same:
            del self._room[namespace]

    def _going_on(self, namespace: str) -> list[Obj]:
        """The Overrides that are read and have not ended, the oldest first."""
        room = self.room(namespace)
        lives = self._caches.overrides.objects(namespace)
        return sorted(
            (live for live in lives if (room is None or _uid(live) in room) and not _has_ended(live)), key=_age
        )

    def _forget_gone(self, namespace: str, uids: set[str]) -> None:
        kept = {uid: one for uid, one in self._read.get(namespace, {}).items() if uid in uids}
        self._read[namespace] = kept
        if not kept:
            del self._read[namespace]
            self._known.pop(namespace, None)

    async def read(self, live: Obj, asked: CalendarAnswers | None = None) -> OverrideSpec:
        """Read one Override; `asked` caches calendars for Overrides that are read together.

        Raises ConfigError, and KubeError if its calendar cannot be read now.
        """
        namespace, uid = live["metadata"]["namespace"], live["metadata"]["uid"]
        only = self._only_environment(namespace)
        said = (live["metadata"].get("generation"), only, *(value_at(live, "status", one) for one in _STORED))
        calendar = None
        if _moves(live):
            calendar = await self._calendar(namespace, _environment_of(live) or only, {} if asked is None else asked)
            said = (*said, calendar, int(self._clock.now().timestamp() // 60))  # no calendar changes within a minute
        kept_here = self._read.setdefault(namespace, {})
        known = kept_here.get(uid)
        if known is None or known[0] != said:
            known = kept_here[uid] = (said, self._read_anew(live, calendar, only))
        return given(known[1])

    def _read_anew(self, live: Obj, calendar: Calendar | None, only: str) -> OverrideSpec | ConfigError:
        try:
            return read_override(parse_object(Override, live), calendar, environment=only, now=self._clock.now())
        except ConfigError as error:
            return kept(error)

    def _only_environment(self, namespace: str) -> str:
        environments = self._caches.environments.objects(namespace)
        return name_of(environments[0]) if len(environments) == 1 else ""

    async def _calendar(self, namespace: str, environment: str, asked: CalendarAnswers) -> Calendar | None:
        live = self._caches.environments.get(namespace, environment) if environment else None
        if live is None:
            return None
        spec = self._calendars.spec_of(live)
        key = spec.calendar_ref or environment
        if key not in asked:
            try:
                asked[key] = await self._calendars.of_environment(namespace, environment, spec)
            except ConfigError as error:
                asked[key] = kept(error)
        return given(asked[key])


_STORED = ("ends", "requestedBy", "request", "observedGeneration")


def _has_ended(live: Obj) -> bool:
    status = live.get("status")
    return status is not None and status.get("phase") == "Ended" and _describes_spec(live, status)


def _describes_spec(live: Obj, status: Obj) -> bool:
    """Whether the status is about the current spec, not about one before an edit."""
    return describes_generation(status.get("observedGeneration", 0), live["metadata"].get("generation", 0))


def _uid(live: Obj) -> str:
    return str(live["metadata"]["uid"])


def _age(live: Obj) -> _Age:
    return text_at(live, "metadata", "creationTimestamp"), name_of(live)


def _environment_of(live: Obj) -> str:
    """The name of the Environment that is its target; "" for another target."""
    target = map_at(live, "spec", "target")
    return text_at(target, "name") if text_at(target, "kind") == ENVIRONMENTS.kind else ""


def _moves(live: Obj) -> bool:
    """Whether its end still depends on a calendar: `until: NextChange` without a stored end."""
    is_fixed = text_at(live, "status", "ends") and _describes_spec(live, live["status"])
    return text_at(live, "spec", "until") == NEXT_CHANGE and not is_fixed
