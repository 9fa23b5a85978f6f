"""Ledgers of a cluster -> a month's statement: what each object saved, sums by namespace and Environment, and waste.

Pure. What a replica requests is of now: a workload that was changed during the month counts as it is. Where that is not
known, CPU and memory are not known either, and sums say of how many objects they lack.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from keda_py.core.savings.ledger import Ledger, Month

ENOUGH = timedelta(days=7).total_seconds()
"""Of observation, before anything is called waste."""
_GIB = 2**30
_ALWAYS = 1.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Of one replica: cores, and bytes."""

    cpu: float
    memory: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One object. `request` None: not known. `minimum` is minReplicaCount, `sleeps` whether it may go to zero."""

    namespace: str
    name: str
    environment: str
    ledger: Ledger
    request: Request | None
    minimum: int
    sleeps: bool
    failing: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"

    def of(self, month: str) -> Month | None:
        """None: nothing is kept of that month."""
        kept = (self.ledger.month, self.ledger.previous)
        return next((one for one in kept if one is not None and one.name == month), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Of an hour of a core, of a GiB, of a replica."""

    cpu: float = 0.0
    memory: float = 0.0
    replica: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Hours: asleep, of replicas used and saved, of cores and GiB saved; `unknown` objects lack the last two."""

    asleep: float = 0.0
    used: float = 0.0
    saved: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    unknown: int = 0

    def plus(self, other: "Saved") -> "Saved":
        """Both."""
        return Saved(
            asleep=self.asleep + other.asleep,
            used=self.used + other.used,
            saved=self.saved + other.saved,
            cpu=self.cpu + other.cpu,
            memory=self.memory + other.memory,
            unknown=self.unknown + other.unknown,
        )

    def money(self, prices: Prices) -> float:
        """At these prices; of what is known."""
        return self.cpu * prices.cpu + self.memory * prices.memory + self.saved * prices.replica


def saved_of(account: Account, month: Month) -> Saved:
    """One object's."""
    saved, request = month.saved / 3600, account.request
    return Saved(
        asleep=month.asleep / 3600,
        used=month.replicas / 3600,
        saved=saved,
        cpu=saved * request.cpu if request is not None else 0.0,
        memory=saved * request.memory / _GIB if request is not None else 0.0,
        unknown=int(request is None),
    )


def sum_of(parts: Iterable[Saved]) -> Saved:
    """All together."""
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
    """Of those that were observed for long enough."""
    for account in accounts:
        observed = account.of(month)
        if account.failing:
            yield Waste(account.title, f"its sources fail now and may keep it up: {', '.join(account.failing)}")
        if observed is None or observed.seconds < ENOUGH:
            continue
        days = f"in {observed.seconds / 86400:.0f} days"
        if account.sleeps and not observed.asleep:
            yield Waste(account.title, f"never slept {days}: a trigger was always active, or a cooldown never over")
        elif not account.sleeps and observed.replicas <= account.minimum * observed.seconds * _ALWAYS:
            text = (
                f"never had more than minReplicaCount: {account.minimum} {days}; let it sleep with minReplicaCount: 0"
            )
            yield Waste(account.title, text)
