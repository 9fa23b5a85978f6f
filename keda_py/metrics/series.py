"""Which series belong to which object, so that they end with it: a label set that nobody writes any more misleads.

`prometheus.py` writes through it.
"""

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from prometheus_client.metrics import MetricWrapperBase

Owner = tuple[str, str, str]
"""(kind, namespace, name)."""

Labels = tuple[str, ...]
M = TypeVar("M", bound=MetricWrapperBase)


class Series:
    """The series that were written for each object."""

    def __init__(self) -> None:
        self._by_owner: defaultdict[Owner, set[tuple[MetricWrapperBase, Labels]]] = defaultdict(set)

    def of(self, owner: Owner, metric: M, labels: Labels) -> M:
        """The series of a metric with these labels, remembered as the object's."""
        self._by_owner[owner].add((metric, labels))
        return metric.labels(*labels)

    def forget(self, owner: Owner, gone: Callable[[Labels], bool] = lambda _: True) -> None:
        """Remove the object's series, all of them or those of which `gone` is true."""
        known = self._by_owner.get(owner, set())
        ended = {(metric, labels) for metric, labels in known if gone(labels)}
        for metric, labels in ended:
            with suppress(KeyError):  # two owners may share a series
                metric.remove(*labels)
        known -= ended
        if not known:
            self._by_owner.pop(owner, None)
