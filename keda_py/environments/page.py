"""One Environment: what it does, what comes next, its waves, its members, and what holds it."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from rich.text import Text

from keda_py.apis.environments.environment import Environment, EnvironmentStatus
from keda_py.environments.members import Members
from keda_py.environments.overview import line_of
from keda_py.environments.words import (
    advice_in_words,
    calendar_of,
    change_of,
    is_partly_up,
    lack_of_members,
    override_in_words,
    phase_of,
    policy_of,
    requests_in_words,
    time_of,
    wrong_of,
)
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.times import Times, spoken_duration
from keda_py.terminal.wrapping import wrap

WAVES = (Column(heading="Wave", style="bold", cuts=True), Column(heading="Ready"), Column(heading="State"))
MEMBERS = (
    Column(heading="Member", style="bold", cuts=True),
    Column(heading="Wave", cuts=True, goes=1),
    Column(heading="State"),
    Column(heading="Ready", goes=2),
    Column(heading="Why", wraps=True),
)


def page(environment: Environment, members: Members, times: Times, width: int) -> Text:
    """Draw the page for a terminal of that width."""
    blocks = [
        Text(
            "\n".join(
                line for sentence in sentences(environment, times, members.warnings) for line in wrap(sentence, width)
            )
        )
    ]
    if environment.status.waves:
        blocks.append(draw_table(WAVES, list(_waves(environment.status)), width))
    rows = [(one.key, one.wave, one.state, one.replicas, one.why_in_words(times)) for one in members.found]
    blocks.append(draw_table(MEMBERS, rows, width) if rows else Text("no member is seen"))
    if members.unread:
        blocks.append(Text(f"you may not list {', '.join(members.unread)} here; their members are left out"))
    return Text("\n\n").join(blocks)


def body_of(environment: Environment, members: Members, times: Times) -> dict[str, Any]:
    """Build the page's document for programs; times are UTC."""
    universal = Times(now=times.now)
    rows = [
        {
            "member": one.key,
            "wave": one.wave,
            "state": one.state,
            "replicas": one.replicas,
            "why": one.why_in_words(universal),
        }
        for one in members.found
    ]
    return {
        **line_of(environment, times).fields(),
        "members": rows,
        "unread": list(members.unread),
        "warnings": list(members.warnings),
    }


def sentences(environment: Environment, times: Times, warnings: Sequence[str] = ()) -> Iterator[str]:
    """Yield `shop/dev: awake since 08:30 CET (07:30 UTC), 7/9 ready, 9/9 up`, and further sentences."""
    meta, status = environment.metadata, environment.status
    since = None if is_partly_up(status) else time_of(status.phase_since)
    ready = "".join(
        f", {sentence} {what}" for sentence, what in ((status.ready, "ready"), (status.up, "up")) if sentence
    )
    yield f"{meta.namespace}/{meta.name}: {phase_of(status)}{f' since {times.spoken(since)}' if since else ''}{ready}"
    yield from (f"wrong: {sentence}" for sentence in wrong_of(status))
    yield from (f"warning: {sentence}" for sentence in warnings)
    yield from lack_of_members(environment)
    if status.because and status.override is None:
        yield f"because: {status.because} ({calendar_of(environment)})"
    if status.override is not None:
        yield f"override: {override_in_words(status.override, times)} (Override {status.override.name})"
    yield from (f"policy: {sentence}" for sentence in policy_of(environment))
    yield f"next: {_next(status, times)}"
    yield from _wakes(status, times)
    yield from requests_in_words(environment, times)
    yield from advice_in_words(environment)


def _next(status: EnvironmentStatus, times: Times) -> str:
    found = change_of(status)
    if found is None:
        return "nothing is known to come"
    because = status.next_change.because if status.next_change is not None else ""
    return f"{found[0]} {times.moment(found[1])}, in {times.until(found[1])}{f': {because}' if because else ''}"


def _wakes(status: EnvironmentStatus, times: Times) -> Iterator[str]:
    last = status.last_wake
    began = time_of(last.started) if last is not None else None
    if last is not None and began is not None:
        took = spoken_duration(timedelta(seconds=last.seconds))
        late = "" if last.ready else "; a wave was not waited for any longer"
        yield f"last wake: {times.spoken(began)}, took {took}{late}"
    if status.lead:
        yield f"wakes {status.lead} early, to be ready in time"


def _waves(status: EnvironmentStatus) -> Iterator[tuple[str, str, str]]:
    at_work = status.transition.wave if status.transition is not None else 0
    for number, wave in enumerate(status.waves, start=1):
        state = "not ready in time" if wave.timed_out else "its turn" if number == at_work else ""
        yield wave.name, f"{wave.ready}/{wave.total}", state
