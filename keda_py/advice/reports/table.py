"""Advice as a table, and what each proposal rests on below it."""

from collections.abc import Iterator, Sequence

from keda_py.advice.proposals.advise import Advice, Proposal
from keda_py.advice.reports.evidence import evidence_of, saved_of
from keda_py.core.savings.statement import Prices, sum_of
from keda_py.terminal.console import Text
from keda_py.terminal.foreign import printable
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.wrapping import wrap

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
