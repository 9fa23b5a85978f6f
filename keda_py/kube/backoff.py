"""How long to wait before trying again: exponential, jittered, capped; on the loop's time."""

import random


class Backoff:
    """Seconds to wait, doubling from `first` to `cap`; the jitter keeps many clients from returning together."""

    def __init__(self, first: float = 0.2, cap: float = 15.0) -> None:
        self._first, self._cap = first, cap
        self._next = first

    def next(self) -> float:
        """The next wait: between a half and the whole of the current step."""
        step, self._next = self._next, min(self._next * 2, self._cap)
        return random.uniform(step / 2, step)

    def reset(self) -> None:
        """Things work again."""
        self._next = self._first
