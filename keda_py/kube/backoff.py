"""Waits between attempts: exponential, jittered, capped; on the loop's time."""

import random


class Backoff:
    """Wait times that double from `first` to `cap` seconds; the jitter keeps many clients from returning together."""

    def __init__(self, first: float = 0.2, cap: float = 15.0) -> None:
        self._first, self._cap = first, cap
        self._next = first

    def next(self) -> float:
        """Return between a half and the whole of the current step, in seconds, and double the step."""
        step, self._next = self._next, min(self._next * 2, self._cap)
        return random.uniform(step / 2, step)

    def reset(self) -> None:
        """Begin again at `first`, after a success."""
        self._next = self._first
