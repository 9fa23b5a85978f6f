"""Consecutive failures by object and metric, which decide about a fallback.

The leading replica counts: it begins with the numbers of `status.health` and writes them there
(`operator/scaled_objects/status.py`). The others count nothing and use the status. `readings.py` reports every outcome.
"""

from collections.abc import Callable, Collection, Mapping

from keda_py.core.fallback import FallbackState, count_outcome
from keda_py.core.values.object_key import ObjectKey

Stored = Callable[[ObjectKey], Mapping[str, FallbackState]]
"""Reads the failures that an object's status stores, by metric name."""


class Failures:
    """Counts of failures. `counts` tells whether this replica counts an object's outcomes now."""

    def __init__(self, stored: Stored = lambda key: {}, counts: Callable[[ObjectKey], bool] = lambda key: True) -> None:
        self._stored, self._counts = stored, counts
        self._counted: dict[ObjectKey, dict[str, FallbackState]] = {}

    def counting(self, key: ObjectKey) -> bool:
        """Return whether this replica polls the object, and counts the outcomes."""
        return self._counts(key)

    def of(self, key: ObjectKey, metrics: Collection[str]) -> Mapping[str, FallbackState]:
        """Return the known states of these metrics."""
        known = self._states_of(key) if self._counts(key) else self._stored(key)
        return {name: state for name, state in known.items() if name in metrics}

    def count(self, key: ObjectKey, metric: str, *, failed: bool) -> None:
        """Count a completed reading."""
        if self._counts(key):
            counted = self._states_of(key)
            counted[metric] = count_outcome(counted.get(metric, FallbackState()), failed=failed)

    def keep(self, key: ObjectKey, metrics: Collection[str]) -> None:
        """Drop the states of all other metrics, after an object was built anew."""
        if key in self._counted:
            self._counted[key] = {name: state for name, state in self._counted[key].items() if name in metrics}

    def forget(self, key: ObjectKey) -> None:
        """Drop the counts of an object."""
        self._counted.pop(key, None)

    def clear(self, kind: str) -> None:
        """Drop the counts of a kind, to begin again from the status, where another replica may have counted."""
        for key in [key for key in self._counted if key.kind == kind]:
            del self._counted[key]

    def _states_of(self, key: ObjectKey) -> dict[str, FallbackState]:
        if key not in self._counted:
            self._counted[key] = dict(self._stored(key))
        return self._counted[key]
