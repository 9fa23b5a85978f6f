"""Ledgers of a cluster -> a statement: the savings of each object, sums by namespace and Environment, and waste.

A saving is a difference to a stated counterfactual: `Against`. Against anything but the HPA alone it may be negative,
if more was used.

Pure. Requests of replicas are the current ones: a workload that was changed during the month counts with its present
requests. Without known requests its CPU and memory are not known either, and sums count the objects that lack them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from keda_py.core.environment.overrides import OverrideSpec, OverrideState
from keda_py.core.savings.ledger import Day, Ledger, Month

ENOUGH = timedelta(days=7).total_seconds()
"""Seconds of observation before anything is called waste."""
SCALED_OBJECT = "ScaledObject"
_GIB = 2**30
_ALWAYS = 1.01
_WORTH_TELLING = timedelta(hours=1).total_seconds()
_WEEK = timedelta(days=7)


class Against(StrEnum):
    """The counterfactual that savings are measured against."""

    HPA = "hpa"
    ALWAYS = "always"
    LAST_WEEK = "last-week"

    @property
    def words(self) -> str:
        """A description for readers of a statement."""
        match self:
            case Against.HPA:
                return (
                    "against the HPA alone, which has no less than minReplicaCount, and 1 at least; of a workload "
                    "without a ScaledObject against the count that its Environment gives back"
                )
            case Against.ALWAYS:
                return "against one replica all the time, without any autoscaler; what was used above that counts"
            case Against.LAST_WEEK:
                return "against the same days of the week before, UTC; of days that were observed in both"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementPeriod:
    """`month` as a ledger names it; `until` is the end of the seven days for LAST_WEEK."""

    month: str
    until: datetime
    against: Against = Against.HPA


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest:
    """The requests of one replica: cores, and bytes. None: not known, for example if a container requests none."""

    cpu: float | None = None
    memory: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One object with its ledger. It may have `minimum` to `maximum` replicas, or none if it `sleeps`."""

    namespace: str
    name: str
    environment: str
    ledger: Ledger
    request: ResourceRequest
    minimum: int
    maximum: int
    sleeps: bool
    failing: tuple[str, ...] = ()
    kind: str = SCALED_OBJECT

    @property
    def title(self) -> str:
        """Namespace and name, after the kind unless that is ScaledObject."""
        name = f"{self.namespace}/{self.name}"
        return name if self.kind == SCALED_OBJECT else f"{self.kind} {name}"

    def of(self, month: str) -> Month | None:
        """Return the sums of that month; None if the ledger has none."""
        kept = (self.ledger.month, self.ledger.previous)
        return next((one for one in kept if one is not None and one.name == month), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of a core, a GiB and a replica for one hour."""

    cpu: float = 0.0
    memory: float = 0.0
    replica: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Hours asleep, of replicas used and saved, of cores and GiB saved; `lack_*`: objects without known requests."""

    asleep: float = 0.0
    used: float = 0.0
    saved: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    lack_cpu: int = 0
    lack_memory: int = 0

    def plus(self, other: "Saved") -> "Saved":
        return Saved(
            asleep=self.asleep + other.asleep,
            used=self.used + other.used,
            saved=self.saved + other.saved,
            cpu=self.cpu + other.cpu,
            memory=self.memory + other.memory,
            lack_cpu=self.lack_cpu + other.lack_cpu,
            lack_memory=self.lack_memory + other.lack_memory,
        )

    def money(self, prices: Prices) -> float:
        """Return the price of the savings, as far as they are known."""
        return self.cpu * prices.cpu + self.memory * prices.memory + self.saved * prices.replica


def saved_of(account: Account, period: StatementPeriod) -> Saved | None:
    """Return the savings of one object; None if its ledger has no sums of that time."""
    if period.against is Against.LAST_WEEK:
        return _since_last_week(account, period.until)
    month = account.of(period.month)
    if month is None:
        return None
    if period.against is Against.HPA:
        return _worth(account, month.asleep, month.replicas, month.saved)
    return _worth(account, month.asleep, month.replicas, month.seconds * min(1, account.maximum) - month.replicas)


def _since_last_week(account: Account, until: datetime) -> Saved | None:
    """Savings of the seven days before `until`'s, each against the replicas of the same day a week before."""
    days = {day.name: day for day in account.ledger.days}
    pairs: list[tuple[Day, Day]] = []
    for back in range(1, 8):
        at = until - timedelta(days=back)
        now, then = (days.get(f"{day:%Y-%m-%d}") for day in (at, at - _WEEK))
        if now is not None and then is not None and then.seconds:
            pairs.append((now, then))
    if not pairs:
        return None
    instead = sum(then.replicas / then.seconds * now.seconds for now, then in pairs)
    used = sum(now.replicas for now, _ in pairs)
    return _worth(account, sum(now.asleep for now, _ in pairs), used, instead - used)


def _worth(account: Account, asleep: float, used: float, saved: float) -> Saved:
    """Convert replica-seconds into hours, cores and GiB of the account's requests."""
    hours, request = saved / 3600, account.request
    return Saved(
        asleep=asleep / 3600,
        used=used / 3600,
        saved=hours,
        cpu=hours * (request.cpu or 0.0),
        memory=hours * (request.memory or 0.0) / _GIB,
        lack_cpu=int(request.cpu is None),
        lack_memory=int(request.memory is None),
    )


def sum_of(parts: Iterable[Saved]) -> Saved:
    """Add the savings of many objects."""
    total = Saved()
    for part in parts:
        total = total.plus(part)
    return total


@dataclass(frozen=True, slots=True)
class Waste:
    """An object that could cost less, and how."""

    title: str
    text: str


def waste_of(accounts: Sequence[Account], month: str) -> Iterator[Waste]:
    """Yield waste of accounts that were observed for long enough, and of those whose sources fail."""
    for account in accounts:
        observed = account.of(month)
        if account.failing:
            yield Waste(account.title, f"its sources fail now and may keep it up: {', '.join(account.failing)}")
        if observed is not None and account.sleeps and observed.failing >= _WORTH_TELLING:
            hours = f"{observed.failing / 3600:.1f} h"
            yield Waste(account.title, f"was up for {hours} only because its sources failed: give it a fallback of 0")
        if observed is None or observed.seconds < ENOUGH or account.kind != SCALED_OBJECT:
            continue
        days = f"in {observed.seconds / 86400:.0f} days"
        if account.sleeps and not observed.asleep:
            yield Waste(account.title, f"never slept {days}: a trigger was always active, or a cooldown never over")
        elif not account.sleeps and observed.replicas <= account.minimum * observed.seconds * _ALWAYS:
            text = (
                f"never had more than minReplicaCount: {account.minimum} {days}; let it sleep with minReplicaCount: 0"
            )
            yield Waste(account.title, text)


def waste_of_overrides(overrides: Iterable[tuple[str, OverrideSpec]], now: datetime) -> Iterator[Waste]:
    """Yield Overrides that kept something up, by namespace; only existing ones, and ended ones go after a day."""
    for namespace, one in overrides:
        ends = now if one.ends is None else min(one.ends, now)
        up = one.state is OverrideState.AWAKE or (one.state is OverrideState.EXACTLY and one.replicas)
        seconds = (ends - one.starts).total_seconds()
        if up and seconds >= _WORTH_TELLING:
            text = f"kept awake for {seconds / 3600:.1f} h, in its hours or not, by {one.because}"
            yield Waste(f"{namespace}/{one.target.name}", text)
