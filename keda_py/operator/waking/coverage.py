"""Coverage: which Services of an owner lead to wakers now, and why requests for the others wake nothing.

The owner's status says it (`environments/waking/settling.py`). Nothing here writes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from keda_py.apis.environments.waking import NotWoken
from keda_py.core.waking.rules import WakeState
from keda_py.core.waking.services import WakeService
from keda_py.operator.waking.caches import WakingCaches
from keda_py.operator.waking.wishes import OwnerWish, Wishes

_MOST_NAMED = 50
"""Services that a status names, of each kind: more make the object too large."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Services that wake an owner, how many of them lead to wakers now, and those that do not wake it and why."""

    services: tuple[str, ...]
    ready: int
    not_woken: tuple[NotWoken, ...]


def covered_by(wish: OwnerWish, caches: WakingCaches) -> list[WakeService]:
    """Return the Services that an owner wants to be woken by."""
    return [one for one in caches.services_in(wish.namespace) if wish.covers(one) and not one.deleting]


def is_shown(service: WakeService, caches: WakingCaches) -> bool:
    """Return whether all slices of a Service lead to wakers."""
    slices = caches.slices_of(service.namespace, service.name)
    return bool(slices) and all(one.endpoints for one in slices)


@dataclass(frozen=True, slots=True)
class CoverageReader:
    """`problem_of` tells why the last write of a Service's slice failed; "" if it did not."""

    caches: WakingCaches
    wishes: Wishes
    problem_of: Callable[[WakeService], str]

    def read(self, wish: OwnerWish) -> Coverage:
        """Return the coverage of one owner."""
        services = covered_by(wish, self.caches)
        named = {service.name for service in services}
        kept_down = list(self._kept_down(wish))
        named |= {one.service for one in kept_down}
        told = kept_down + [self._uncovered(wish, name) for name in wish.spec.names if name not in named]
        nodes = sorted({one.node for one in self.caches.ready_wakers if one.node})
        for service in services:
            told += self._obstacles(service, wish, nodes)
        ready = sum(is_shown(service, self.caches) for service in services)
        woken = [service.name for service in services if service.obstacle is None]
        return Coverage(tuple(woken[:_MOST_NAMED]), ready, tuple(told[:_MOST_NAMED]))

    def _kept_down(self, wish: OwnerWish) -> Iterator[NotWoken]:
        for service in self.caches.services_in(wish.namespace):
            if not service.deleting and (found := wish.keeps_down(service)) is not None:
                yield NotWoken(service=service.name, reason="KeptDown", because=found.because)

    def _uncovered(self, wish: OwnerWish, name: str) -> NotWoken:
        """Say why a Service that is named is not covered."""
        if self.caches.service(wish.namespace, name) is None:
            return NotWoken(service=name, reason="NotFound", because=f"there is no Service {name!r} here")
        return NotWoken(service=name, reason="NoMember", because="its selector selects no member")

    def _obstacles(self, service: WakeService, wish: OwnerWish, nodes: list[str]) -> Iterator[NotWoken]:
        owner = self.wishes.of(service)
        if service.obstacle is not None:
            yield NotWoken(service=service.name, reason=service.obstacle.reason, because=service.obstacle.because)
            return
        for limit in service.limits(nodes):
            yield NotWoken(service=service.name, reason=limit.reason, because=limit.because)
        if owner is not None and owner.owner.uid != wish.owner.uid:
            told = f"{owner.owner.kind} {owner.owner.name} wakes it"
            yield NotWoken(service=service.name, reason="OwnedByAnother", because=told)
        elif wish.state is WakeState.ASLEEP and not is_shown(service, self.caches):
            none = "no waker listens for it yet" if self.caches.ready_wakers else "no waker is ready"
            yield NotWoken(service=service.name, reason="NoWaker", because=self.problem_of(service) or none)
