"""Statement of savings, for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from rich.text import Text

from keda_py.apis.environments.environment import MOST_WITH_DAYS
from keda_py.core.environment.overrides import OverrideSpec
from keda_py.core.savings.statement import (
    Account,
    Against,
    Prices,
    Saved,
    StatementPeriod,
    Waste,
    saved_of,
    sum_of,
    waste_of,
    waste_of_overrides,
)
from keda_py.core.values.times import write_time
from keda_py.terminal.foreign import printable
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.wrapping import wrap

_KEPT = {
    Against.HPA: "this month and the last",
    Against.ALWAYS: "this month and the last",
    Against.LAST_WEEK: "fifteen days, of which two have to be the same day of the week",
}
_NUMBERS = ("asleep h", "replica h used", "replica h saved", "core h saved", "GiB h saved")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccounts:
    """Accounts of a cluster; Overrides with their namespaces. `waiting` counts the objects without an account yet.

    `without_days` maps an Environment, as namespace/name, to the number of its workloads without an account by days.
    """

    accounts: Sequence[Account]
    overrides: Sequence[tuple[str, OverrideSpec]] = ()
    waiting: int = 0
    without_days: Mapping[str, int] = field(default_factory=dict)


def statement(found: ClusterAccounts, period: StatementPeriod, prices: Prices, width: int) -> Text:
    """Render the statement for a terminal of that width."""
    rows = _rows(found.accounts, period)
    if not rows:
        nothing = f"nothing is accounted {_when(period)}: accounts have {_KEPT[period.against]}"
        sentences = (nothing, *_left_out(found, period), *_expected(found, period))
        return Text("\n", end="").join([_sentence(text, width) for text in sentences])
    priced = prices != Prices()
    columns = [Column(heading="object", cuts=True)]
    columns += [Column(heading=name, goes=goes) for name, goes in zip(_NUMBERS, (0, 3, 0, 2, 1), strict=True)]
    columns += [Column(heading="money")] if priced else []
    lines = [
        _line(title, saved, prices, priced=priced)
        for title, saved in [*_objects(rows), *_sums(rows, "namespace"), *_sums(rows, "environment")]
    ]
    lines.append(_line("all", sum_of(saved for _, saved in rows), prices, priced=priced))
    title = _sentence(f"saved {_when(period)}, as of {_as_of(period)}, {period.against.words}", width)
    title.stylize("bold")
    parts = [title, draw_table(columns, lines, width)]
    sums = [saved for _, saved in rows]
    parts += [
        _sentence(text, width)
        for text in (*_left_out(found, period), *_lacking(sums), *_idle(sums), *_expected(found, period))
    ]
    waste = _waste(found, period)
    if waste:
        parts.append(
            Text("\n", end="").join([Text("waste", "bold"), *(_sentence(_worded(one), width) for one in waste)])
        )
    return Text("\n\n", end="").join(parts)


def _as_of(period: StatementPeriod) -> str:
    return f"{period.until:%a %d %b %Y %H:%M} UTC"


def _expected(found: ClusterAccounts, period: StatementPeriod) -> Iterator[str]:
    """Say when the objects without an account get their first figure."""
    if found.waiting and period.month == f"{period.until:%Y-%m}" and period.against is not Against.LAST_WEEK:
        objects = f"{found.waiting} object{' is' if found.waiting == 1 else 's are'} not accounted yet"
        yield (
            f"{objects}: expect the first figures when they sleep or wake next, of a ScaledObject six hours after the "
            "operator first saw it at the latest"
        )


def _left_out(found: ClusterAccounts, period: StatementPeriod) -> Iterator[str]:
    if period.against is Against.LAST_WEEK:
        for name, count in found.without_days.items():
            why = f"days are kept of {MOST_WITH_DAYS} at most in one Environment"
            yield f"Environment {name}: {count} workloads are left out: {why}; --against hpa counts them"


def _idle(rows: Sequence[Saved]) -> Iterator[str]:
    """Explain why no figure is above 0."""
    if not any(row.asleep for row in rows):
        yield "nothing has slept in this time: expect the first figures when something does"


def _lacking(rows: Sequence[Saved]) -> Iterator[str]:
    """Say for how many objects CPU and memory are known."""
    cpu = len(rows) - sum(row.lack_cpu for row in rows)
    memory = len(rows) - sum(row.lack_memory for row in rows)
    why = "others have no requests that are known"
    if cpu == memory < len(rows):
        yield f"CPU and memory are those of {cpu} of {len(rows)} objects: {why}"
    else:
        for name, known in (("CPU", cpu), ("memory", memory)):
            if known < len(rows):
                yield f"{name} is that of {known} of {len(rows)} objects: {why}"


def document(found: ClusterAccounts, period: StatementPeriod, prices: Prices) -> dict[str, Any]:
    """Build the document: hours, and `money` at the given prices. null is unknown; sums leave unknown parts out."""
    rows = _rows(found.accounts, period)
    return {
        **({} if period.against is Against.LAST_WEEK else {"month": period.month}),
        "asOf": write_time(period.until),
        "counterfactual": period.against.value,
        "against": period.against.words,
        "objects": [
            {
                "kind": one.kind,
                "namespace": one.namespace,
                "name": one.name,
                "environment": one.environment,
                **_fields(saved, prices),
            }
            for one, saved in rows
        ],
        "notAccountedYet": found.waiting,
        **({"withoutDays": dict(found.without_days)} if period.against is Against.LAST_WEEK else {}),
        "total": _fields(sum_of(saved for _, saved in rows), prices),
        "waste": [asdict(one) for one in _waste(found, period)],
    }


def _rows(accounts: Sequence[Account], period: StatementPeriod) -> list[tuple[Account, Saved]]:
    return [(account, saved) for account in accounts if (saved := saved_of(account, period)) is not None]


def _waste(found: ClusterAccounts, period: StatementPeriod) -> list[Waste]:
    return [*waste_of(found.accounts, period.month), *waste_of_overrides(found.overrides, period.until)]


def _when(period: StatementPeriod) -> str:
    return f"in {period.month}" if period.against is not Against.LAST_WEEK else "in the seven days before today"


def _objects(rows: Sequence[tuple[Account, Saved]]) -> list[tuple[str, Saved]]:
    return [(one.title, saved) for one, saved in rows]


def _sums(rows: Sequence[tuple[Account, Saved]], by: str) -> list[tuple[str, Saved]]:
    """Sum up the rows by namespace or Environment; a group of one object has no sum."""

    def key(row: tuple[Account, Saved]) -> str:
        account = row[0]
        if by == "namespace":
            return f"namespace {account.namespace}"
        return f"Environment {account.namespace}/{account.environment}" if account.environment else ""

    groups = ((title, list(group)) for title, group in groupby(sorted(rows, key=key), key=key))
    return [(title, sum_of(saved for _, saved in group)) for title, group in groups if title and len(group) > 1]


def _line(title: str, saved: Saved, prices: Prices, *, priced: bool) -> list[str]:
    numbers = [saved.asleep, saved.used, saved.saved, saved.cpu, saved.memory]
    cells = [f"{number:.1f}" for number in numbers]
    for at, lacks, known in ((3, saved.lack_cpu, saved.cpu), (4, saved.lack_memory, saved.memory)):
        if lacks:
            cells[at] = f"{cells[at]}?" if known else "?"
    return [printable(title), *cells, *([f"{saved.money(prices):.2f}"] if priced else [])]


def _fields(saved: Saved, prices: Prices) -> dict[str, Any]:
    no_cpu, no_memory = saved.lack_cpu > 0 and not saved.cpu, saved.lack_memory > 0 and not saved.memory
    unpriced = (no_cpu and prices.cpu) or (no_memory and prices.memory)
    return {
        "asleepHours": round(saved.asleep, 4),
        "replicaHoursUsed": round(saved.used, 4),
        "replicaHoursSaved": round(saved.saved, 4),
        "coreHoursSaved": None if no_cpu else round(saved.cpu, 4),
        "gibHoursSaved": None if no_memory else round(saved.memory, 4),
        "requestsKnown": not (saved.lack_cpu or saved.lack_memory),
        "money": None if unpriced else round(saved.money(prices), 4),
    }


def _worded(waste: Waste) -> str:
    return f"{waste.title}: {waste.text}"


def _sentence(text: str, width: int) -> Text:
    return Text("\n    ".join(wrap(printable(text), max(width - 4, 20))))
