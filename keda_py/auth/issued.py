"""Credentials made on request (tokens, certificates): one answer serves for a minute, and one tenant.

A trigger is resolved again after each failed reading. What is issued anew then would differ every time, look like a
change, and have the scaler renewed and its source asked twice with every poll.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from keda_py.clock import Clock
from keda_py.net.credential_keys import CredentialKey

SHARED_SECONDS = 60.0
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    value: V
    until: float


class Issued(Generic[V]):
    """Answers by question, who asks and by which credential, on the clock of decisions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[CredentialKey, _Entry[V]] = {}

    async def get(self, question: CredentialKey, issue: Callable[[], Awaitable[V]]) -> V:
        """What was issued within the last minute, or what `issue` gives now. A failure is not kept."""
        now = self._clock.monotonic()
        self._entries = {key: entry for key, entry in self._entries.items() if entry.until > now}
        if question not in self._entries:
            self._entries[question] = _Entry(await issue(), now + SHARED_SECONDS)
        return self._entries[question].value
