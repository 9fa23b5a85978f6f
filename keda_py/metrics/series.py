"""Which series belong to which object, so that they end with it: a label set that nobody writes any more misleads.

`prometheus.py` writes through it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TypeVar

from prometheus_client.metrics import MetricWrapperBase

Owner = tuple[str, str, str]
"""(kind, namespace, name)."""

Labels = tuple[str, ...]
M = TypeVar("M", bound=MetricWrapperBase)

LONGEST_LABEL = 253
"""Characters; Kubernetes' own names are no longer."""


def shortened(text: str) -> str:
    """What a user wrote as a label: a long text would be sent once for each series, at each scrape."""
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 3]}..."


class Series:
    """The series that were written for each object; one that several objects write to ends with the last of them."""

    def __init__(self) -> None:
        self._by_owner: defaultdict[Owner, set[tuple[MetricWrapperBase, Labels]]] = defaultdict(set)
        self._owners: Counter[tuple[MetricWrapperBase, Labels]] = Counter()

    @property
    def owners(self) -> tuple[Owner, ...]:
        """Whose series there are."""
        return tuple(self._by_owner)

    def of(self, owner: Owner, metric: M, labels: Labels) -> M:
        """The series of a metric with these labels, remembered as the object's."""
        known, one = self._by_owner[owner], (metric, labels)
        if one not in known:
            known.add(one)
            self._owners[one] += 1
        return metric.labels(*labels)

    def forget(self, owner: Owner, gone: Callable[[Labels], bool] = lambda _: True) -> None:
        """Remove the object's series, all of them or those of which `gone` is true."""
        known = self._by_owner.get(owner, set())
        ended = {(metric, labels) for metric, labels in known if gone(labels)}
        for one in ended:
            self._owners[one] -= 1
            if not self._owners[one]:
                del self._owners[one]
                one[0].remove(*one[1])
        known -= ended
        if not known:
            self._by_owner.pop(owner, None)
