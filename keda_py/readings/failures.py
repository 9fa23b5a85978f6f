"""Failures in a row, by object and metric: what a fallback is decided by.

Counted by the replica that leads, which begins with what `status.health` says and writes it there
(`operator/scaled_objects/status.py`). The others count nothing: for them the status is all there is. `readings.py`
tells every outcome.
"""

from collections.abc import Callable, Collection, Mapping

from keda_py.core.fallback import FallbackState, count_outcome
from keda_py.core.values.object_key import ObjectKey

Stored = Callable[[ObjectKey], Mapping[str, FallbackState]]
"""What the status of an object says, by metric name."""


class Failures:
    """`counts` says of an object whether its outcomes are counted here, now."""

    def __init__(self, stored: Stored = lambda key: {}, counts: Callable[[ObjectKey], bool] = lambda key: True) -> None:
        self._stored, self._counts = stored, counts
        self._counted: dict[ObjectKey, dict[str, FallbackState]] = {}

    def counting(self, key: ObjectKey) -> bool:
        """Whether this replica polls, and counts what comes of it."""
        return self._counts(key)

    def of(self, key: ObjectKey, metrics: Collection[str]) -> Mapping[str, FallbackState]:
        """Those of these metrics of which something is known."""
        known = self._ours(key) if self._counts(key) else self._stored(key)
        return {name: state for name, state in known.items() if name in metrics}

    def count(self, key: ObjectKey, metric: str, *, failed: bool) -> None:
        """One more completed reading."""
        if self._counts(key):
            counted = self._ours(key)
            counted[metric] = count_outcome(counted.get(metric, FallbackState()), failed=failed)

    def keep(self, key: ObjectKey, metrics: Collection[str]) -> None:
        """An object was built anew: its other metrics are gone."""
        if key in self._counted:
            self._counted[key] = {name: state for name, state in self._counted[key].items() if name in metrics}

    def forget(self, key: ObjectKey) -> None:
        """An object is gone, or is not looked at any more."""
        self._counted.pop(key, None)

    def clear(self, kind: str) -> None:
        """For objects of a kind begin again with what the status says: another replica may have counted meanwhile."""
        for key in [key for key in self._counted if key.kind == kind]:
            del self._counted[key]

    def _ours(self, key: ObjectKey) -> dict[str, FallbackState]:
        if key not in self._counted:
            self._counted[key] = dict(self._stored(key))
        return self._counted[key]
