"""What a proposal rests on, in sentences: the same ones in tables, comments and documents."""

from collections.abc import Iterator
from datetime import timedelta

from keda_py.advice.proposals.advise import Advice, Proposal
from keda_py.advice.proposals.places import Place
from keda_py.advice.proposals.proof import Wait
from keda_py.advice.reports.schedules import MOST_MOMENTS, schedule_lines
from keda_py.core.advice.candidates import Use
from keda_py.core.advice.profile import LEAST_WEEKS
from keda_py.core.advice.usage import window_use
from keda_py.core.savings.statement import Prices, Saved
from keda_py.core.values.times import write_time
from keda_py.terminal.times import spoken_duration

_GIB = 2**30


def evidence_of(advice: Advice, prices: Prices) -> Iterator[str]:
    """All sentences, the most telling first."""
    if advice.use is None or advice.place is None:
        yield from schedule_lines(advice)
        return
    use = advice.use
    if isinstance(advice, Proposal):
        if not advice.candidate.hours:
            yield "no use was seen at all"
        for window in advice.candidate.hours:
            yield window_use(use, window).words
        yield from _proof(advice, prices)
    if advice.lower is not None:
        yield advice.lower.words
    yield from schedule_lines(advice)
    yield from _data(advice, use)
    yield _floor(advice, use)
    if use.change is not None:
        counted = "the weeks before do not count" if use.change.forgets else "all weeks count"
        hours = f"{use.change.gained:.1f} h a week came and {use.change.lost:.1f} h went"
        short = "" if use.change.weeks >= LEAST_WEEKS else "; two weeks show it, so ask whether that is to stay"
        yield f"its hours changed on {use.change.since:%a %Y-%m-%d}: {hours}, {counted}{short}"
    yield f"zone and holidays: {advice.place.description}{_holidays(advice, use)}"
    if isinstance(advice, Proposal):
        yield from (f"given up: {each}" for each in advice.given_up)


def saved_of(advice: Proposal) -> Saved:
    """Return the savings of a week; a trace does not say what a replica requests."""
    proof, request = advice.proof, advice.observed.request
    hours = proof.saved_a_week
    return Saved(
        asleep=hours / max(advice.observed.replicas, 1),
        used=proof.used / proof.weeks,
        saved=hours,
        cpu=hours * (request.cpu or 0.0),
        memory=hours * (request.memory or 0.0) / _GIB,
        lack_cpu=int(request.cpu is None),
        lack_memory=int(request.memory is None),
    )


def _proof(advice: Proposal, prices: Prices) -> Iterator[str]:
    proof = advice.proof
    saved = saved_of(advice)
    money = f", {saved.money(prices):.2f} in money" if prices != Prices() else ""
    share = 1 - proof.used / proof.instead if proof.instead else 0.0
    yield f"replayed over these weeks it saves {saved.saved:.1f} replica hours a week ({share:.0%}){money}"
    if not proof.waits:
        yield "no use would have met it asleep"
    else:
        often = "once" if len(proof.waits) == 1 else f"{len(proof.waits)} times"
        yield f"{often} in {proof.weeks:.1f} weeks use would have met it asleep:"
        yield from (f"  {wait_words(wait, advice.place)}" for wait in proof.waits[:MOST_MOMENTS])
        if len(proof.waits) > MOST_MOMENTS:
            yield f"  and {len(proof.waits) - MOST_MOMENTS} times more"
    if proof.unknown >= 1:
        yield f"of {proof.unknown:.0f} hours asleep in these weeks it is not known whether there was use"


def wait_words(wait: Wait, place: Place) -> str:
    """When, how much, and how long it would have waited."""
    at = wait.at.astimezone(place.zone)
    requests = f", {wait.requests:.0f} requests" if wait.requests else ""
    used, waited = (spoken_duration(timedelta(seconds=each)) for each in (wait.used, wait.waited))
    return f"{at:%a %Y-%m-%d %H:%M}: {used} of use{requests}; {waited} until the hours begin"


def _data(advice: Advice, use: Use) -> Iterator[str]:
    history = use.history
    days = (history.ends - history.origin).days
    span = f"{days} days from {write_time(history.origin)}"
    missing = 1 - history.known
    yield f"data: {span}, in steps of {history.step // 60} min, {missing:.1%} missing; {advice.observed.source}"


def _floor(advice: Advice, use: Use) -> str:
    unit = advice.observed.unit
    if not use.floor.level:
        text = f"idle floor: 0 {unit}, so that all above it is use"
    else:
        text = f"idle floor: {use.floor.level:.3g} {unit}, up to {use.floor.noise:.3g} is not counted as use"
    if use.floor.earlier:
        text += f"; it moved, and was {', then '.join(f'{level:.3g}' for level in use.floor.earlier)} before"
    weeks = (use.history.ends - use.history.origin) / timedelta(days=7)
    spikes = f"; {use.marks.spikes / weeks:.1f} short spikes a week are none either" if use.marks.spikes else ""
    minutes = ", ".join(f":{minute:02}" for minute in use.marks.hourly)
    hourly = f"; what comes each hour, day and night, at {minutes} is a job and no use" if minutes else ""
    return text + spikes + hourly


def _holidays(advice: Advice, use: Use) -> str:
    if not use.holidays:
        return ""
    names = ", ".join(f"{day} {name}" for day, name in use.holidays[:6])
    if not isinstance(advice, Proposal):
        return f"; taken out: {names}"
    closed = "unused, so it sleeps on holidays"
    return f"; taken out: {names} ({closed if advice.candidate.closed else 'it stays awake on holidays'})"
