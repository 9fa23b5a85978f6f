"""A wave of cases is let loose, the innocent tenant is looked at meanwhile, everything is cleaned up, and judged."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import aiohttp

from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import EVENTS
from tests.hostile import innocent, judge, vitals
from tests.hostile.case import Case
from tests.hostile.cleaning import HOSTILE, OURS, clean
from tests.hostile.installation import Installation
from tests.hostile.trial import Trial
from tests.waiting import PAUSE

SCALE_SECONDS, REST_SECONDS = 10.0, 5.0
WRONG = (AssertionError, OSError, KubeError, TimeoutError, aiohttp.ClientError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What went wrong with the whole, and with single cases by their ids; and all that was seen."""

    problems: list[str]
    own: dict[str, str]
    seen: judge.Seen | None

    def summary(self) -> str:
        """The figures of a trial in a line."""
        return judge.summary(self.seen) if self.seen is not None else "the operator could not be measured"


async def run_wave(installation: Installation, cases: Sequence[Case], control: judge.Control | None) -> Verdict:
    """Let the cases loose at once. `control` None: nothing is compared, only seen."""
    if not (installation.sound and installation.operator.alive):
        await installation.restart()
    installation.sound = False
    async with installation.open() as client:
        try:
            verdict = await _run(installation, client, cases)
        except WRONG as error:
            return Verdict(problems=[_state(installation), _text(error)], own={}, seen=None)
    if control is not None and verdict.seen is not None:
        verdict.problems.extend(judge.problems(verdict.seen, control))
    installation.sound = not verdict.problems
    return verdict


async def _run(installation: Installation, client: KubeClient, cases: Sequence[Case]) -> Verdict:
    before = await vitals.measure(installation, client)
    vitals.forget_peak(before.pid)
    since = time.monotonic()
    lures: dict[str, str] = {}
    async with _let_loose(installation, client, cases, lures) as (trials, own):
        problems = await innocent.scales(client, installation.sources, SCALE_SECONDS)
        await _check(trials, own)
        told, page = await _told(client), await vitals.page(installation.operator.metrics)
        report = await installation.sources.report(since)
    problems += await clean(client)
    after = await _measure_rest(installation, client, before)
    log = installation.process.lines[before.log_lines :]
    seen = judge.Seen(
        before=before,
        after=after,
        report=report,
        since=since,
        log=log,
        secrets=installation.secrets | lures,
        told=told,
        page=page,
    )
    return Verdict(problems=problems, own=own, seen=seen)


async def _measure_rest(installation: Installation, client: KubeClient, before: vitals.Vitals) -> vitals.Vitals:
    """After it was told that all is gone the operator has a moment to let go of it."""
    deadline = time.monotonic() + REST_SECONDS
    while True:
        after = await vitals.measure(installation, client)
        if not any(judge.rest(before, after)) or time.monotonic() > deadline:
            return after
        await asyncio.sleep(PAUSE)


@asynccontextmanager
async def _let_loose(
    installation: Installation, client: KubeClient, cases: Sequence[Case], lures: dict[str, str]
) -> AsyncIterator[tuple[list[Trial], dict[str, str]]]:
    """All attacks are on while the block lasts; what went wrong with one by itself is noted under its case's id."""
    own: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        trials = [Trial(case.id, installation, client, stack, lures) for case in cases]
        async with asyncio.TaskGroup() as tasks:
            for case, trial in zip(cases, trials, strict=True):
                tasks.create_task(_begin(case, trial, own))
        yield trials, own


async def _begin(case: Case, trial: Trial, own: dict[str, str]) -> None:
    try:
        await case.attack(trial)
    except WRONG as error:
        own[case.id] = _text(error)
    except ExceptionGroup as group:  # of things done many at once
        wrong, others = group.split(WRONG)
        if others is not None:
            raise others from None
        own[case.id] = _text(_first(wrong))


def _first(error: BaseException | None) -> BaseException:
    assert error is not None
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def _check(trials: Sequence[Trial], own: dict[str, str]) -> None:
    for trial in trials:
        for check in trial.checks:
            try:
                if (waiting := check()) is not None:
                    await waiting
            except WRONG as error:
                own.setdefault(trial.case, _text(error))


def _state(installation: Installation) -> str:
    if installation.process.alive:
        return "the operator cannot be measured"
    return f"the operator has ended; the end of its log:\n{vitals.tail(installation.process.lines)}"


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:2000]}"


async def _told(client: KubeClient) -> str:
    """What the operator writes into the cluster: Events, and the status of the hostile tenant's objects."""
    live = [one for kind in OURS for one in await client.list(kind, HOSTILE)]
    return json.dumps([await client.list(EVENTS), *[one.get("status") for one in live]])
