"""How far a consumer group is behind, as a metric: pure, in KEDA's whole numbers.

A committed offset that is not there, or lies beyond the end of its partition (the topic was made anew), is invalid:
the group will begin where `reset` says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Partition: TypeAlias = tuple[str, int]
"""Topic and number."""
ResetPolicy: TypeAlias = Literal["latest", "earliest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRules:
    """The settings of a trigger; `threshold` is above 0."""

    threshold: int = 10
    reset: ResetPolicy = "latest"
    allow_idle_consumers: bool = False
    exclude_persistent_lag: bool = False
    zero_on_invalid_offset: bool = False
    limit_to_partitions_with_lag: bool = False
    even_distribution: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """A partition's offsets: where the group goes on (-1: nothing committed), and where the next message goes."""

    committed: int
    end: int

    @property
    def valid(self) -> bool:
        """Whether the committed offset is valid."""
        return 0 <= self.committed <= self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    """`metric` is capped and without persistent lag, `total` neither; `positions` are for the next look."""

    metric: int
    total: int
    positions: Mapping[Partition, int]


def group_lag(offsets: Mapping[Partition, Offsets], rules: LagRules, before: Mapping[Partition, int]) -> GroupLag:
    """The lag over all partitions. `before` are the `positions` of the last look, empty at the first."""
    total, moving, lagging = 0, 0, 0
    for partition, found in offsets.items():
        lag = _lag(found, rules)
        stuck = rules.exclude_persistent_lag and found.valid and before.get(partition) == found.committed
        total += lag
        moving += 0 if stuck else lag
        lagging += lag > 0 and not stuck
    positions = {partition: found.committed for partition, found in offsets.items() if found.valid}
    return GroupLag(metric=_capped(moving, len(offsets), lagging, rules), total=total, positions=positions)


def _lag(found: Offsets, rules: LagRules) -> int:
    if found.valid:
        return found.end - found.committed
    if rules.zero_on_invalid_offset:
        return 0
    # As in KEDA: one message, so that a first consumer starts; without one no offset would ever be committed.
    return 1 if rules.reset == "latest" else found.end


def _capped(lag: int, partitions: int, lagging: int, rules: LagRules) -> int:
    """Cap the lag at one replica per partition, since others would be idle; integer division, as in KEDA."""
    if rules.even_distribution:
        lag = _even_share(lag, partitions, rules.threshold) * rules.threshold
    if rules.allow_idle_consumers and not (rules.limit_to_partitions_with_lag or rules.even_distribution):
        return lag
    most = lagging if rules.limit_to_partitions_with_lag else partitions
    return most * rules.threshold if lag // rules.threshold > most else lag


def _even_share(lag: int, partitions: int, threshold: int) -> int:
    """The smallest number of replicas that is enough and gives each the same number of partitions."""
    return next((share for share in _divisors(partitions) if share * threshold >= lag), partitions)


def _divisors(number: int) -> list[int]:
    small = [one for one in range(1, int(number**0.5) + 1) if number % one == 0]
    return sorted({*small, *(number // one for one in small)})
