"""One row of the list of hostile cases: a name, what it does in a sentence, and how."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.hostile.trial import Trial

Attack = Callable[["Trial"], Awaitable[None]]
"""Begins, and returns when the attack has bitten; it goes on until the trial ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`wave` names the cases that are let loose together; "" is a wave of its own."""

    id: str
    sentence: str
    attack: Attack = field(repr=False)
    wave: str = ""

    @property
    def company(self) -> str:
        return self.wave or self.id
