"""Cache of issued credentials (tokens, certificates): one answer serves one tenant for a minute.

A trigger is resolved again after each failed reading. A newly issued credential differs every time and would look like
a change, so that each poll would renew the scaler and ask its source twice.
"""

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from keda_py.clock import Clock
from keda_py.net.credential_keys import CredentialKey

SHARED_SECONDS = 60.0
MOST_OF_TENANT = 512
"""Entries of one tenant, which can have one for each trigger."""
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    value: V = field(repr=False)
    until: float


class Issued(Generic[V]):
    """Cache of credentials by tenant, credential and purpose, on the clock of decisions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: OrderedDict[CredentialKey, _Entry[V]] = OrderedDict()
        """Ordered by age, the oldest first."""
        self._counts: Counter[str] = Counter()

    async def get(self, question: CredentialKey, issue: Callable[[], Awaitable[V]]) -> V:
        """Return the credential issued within the last minute, or call `issue`. A failure is not cached."""
        now = self._clock.monotonic()
        known = self._entries.get(question)
        if known is not None and known.until > now:
            return known.value
        value = await issue()
        self._drop(question)
        self._entries[question] = _Entry(value, now + SHARED_SECONDS)
        self._counts[question.tenant] += 1
        # Entries are ordered by age, so expired ones are at the front.
        while (first := next(iter(self._entries))) and self._entries[first].until <= now:
            self._drop(first)
        # The tenant's own oldest entry goes, never another's: no tenant can push the credentials of others out.
        if self._counts[question.tenant] > MOST_OF_TENANT:
            self._drop(next(key for key in self._entries if key.tenant == question.tenant))
        return value

    def __len__(self) -> int:
        return len(self._entries)

    def _drop(self, question: CredentialKey) -> None:
        if self._entries.pop(question, None) is None:
            return
        self._counts[question.tenant] -= 1
        if not self._counts[question.tenant]:
            del self._counts[question.tenant]
