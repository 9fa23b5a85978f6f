"""Series of each object, so that they end with it: a label set that is no longer written misleads.

`prometheus.py` writes through it. Series that users can multiply without end (triggers, status codes) are bounded per
object, because each scrape sends the whole page.

A `Family` is small, since most have a few series for each object: prometheus_client takes 660 bytes for a series, with
a lock and everything that all series of a family share. Here a series is its labels and one number, written on the loop
only; a scrape reads it in a thread.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, cast

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from keda_py.core.values.object_key import ObjectKey

Labels = tuple[str, ...]
Scope = tuple[str, ...]
"""Part of an object that a series describes, such as a trigger; () for the object itself."""
One = TypeVar("One", covariant=True)


class Parent(Protocol[One]):
    """Source of series: a `Family`, or a metric of prometheus_client."""

    def labels(self, *labels: str) -> One: ...

    def remove(self, *labels: str) -> None: ...


_Known: TypeAlias = tuple["Parent[Any]", Labels, Scope]
"""Series of an object: metric, labels and scope, of which labels determine the scope."""

LONGEST_LABEL = 253
"""Characters; no name in Kubernetes is longer."""
# Lines of the page for one object: 500 triggers, the maximum, have 3 000 if each gets two kinds of answers; with
# detailed HTTP metrics each has more.
MOST_LINES, MOST_DETAILED_LINES = 4_000, 20_000
_MOST_COMPARED = 16
_HISTOGRAM_LINES = len(Histogram.DEFAULT_BUCKETS) + 2

log = logging.getLogger(__name__)


def shortened(text: str) -> str:
    """Shorten a label that a user wrote: a long text would be sent once per series at each scrape."""
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 3]}..."


class Value:
    """Number of one series; `owners` counts the objects that it is of."""

    __slots__ = ("owners", "value")

    def __init__(self) -> None:
        self.owners, self.value = 0, 0.0

    def set(self, value: float) -> None:
        self.value = float(value)

    def inc(self, amount: float = 1.0) -> None:
        self.value += amount


class Family(Collector):
    """Gauge or counter with labels; the page shows a counter as `<name>_total`."""

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
        """Return the series with these labels, made with 0 if it is new."""
        return self.series(labels)

    def series(self, labels: Labels) -> Value:
        """Return the series for a tuple of labels; `labels` without building another tuple."""
        if (found := self._values.get(labels)) is None:
            found = self._values[labels] = Value()
        return found

    def has(self, labels: Labels) -> bool:
        """Whether there is a series with these labels."""
        return labels in self._values

    def remove(self, *labels: str) -> None:
        """Remove the series, if it exists."""
        self._values.pop(labels, None)

    def describe(self) -> Iterable[Metric]:
        """Yield the name, by which the registry refuses a second family of the same name."""
        yield self._metric()

    def collect(self) -> Iterable[Metric]:
        """Yield the current values."""
        metric = self._metric()
        # A copy: a scrape runs in a thread while the loop may add series.
        for labels, series in list(self._values.items()):
            metric.add_sample(self._sample, dict(zip(self._labels, labels, strict=True)), series.value)
        yield metric

    def _metric(self) -> Metric:
        return Metric(self._name, self._text, self._kind)


class Series:
    """Series written for each object; one that several objects share ends with the last of them.

    An object with `most` lines gets no new series; writes to further ones are discarded, and the log says so once.
    """

    def __init__(self, most: int = MOST_LINES) -> None:
        self._most = most
        self._by_owner: defaultdict[ObjectKey, dict[_Known, Any]] = defaultdict(dict)
        self._owners: Counter[_Known] = Counter()
        """Of series that are no `Value`, which counts its owners itself: an entry here takes 100 bytes."""
        self._lines: Counter[ObjectKey] = Counter()
        self._full: set[ObjectKey] = set()
        self._nowhere: dict[type[Any], Any] = {}

    @property
    def owners(self) -> tuple[ObjectKey, ...]:
        """Return the objects that have series."""
        return tuple(self._by_owner)

    def of(self, owner: ObjectKey, metric: Parent[One], labels: Labels, scope: Scope = ()) -> One:
        """Return the series of a metric with these labels, recorded as the object's."""
        known, wanted = self._by_owner[owner], (metric, labels, scope)
        if (found := known.get(wanted)) is None:
            # A tenant chooses triggers and their names: without a bound one object could make the page too large to
            # scrape.
            if self._lines[owner] + _lines(metric) > self._most:
                return cast(One, self._left_out(owner, wanted))
            wanted = (metric, *_kept_already(known, labels, scope))
            # Cached: the metric would take a lock and convert each label to text at every write.
            found = known[wanted] = _series_of(metric, wanted[1])
            self._count(wanted, found, 1)
            self._lines[owner] += _lines(metric)
        return cast(One, found)

    def forget(self, owner: ObjectKey, gone: Callable[[Labels], bool] = lambda _: True) -> None:
        """Remove the object's series, all of them or those whose labels satisfy `gone`."""
        self._remove(owner, [series for series in self._by_owner.get(owner, ()) if gone(series[1])])

    def keep(self, owner: ObjectKey, scopes: Collection[Scope]) -> None:
        """Remove the series of other scopes than these; series of the object itself stay."""
        known = self._by_owner.get(owner, {})
        self._remove(owner, [series for series in known if series[2] and series[2] not in scopes])

    def _remove(self, owner: ObjectKey, ended: list[_Known]) -> None:
        known = self._by_owner.get(owner)
        if known is None:
            return
        for series in ended:
            found = known.pop(series)
            self._lines[owner] -= _lines(series[0])
            if not self._count(series, found, -1):
                series[0].remove(*series[1])
        if not known:
            del self._by_owner[owner], self._lines[owner]
            self._full.discard(owner)

    def _count(self, series: _Known, found: Any, more: int) -> int:
        """Add to the number of objects that a series is of; return it."""
        if isinstance(found, Value):
            found.owners += more
            return found.owners
        self._owners[series] += more
        return self._owners[series] or self._owners.pop(series)

    def _left_out(self, owner: ObjectKey, series: _Known) -> Any:
        """Return the series if another object has it, else series that is not shown."""
        if owner not in self._full:
            self._full.add(owner)
            about = {"kind": owner.kind, "namespace": owner.namespace, "object": owner.name, "limit": self._most}
            log.warning("metrics of an object are left out, it has too many", extra=about)
        metric, labels, _ = series
        if metric.has(labels) if isinstance(metric, Family) else series in self._owners:
            return _series_of(metric, labels)
        kind: Any = type(metric)
        if kind not in self._nowhere:
            self._nowhere[kind] = Value() if kind is Family else kind("left_out", "is not shown", registry=None)
        return self._nowhere[kind]


def _kept_already(known: Iterable[_Known], labels: Labels, scope: Scope) -> tuple[Labels, Scope]:
    """Return equal labels of one of the object's first series, or these: most of its series have one of two tuples."""
    labels = next((one[1] for one in islice(known, _MOST_COMPARED) if one[1] == labels), labels)
    return labels, labels if scope == labels else scope


def _series_of(metric: Parent[Any], labels: Labels) -> Any:
    """Call `metric.labels`, or `series` of a Family, which saves a second tuple of the labels."""
    return metric.series(labels) if isinstance(metric, Family) else metric.labels(*labels)


def _lines(metric: Parent[Any]) -> int:
    """Return how many lines of the page one series takes."""
    return _HISTOGRAM_LINES if isinstance(metric, Histogram) else 1
