"""A statement for people and programs."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.text import Text

from keda_py.core.savings.statement import Account, Prices, Saved, Waste, saved_of, sum_of, waste_of
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.wrapping import printable, wrap

AGAINST = "against the HPA alone, which has no less than minReplicaCount, and 1 at least"
_NUMBERS = ("asleep h", "replica h used", "replica h saved", "core h saved", "GiB h saved")


def statement(accounts: Sequence[Account], month: str, prices: Prices, width: int) -> Text:
    """The whole page."""
    rows = _rows(accounts, month)
    if not rows:
        return Text(f"nothing is accounted in {month}: `status.kedaPySavings` has this month and the last")
    priced = prices != Prices()
    columns = [Column(heading="object")]
    columns += [Column(heading=name, goes=goes) for name, goes in zip(_NUMBERS, (3, 4, 0, 2, 1), strict=True)]
    columns += [Column(heading="money")] if priced else []
    lines = [
        _line(title, saved, prices, priced=priced)
        for title, saved in [*_objects(rows), *_sums(rows, "namespace"), *_sums(rows, "environment")]
    ]
    lines.append(_line("all", sum_of(saved for _, saved in rows), prices, priced=priced))
    parts = [Text(f"saved in {month}, {AGAINST}", "bold"), draw_table(columns, lines, width)]
    unknown = sum(saved.unknown for _, saved in rows)
    if unknown:
        known = f"{len(rows) - unknown} of {len(rows)} objects"
        parts.append(_told(f"CPU and memory are those of {known}: others have no requests that are known", width))
    waste = list(waste_of(accounts, month))
    if waste:
        parts.append(Text("\n", end="").join([Text("waste", "bold"), *(_told(_worded(one), width) for one in waste)]))
    return Text("\n\n", end="").join(parts)


def document(accounts: Sequence[Account], month: str, prices: Prices) -> dict[str, Any]:
    """For programs; hours, `money` at the prices given. null is not known, of a sum it is at least what is told."""
    rows = _rows(accounts, month)
    return {
        "month": month,
        "against": AGAINST,
        "objects": [
            {"namespace": one.namespace, "name": one.name, "environment": one.environment, **_fields(saved, prices)}
            for one, saved in rows
        ],
        "total": _fields(sum_of(saved for _, saved in rows), prices),
        "waste": [asdict(one) for one in waste_of(accounts, month)],
    }


def _rows(accounts: Sequence[Account], month: str) -> list[tuple[Account, Saved]]:
    return [(one, saved_of(one, kept)) for one in accounts if (kept := one.of(month)) is not None]


def _objects(rows: Sequence[tuple[Account, Saved]]) -> list[tuple[str, Saved]]:
    return [(one.title, saved) for one, saved in rows]


def _sums(rows: Sequence[tuple[Account, Saved]], by: str) -> list[tuple[str, Saved]]:
    """Of each namespace, or Environment; none of one object alone."""

    def key(row: tuple[Account, Saved]) -> str:
        account = row[0]
        if by == "namespace":
            return f"namespace {account.namespace}"
        return f"Environment {account.namespace}/{account.environment}" if account.environment else ""

    groups = ((title, list(group)) for title, group in groupby(sorted(rows, key=key), key=key))
    return [(title, sum_of(saved for _, saved in group)) for title, group in groups if title and len(group) > 1]


def _line(title: str, saved: Saved, prices: Prices, *, priced: bool) -> list[str]:
    numbers = [saved.asleep, saved.used, saved.saved, saved.cpu, saved.memory]
    told = [f"{number:.1f}" for number in numbers]
    if saved.unknown:
        told[3:] = [f"{text}?" if saved.cpu else "?" for text in told[3:]]
    return [printable(title), *told, *([f"{saved.money(prices):.2f}"] if priced else [])]


def _fields(saved: Saved, prices: Prices) -> dict[str, Any]:
    lacks = saved.unknown > 0 and not saved.cpu
    return {
        "asleepHours": round(saved.asleep, 4),
        "replicaHoursUsed": round(saved.used, 4),
        "replicaHoursSaved": round(saved.saved, 4),
        "coreHoursSaved": None if lacks else round(saved.cpu, 4),
        "gibHoursSaved": None if lacks else round(saved.memory, 4),
        "requestsKnown": saved.unknown == 0,
        "money": None if lacks and (prices.cpu or prices.memory) else round(saved.money(prices), 4),
    }


def _worded(waste: Waste) -> str:
    return f"{waste.title}: {waste.text}"


def _told(text: str, width: int) -> Text:
    return Text("\n    ".join(wrap(printable(text), max(width - 4, 20))))
