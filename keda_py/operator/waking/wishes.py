"""Wishes of owners: which Services an Environment or ScaledObject wants to be woken, and in which state it is.

Pure tables without I/O. An owner that has not spoken yet is not one that wants nothing: its slices stay.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from keda_py.core.waking.rules import WakeRules, WakeState, WavePart
from keda_py.core.waking.services import WakeService
from keda_py.core.waking.slices import WakeOwner, WakeWish
from keda_py.core.waking.spec import WakeSpec

Labels = frozenset[tuple[str, str]]
"""Labels of a member's pods."""


@dataclass(frozen=True, slots=True)
class KeptDown:
    """A member that an Override of its own keeps at 0: no request ends that.

    Members of an environment that is awake call each other, which would end each such Override at once.
    """

    member: str
    pods: Labels
    override: str

    @property
    def because(self) -> str:
        return (
            f"{self.override} keeps {self.member} at 0, "
            "and requests end no Override of a workload; delete it, or wait for its end"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerWish:
    """What an owner wants now. `pods` are the labels of its members' pods, each set once."""

    owner: WakeOwner
    namespace: str
    spec: WakeSpec
    state: WakeState
    pods: frozenset[Labels] = frozenset()
    pods_unknown: bool = False
    """True with a member of which only its count is known: a Service that is named may be its."""
    kept_down: tuple[KeptDown, ...] = ()
    waves: tuple[WavePart, ...] = ()
    usual: int = 0
    ready_at: datetime | None = None
    kept_up_by: str = ""

    def covers(self, service: WakeService) -> bool:
        """Return whether it wants this Service: chosen, and its selector selects a member.

        Of any other Service the pods go on running, and each request of the night would pass through wakers.
        """
        if not self._asks_for(service) or self.keeps_down(service) is not None:
            return False
        selects = any(service.selects(dict(labels)) for labels in self.pods)
        # One without a selector, or an ExternalName, selects nothing; that it cannot be woken is said of it by name.
        return selects or (bool(self.spec.names) and (self.pods_unknown or service.obstacle is not None))

    def _asks_for(self, service: WakeService) -> bool:
        return service.namespace == self.namespace and self.spec.asks_for(service.name, service.labels)

    def keeps_down(self, service: WakeService) -> KeptDown | None:
        """Return a member that is kept at 0 if the Service is chosen, and selects such members alone."""
        # Most wishes have none, and each Service is compared with the pods of all members.
        if not self.kept_down or not self._asks_for(service):
            return None
        if any(service.selects(dict(labels)) for labels in self.pods):
            return None
        return next((one for one in self.kept_down if service.selects(dict(one.pods))), None)

    def of(self, service: WakeService) -> WakeWish:
        """Return the wish for one Service."""
        rules = WakeRules(
            owner_kind=self.owner.kind,
            owner_name=self.owner.name,
            service_name=service.name,
            service_uid=service.uid,
            state=self.state,
            hold=int(self.spec.hold.total_seconds()),
            page=self.spec.page,
            ignored=self.spec.ignored,
            waves=self.waves,
            usual=self.usual,
            ready_at=self.ready_at,
            kept_up_by=self.kept_up_by,
        )
        return WakeWish(owner=self.owner, rules=rules)


@dataclass(slots=True)
class Wishes:
    """The wishes of all owners, by uid; None of one that wants nothing."""

    _by_owner: dict[str, OwnerWish | None] = field(default_factory=dict)
    _by_namespace: dict[str, dict[str, OwnerWish]] = field(default_factory=dict)

    def put(self, uid: str, wish: OwnerWish | None) -> OwnerWish | None:
        """Store the wish and return the one before it."""
        before = self.drop(uid)
        self._by_owner[uid] = wish
        if wish is not None:
            self._by_namespace.setdefault(wish.namespace, {})[uid] = wish
        return before

    def drop(self, uid: str) -> OwnerWish | None:
        """Forget an owner and return its wish."""
        before = self._by_owner.pop(uid, None)
        if before is not None:
            there = self._by_namespace[before.namespace]
            del there[uid]
            if not there:
                del self._by_namespace[before.namespace]
        return before

    def get(self, uid: str) -> OwnerWish | None:
        return self._by_owner.get(uid)

    def has_spoken(self, uid: str) -> bool:
        """Return whether the owner has said what it wants since this process began to lead."""
        return uid in self._by_owner

    def of(self, service: WakeService) -> OwnerWish | None:
        """Find the owner of a Service: of several Environments the first by name, and only then a ScaledObject."""
        found = [one for one in self._by_namespace.get(service.namespace, {}).values() if one.covers(service)]
        return min(found, key=lambda one: (one.owner.kind, one.owner.name, one.owner.uid), default=None)

    def within(self, namespace: str) -> Iterable[OwnerWish]:
        return tuple(self._by_namespace.get(namespace, {}).values())

    def __iter__(self) -> Iterator[OwnerWish]:
        return (one for one in self._by_owner.values() if one is not None)
