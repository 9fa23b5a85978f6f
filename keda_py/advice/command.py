"""`keda-py advise` from beginning to end: read histories, find hours, prove them, print."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from keda_py.advice.proposals.advise import Advice, Proposal, advise
from keda_py.advice.proposals.current_hours import CurrentHours, compare
from keda_py.advice.proposals.groups import Group, group_advices
from keda_py.advice.proposals.manifest_workloads import Body, running, with_written
from keda_py.advice.proposals.minimum_schedules import minimum_schedule
from keda_py.advice.proposals.minimums import with_lower_minimum
from keda_py.advice.proposals.places import PlaceRule
from keda_py.advice.proposals.wake_order import StartRecord, WakeOrder, keep_waves, name_with_waves, wake_order
from keda_py.advice.proposals.workload import Observed
from keda_py.advice.reports.document import document
from keda_py.advice.reports.evidence import evidence_of, saved_of
from keda_py.advice.reports.manifests import (
    calendar_texts,
    environment_texts,
    manifests_of,
    override_texts,
    patch_texts,
    schedule_texts,
)
from keda_py.advice.reports.picture import write_page
from keda_py.advice.reports.schedules import schedule_lines
from keda_py.advice.sources.prometheus import RecordedWeeks
from keda_py.advice.sources.reading import Say
from keda_py.advice.sources.starts import read_starts
from keda_py.clock import SystemClock
from keda_py.core.savings.statement import Prices, sum_of
from keda_py.errors import ConfigError
from keda_py.simulation.loads.prometheus import FetchError
from keda_py.terminal.console import Text, console_of
from keda_py.terminal.foreign import json_of, printable
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.wrapping import wrap


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseOptions:
    """Options of the command. `output` is table, json, manifest or html; `folder` "": standard output."""

    places: PlaceRule
    most_waits: float = 2.0
    prices: Prices = field(default_factory=Prices)
    output: str = "table"
    folder: str = ""
    compares: bool = False
    """Whether it is asked how the hours fit that are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceResult:
    """All advice, and the Environments that it makes."""

    advices: tuple[Advice, ...]
    groups: tuple[Group, ...]
    standings: tuple[CurrentHours, ...] | None = None
    """Beside what is written already; None: that was not asked."""


def find(observed: Sequence[Observed], wanted: AdviseOptions, written: Sequence[Body] = ()) -> AdviceResult:
    """`written`: the manifests that there are. Raises ConfigError for a country that is unknown."""
    known = [with_written(each, written) for each in observed]
    found = [_advise(each, wanted, written) for each in known]
    groups, advices = group_advices(found, written)
    standings = tuple(compare(advices, written, wanted.most_waits)) if wanted.compares else None
    return AdviceResult(advices=tuple(advices), groups=tuple(groups), standings=standings)


async def with_wake_orders(
    found: AdviceResult, recorded: RecordedWeeks, weeks: int, written: Sequence[Body], say: Say
) -> AdviceResult:
    """The same with waves from recorded starts; hours stay as they are where those cannot be read."""
    in_waves = {group.namespace: name_with_waves(group.namespace, written) for group in found.groups}
    together = [group for group in found.groups if len(group.advices) > 1 and not in_waves[group.namespace]]
    members = [[running(each.observed.workload, written) for each in group.advices] for group in together]
    try:
        records = await read_starts(recorded, members, SystemClock().now(), weeks, say) if together else []
    except FetchError as error:
        records = [StartRecord(problem=str(error)) for _ in together]
    orders = {
        (group.namespace, group.name): wake_order([each.observed for each in group.advices], names, record)
        for group, names, record in zip(together, members, records, strict=True)
    }
    kept = {namespace: keep_waves(name) if name else WakeOrder() for namespace, name in in_waves.items()}
    groups = [
        replace(group, order=orders.get((group.namespace, group.name), kept[group.namespace])) for group in found.groups
    ]
    return replace(found, groups=tuple(groups))


def _advise(observed: Observed, wanted: AdviseOptions, written: Sequence[Body]) -> Advice:
    advice = with_lower_minimum(advise(observed, wanted.places, wanted.most_waits), written)
    if advice.lower is not None:
        return advice  # 0 without work saves more than any lower minimum
    return replace(advice, schedule=minimum_schedule(advice, written, wanted.places, wanted.most_waits))


def tell(found: AdviceResult, wanted: AdviseOptions) -> int:
    """To standard output, or to files; 1 where hours do not fit. Raises ConfigError where a file cannot be written."""
    if wanted.folder:
        write_files(found, wanted)
    elif found.standings is not None and wanted.output == "table":
        sys.stdout.write("".join(f"{printable(each.words)}\n" for each in found.standings))
    elif wanted.output == "table":
        console = console_of(sys.stdout)
        console.print(page(found.advices, wanted.prices, console.width), soft_wrap=True)
    else:
        sys.stdout.buffer.write(_WRITERS[wanted.output](found, wanted).encode())
    return int(any(not each.fits for each in found.standings or ()))


def write_files(found: AdviceResult, wanted: AdviseOptions) -> None:
    """A file for each manifest and patch. Raises ConfigError."""
    files = {
        **calendar_texts(found.groups),
        **environment_texts(found.groups, wanted.prices),
        **override_texts(found.advices, wanted.prices),
        **schedule_texts(found.advices),
        **patch_texts(found.groups, found.advices),
    }
    for name, text in files.items():
        path = Path(wanted.folder) / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"--out: {path} cannot be written: {error.strerror}; name another folder") from None
        sys.stderr.write(f"written: {path}\n")


def _json(found: AdviceResult, wanted: AdviseOptions) -> str:
    return json_of(document(found.advices, found.groups, wanted.prices, found.standings))


def _manifest(found: AdviceResult, wanted: AdviseOptions) -> str:
    return manifests_of(found.groups, found.advices, wanted.prices)


def _html(found: AdviceResult, wanted: AdviseOptions) -> str:
    return write_page(found.advices, wanted.prices)


_WRITERS: Mapping[str, Callable[[AdviceResult, AdviseOptions], str]] = {
    "json": _json,
    "manifest": _manifest,
    "html": _html,
}


# Advice as a table, and what each proposal rests on below it.

_MOST_SHOWN = 10
"""Proposals whose evidence is printed; the manifests have that of all."""


def page(advices: Sequence[Advice], prices: Prices, width: int) -> Text:
    """Draw the table, the evidence and the sum line."""
    priced = prices != Prices()
    columns = [
        Column(heading="workload"),
        Column(heading="awake", wraps=True),
        Column(heading="zone", goes=2),
        Column(heading="saved h/week", goes=1),
        *([Column(heading="money/week")] if priced else []),
        Column(heading="waits/week"),
    ]
    shown = [each for each in advices if isinstance(each, Proposal)]
    rows = [_row(each, prices, priced=priced) for each in shown]
    parts = [Text("hours that may be proposed; nothing was changed", "bold")]
    if rows:
        total = sum_of(saved_of(each) for each in shown)
        money = [f"{total.money(prices):.2f}"] if priced else []
        parts.append(draw_table(columns, [*rows, ["all", "", "", f"{total.saved:.1f}", *money, ""]], width))
    for each in shown[:_MOST_SHOWN]:
        parts += [Text(printable(each.observed.workload.title), "bold"), *_lines(evidence_of(each, prices), width)]
    if len(shown) > _MOST_SHOWN:
        parts.append(Text(f"-o manifest has the evidence of all {len(shown)} proposals"))
    nothing = [each for each in advices if not isinstance(each, Proposal)]
    if nothing:
        parts.append(Text("nothing is proposed for", "bold"))
        parts += _lines((f"{each.observed.workload.title}: {each.because}" for each in nothing), width)
    lower = [f"{each.observed.workload.title}: {each.lower.words}" for each in nothing if each.lower]
    lower += [f"{each.observed.workload.title}: {line}" for each in nothing for line in schedule_lines(each)]
    if lower:
        parts += [Text("but with fewer replicas", "bold"), *_lines(iter(lower), width)]
    return Text("\n", end="").join(parts)


def _row(advice: Proposal, prices: Prices, *, priced: bool) -> list[str]:
    saved = saved_of(advice)
    awake = ", ".join(map(str, advice.candidate.hours)) or "never (it was not used at all)"
    money = [f"{saved.money(prices):.2f}"] if priced else []
    waits = f"{advice.proof.waits_a_week:.1f}"
    return [advice.observed.workload.title, awake, advice.place.zone.key, f"{saved.saved:.1f}", *money, waits]


def _lines(sentences: Iterator[str], width: int) -> Iterator[Text]:
    for sentence in sentences:
        first, *others = wrap(sentence, width - 4)
        yield Text(f"  {first}")
        yield from (Text(f"    {line}") for line in others)
