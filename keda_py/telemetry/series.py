"""Which series belong to which object, so that they end with it: a label set that is not written any more misleads.

`prometheus.py` writes through it. What a user can make more of without end (triggers, status codes) has a bound for
each object: the page is sent whole at each scrape.

A `Family` is kept small, since most have a few series for each object: prometheus_client keeps 660 bytes for one, a
lock and what every series of the family has in common. Here it is its labels and one number, written on the loop alone;
a scrape reads it in a thread.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, cast

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from keda_py.core.values.object_key import ObjectKey

Labels = tuple[str, ...]
Scope = tuple[str, ...]
"""What of an object a series tells of, as one of its triggers; () for the object itself."""
One = TypeVar("One", covariant=True)


class Parent(Protocol[One]):
    """A `Family`, or a metric of prometheus_client: what makes and removes series."""

    def labels(self, *labels: str) -> One: ...

    def remove(self, *labels: str) -> None: ...


_Known: TypeAlias = tuple["Parent[Any]", Labels, Scope]
"""A series of an object; it is always written with the same scope."""

LONGEST_LABEL = 253
"""Characters; Kubernetes' own names are no longer."""
MOST_LINES, MOST_DETAILED_LINES = 4_000, 20_000
"""Lines of the page for one object: 500 triggers, the most there may be, have 3 000 where each gets two kinds of
answers. With detailed HTTP metrics each has more."""
_HISTOGRAM_LINES = len(Histogram.DEFAULT_BUCKETS) + 2

log = logging.getLogger(__name__)


def shortened(text: str) -> str:
    """What a user wrote as a label: a long text would be sent once for each series, at each scrape."""
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 3]}..."


class Value:
    """The number of one series; a counter's only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def set(self, value: float) -> None:
        """Show this from now on."""
        self.value = float(value)

    def inc(self, amount: float = 1.0) -> None:
        """Show that much more."""
        self.value += amount


class Family(Collector):
    """A gauge or a counter with labels; the page shows a counter as `<name>_total`."""

    def __init__(
        self,
        kind: Literal["gauge", "counter"],
        name: str,
        text: str,
        labels: tuple[str, ...],
        registry: CollectorRegistry | None,
    ) -> None:
        self._name, self._text, self._kind, self._labels = name, text, kind, labels
        self._sample = f"{name}_total" if kind == "counter" else name
        self._values: dict[tuple[str, ...], Value] = {}
        if registry is not None:
            registry.register(self)

    def labels(self, *labels: str) -> Value:
        """The series with these labels; 0 is shown for one that is new."""
        return self.series(labels)

    def series(self, labels: Labels) -> Value:
        """The same."""
        if (found := self._values.get(labels)) is None:
            found = self._values[labels] = Value()
        return found

    def remove(self, *labels: str) -> None:
        """Show the series no longer, if it is shown."""
        self._values.pop(labels, None)

    def describe(self) -> Iterable[Metric]:
        """So that the registry refuses a second family of the same name."""
        yield self._metric()

    def collect(self) -> Iterable[Metric]:
        """Every series as it is now."""
        metric = self._metric()
        for labels, one in list(self._values.items()):
            metric.add_sample(self._sample, dict(zip(self._labels, labels, strict=True)), one.value)
        yield metric

    def _metric(self) -> Metric:
        return Metric(self._name, self._text, self._kind)


class Series:
    """The series that were written for each object; one that several objects write to ends with the last of them.

    An object with `most` lines gets no new ones; what is written to these goes nowhere, and the log says so once.
    """

    def __init__(self, most: int = MOST_LINES) -> None:
        self._most = most
        self._by_owner: defaultdict[ObjectKey, dict[_Known, Any]] = defaultdict(dict)
        self._owners: Counter[_Known] = Counter()
        self._lines: Counter[ObjectKey] = Counter()
        self._full: set[ObjectKey] = set()
        self._nowhere: dict[type[Any], Any] = {}

    @property
    def owners(self) -> tuple[ObjectKey, ...]:
        """Whose series there are."""
        return tuple(self._by_owner)

    def of(self, owner: ObjectKey, metric: Parent[One], labels: Labels, scope: Scope = ()) -> One:
        """The series of a metric with these labels, remembered as the object's."""
        known, one = self._by_owner[owner], (metric, labels, scope)
        if (found := known.get(one)) is None:
            if self._lines[owner] + _lines(metric) > self._most:
                return cast(One, self._left_out(owner, one))
            # Kept: asking the metric for it takes a lock and makes a text of each label.
            found = known[one] = _series_of(metric, labels)
            self._owners[one] += 1
            self._lines[owner] += _lines(metric)
        return cast(One, found)

    def forget(self, owner: ObjectKey, gone: Callable[[Labels], bool] = lambda _: True) -> None:
        """Remove the object's series, all of them or those of which `gone` is true."""
        self._remove(owner, [one for one in self._by_owner.get(owner, ()) if gone(one[1])])

    def keep(self, owner: ObjectKey, scopes: Collection[Scope]) -> None:
        """Remove what tells of other parts of the object than these; what tells of the object itself stays."""
        known = self._by_owner.get(owner, {})
        self._remove(owner, [one for one in known if one[2] and one[2] not in scopes])

    def _remove(self, owner: ObjectKey, ended: list[_Known]) -> None:
        known = self._by_owner.get(owner)
        if known is None:
            return
        for one in ended:
            del known[one]
            self._lines[owner] -= _lines(one[0])
            self._owners[one] -= 1
            if not self._owners[one]:
                del self._owners[one]
                one[0].remove(*one[1])
        if not known:
            del self._by_owner[owner], self._lines[owner]
            self._full.discard(owner)

    def _left_out(self, owner: ObjectKey, one: _Known) -> Any:
        """A series of another object that is there anyway, else one that is not shown."""
        if owner not in self._full:
            self._full.add(owner)
            about = {"kind": owner.kind, "namespace": owner.namespace, "object": owner.name, "limit": self._most}
            log.warning("metrics of an object are left out, it has too many", extra=about)
        if one in self._owners:
            return _series_of(*one[:2])
        kind: Any = type(one[0])
        if kind not in self._nowhere:
            self._nowhere[kind] = Value() if kind is Family else kind("left_out", "is not shown", registry=None)
        return self._nowhere[kind]


def _series_of(metric: Parent[Any], labels: Labels) -> Any:
    """`metric.labels`, to a family without a second tuple of the same labels."""
    return metric.series(labels) if isinstance(metric, Family) else metric.labels(*labels)


def _lines(metric: Parent[Any]) -> int:
    """Of the page, for one series."""
    return _HISTOGRAM_LINES if isinstance(metric, Histogram) else 1
