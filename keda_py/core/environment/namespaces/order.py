"""Order between namespaces: an Environment waits while Environments of groups before it are not done.

A wake waits for the groups before its own, falling asleep for those after it. A wait ends by itself: as many timeouts
after the hours began, or ended, as there are groups to wait for. So a namespace that cannot wake delays the others, and
does not stop them; and nothing about a wait has to be remembered. Overrides wait for nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from keda_py.apis.foreign import map_at, maps_at, text_at
from keda_py.core.environment.namespaces.spec import ClusterEnvironmentSpec

IDLE: Final = "Idle"
"""Reason of condition Asleep of an Environment that nothing uses (`decision/goal.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceProgress:
    """Whether others wait for an Environment."""

    delays_wake: bool
    delays_sleep: bool


def progress_of(live: Mapping[str, Any]) -> NamespaceProgress:
    """Read an Environment's status; an Override or a deletion takes it out of the order.

    One that sleeps in its hours because nothing uses it is not about to wake, so that no other one waits for it.
    """
    status = map_at(live, "status")
    phase = text_at(status, "phase")
    if text_at(status, "override", "name") or text_at(live, "metadata", "deletionTimestamp"):
        return NamespaceProgress(delays_wake=False, delays_sleep=False)
    falling = phase == "FallingAsleep" and bool(map_at(status, "transition"))
    idle = phase in ("Asleep", "FallingAsleep") and _is_idle(status)
    return NamespaceProgress(
        delays_wake=phase in ("Asleep", "FallingAsleep", "Waking") and not idle,
        delays_sleep=phase in ("Awake", "Waking") or falling,
    )


def _is_idle(status: Mapping[str, Any]) -> bool:
    asleep = (one for one in maps_at(status, "conditions") if text_at(one, "type") == "Asleep")
    return any(text_at(one, "reason") == IDLE for one in asleep)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceWait:
    """Groups that one waits for, in words, and how long after the change of hours at most; `awaited` "": none."""

    awaited: str = ""
    longest: timedelta = timedelta(0)


NO_WAIT: Final = NamespaceWait()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceTurn:
    """What an Environment waits for before it wakes, and before it falls asleep."""

    wake: NamespaceWait = NO_WAIT
    sleep: NamespaceWait = NO_WAIT


NO_TURN: Final = NamespaceTurn()
"""The turn of an Environment that waits for nothing."""


@dataclass(slots=True)
class OrderTally:
    """Namespaces of one ClusterEnvironment that others wait for, by group; kept up to date with each change.

    A thousand Environments ask at each look, so that each answer is made of sums and not of all statuses.
    """

    spec: ClusterEnvironmentSpec
    _groups: dict[str, int] = field(default_factory=dict)
    _waking: dict[int, set[str]] = field(default_factory=dict)
    _falling: dict[int, set[str]] = field(default_factory=dict)

    def note(self, namespace: str, group: int, progress: NamespaceProgress) -> bool:
        """Note a namespace's progress; return whether it was the last one of its group that others waited for."""
        awaited = self._is_awaited(group)
        self.forget(namespace)
        self._groups[namespace] = group
        if progress.delays_wake:
            self._waking.setdefault(group, set()).add(namespace)
        if progress.delays_sleep:
            self._falling.setdefault(group, set()).add(namespace)
        return any(before and not now for before, now in zip(awaited, self._is_awaited(group), strict=True))

    def forget(self, namespace: str) -> None:
        """Drop a namespace that is not covered any more."""
        if (group := self._groups.pop(namespace, None)) is not None:
            for tally in (self._waking, self._falling):
                tally.get(group, set()).discard(namespace)

    def _is_awaited(self, group: int) -> tuple[bool, bool]:
        return bool(self._waking.get(group)), bool(self._falling.get(group))

    def turn_of(self, namespace: str) -> NamespaceTurn:
        """Return what the Environment of a namespace waits for."""
        last = len(self.spec.order)
        group = self._groups.get(namespace, last)
        return NamespaceTurn(
            wake=self._wait(self._waking, range(group)), sleep=self._wait(self._falling, range(group + 1, last + 1))
        )

    def _wait(self, tally: Mapping[int, set[str]], groups: Sequence[int]) -> NamespaceWait:
        late = [group for group in groups if tally.get(group)]
        longest = sum((self._timeout(group) for group in groups), timedelta(0))
        texts = (self.spec.group_name(group) for group in late)
        return NamespaceWait(awaited=", ".join(texts), longest=longest)

    def _timeout(self, group: int) -> timedelta:
        """Return the timeout of a group; the namespaces without a group have the longest of all."""
        timeouts = [one.timeout for one in self.spec.order]
        return timeouts[group] if group < len(timeouts) else max(timeouts)
