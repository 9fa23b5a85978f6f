"""Credentials made on request (tokens, certificates): one answer serves for a minute, and one tenant.

A trigger is resolved again after each failed reading. What is issued anew then would differ every time, look like a
change, and have the scaler renewed and its source asked twice with every poll.
"""

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from keda_py.clock import Clock
from keda_py.net.credential_keys import CredentialKey

SHARED_SECONDS = 60.0
MOST_OF_TENANT = 512
"""Answers for one tenant, which can have one for each trigger."""
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    value: V = field(repr=False)
    until: float


class Issued(Generic[V]):
    """Answers by question, who asks and by which credential, on the clock of decisions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: OrderedDict[CredentialKey, _Entry[V]] = OrderedDict()
        """The oldest first."""
        self._counts: Counter[str] = Counter()

    async def get(self, question: CredentialKey, issue: Callable[[], Awaitable[V]]) -> V:
        """What was issued within the last minute, or what `issue` gives now. A failure is not kept."""
        now = self._clock.monotonic()
        known = self._entries.get(question)
        if known is not None and known.until > now:
            return known.value
        value = await issue()
        self._drop(question)
        self._entries[question] = _Entry(value, now + SHARED_SECONDS)
        self._counts[question.tenant] += 1
        while (first := next(iter(self._entries))) and self._entries[first].until <= now:
            self._drop(first)
        if self._counts[question.tenant] > MOST_OF_TENANT:
            self._drop(next(key for key in self._entries if key.tenant == question.tenant))
        return value

    def __len__(self) -> int:
        """Answers that are kept."""
        return len(self._entries)

    def _drop(self, question: CredentialKey) -> None:
        if self._entries.pop(question, None) is None:
            return
        self._counts[question.tenant] -= 1
        if not self._counts[question.tenant]:
            del self._counts[question.tenant]
