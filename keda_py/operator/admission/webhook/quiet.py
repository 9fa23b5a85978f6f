"""Lets one log line through in a while, with the number of those that were held back: anybody can cause them."""


class Quiet:
    """One line in so many seconds."""

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds, self._next, self._held = seconds, float("-inf"), 0

    def held_back(self, now: float) -> int | None:
        """How many were held back since the last line; None: this one is, too."""
        if now < self._next:
            self._held += 1
            return None
        self._next, held, self._held = now + self._seconds, self._held, 0
        return held
