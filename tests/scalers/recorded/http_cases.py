"""The recorded exchanges of every type: what KEDA asks and makes of the answers, and what ours does.

An exchange is played against the servers of a `Stage`: built and opened as the engine does, then read `polls` times for
each metric. What is asked while building counts to the first round: it is no matter to a user when a connection opens.
"""

import asyncio
import json
import os
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import pytest
from yarl import URL

from keda_py.answers.work_context import working
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.clock import FakeClock
from keda_py.core.metric_names import NamedMetric, name_metrics
from keda_py.core.spec import build_spec
from keda_py.core.values.quantity import LARGEST_MILLI, target_milli, to_milli
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.http import HttpClientSpec
from keda_py.net.proxies import Proxies
from keda_py.readings.guard import guard
from keda_py.readings.scaler_set import GRACE_SECONDS
from keda_py.sdk.advanced import PodIdentity, Trigger
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.registry import AnyScaler, build
from keda_py.testing import A_SATURDAY, IdentityRule, Objects, shared_context
from tests.scalers.recorded.comparison import unlike_requests
from tests.scalers.recorded.scripts import Asked, Script
from tests.scalers.recorded.stage import Stage
from tests.scalers.triggers import trigger_of

T = TypeVar("T")
GOLDEN = Path(__file__).parents[2] / "golden" / "scaler_http.json"
EXCHANGES = os.environ.get("EXCHANGES", "")
"""Which are played: those of tier 1, `all`, or the one of this name."""
ENDS_EARLY, ENDS_LATE = "refused earlier than by KEDA", "refused later than by KEDA"
"""Differences of a kind of their own: both refuse, one when the scaler is built, one at the first reading."""
_PATIENCE, _STEP = 0.02, 0.25
"""Seconds that a call may take before virtual time goes on, and how far it goes each time."""
_PLAY = "playing"
_BROKEN = f"{_PLAY}: unexpected "
"""So the engine's guard calls what is neither ConfigError nor ScalerError: it equals no error of KEDA."""
QUICKER = 0.25
"""Of the time-outs and delays that the recording measured in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One reading of one metric: an error, or a value in thousandths and whether it is active."""

    metric: str
    milli: int = 0
    active: bool = False
    error: str = ""
    asked: Sequence[Asked] = ()


@dataclass(slots=True, kw_only=True)
class Played:
    """The outcome of a played case. `refused`: it could not be built or opened; `metrics` are name, target type and target."""

    refused: str = ""
    metrics: list[tuple[str, str, int]] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    asked_first: Sequence[Asked] = ()


@dataclass(frozen=True, slots=True)
class HttpCase:
    """One exchange of a type."""

    type: str
    recorded: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Unique within the type."""
        return str(self.recorded["name"])

    @property
    def is_wanted(self) -> bool:
        return (
            self.name == EXCHANGES if EXCHANGES not in ("", "all") else EXCHANGES == "all" or self.recorded["tier"] == 1
        )

    async def difference(self, stage: Stage) -> str:
        """Describe the difference from the recording, "" if there is none."""
        given = self.given(stage)
        played = await self.play(stage, given)
        return "".join(f"\n    {problem}" for problem in _differences(given, played))

    def given(self, stage: Stage, **other: Any) -> dict[str, Any]:
        """The exchange with the addresses of the stage, and with other parts where they are named."""
        written = {key: value for key, value in self.recorded.items() if key != "name"} | other
        return dict(stage.filled(written))

    async def play(self, stage: Stage, given: Mapping[str, Any]) -> Played:
        """Play the case with our scaler, and leave nothing open."""
        clock, timeout = FakeClock(A_SATURDAY), given.get("httpTimeoutMs")
        script = Script(given["answers"], QUICKER if timeout else 1.0)
        stage.begin(script, clock)
        proxy = URL(stage.proxy) if given.get("proxy") else URL(stage.filled("{{DEADURL}}"))
        http = HttpClientSpec(
            timeout=timeout / 1000 * QUICKER if timeout else 3.0, proxies=Proxies(http=proxy, https=proxy)
        )
        with _environment(stage, proxy, given.get("processEnv", {})):
            async with shared_context(
                clock=clock,
                kube=Objects(endpointslices=[_endpoint_slice(one) for one in given.get("endpointSlices", ())]),
                http=http,
                identities=IdentityRule(anywhere=True),
                tls=stage.papers.tls,
            ) as lent:
                try:
                    return await self._with_scaler(lent, given, script)
                finally:
                    script.over.set()

    async def _with_scaler(self, lent: SharedContext, given: Mapping[str, Any], script: Script) -> Played:
        context = EngineContext(
            shared_context=lent,
            namespace="ns",
            scaled_object="app",
            trigger_index=given.get("triggerIndex", 0),
            metric_type=given.get("metricType", ""),
            as_metric_source=given.get("asMetricSource", False),
            pod_identity=PodIdentity(**given.get("podIdentity", {})),
        )
        trigger = trigger_of(self.type, given.get("metadata", {}), env=given.get("env"), auth=given.get("auth"))
        played, scaler = Played(), None
        with working(context.namespace):
            try:
                scaler = await guard(_built(trigger, context), context.http_timeout, what=_PLAY)
                metrics = await self._opened(scaler, context, played)
                played.asked_first = tuple(script.asked)
                await _poll(scaler, metrics, given, script, played)
            except (ConfigError, ScalerError) as error:
                played.refused, played.asked_first = str(error), tuple(script.asked)
            finally:
                if scaler is not None:
                    await scaler.aclose()
                await context.aclose()
        return played

    async def _opened(self, scaler: AnyScaler, context: EngineContext, played: Played) -> Sequence[NamedMetric]:
        seconds = context.http_timeout + GRACE_SECONDS
        clock = context.clock
        assert isinstance(clock, FakeClock)
        await while_time_passes(clock, guard(scaler.open(), seconds, what=_PLAY))
        specs = await guard(scaler.specs(), seconds, what=_PLAY)
        metrics = name_metrics(_spec(self.type, context), [()] * context.trigger_index + [specs]).external
        played.metrics = [(one.name, one.metric_type, target_milli(one.target)) for one in metrics]
        return metrics


@cache
def recorded_exchanges() -> Mapping[str, tuple[HttpCase, ...]]:
    """Every type that was recorded, with its exchanges."""
    types = json.loads(GOLDEN.read_text(encoding="utf-8"))["types"]
    return {name: tuple(HttpCase(name, case) for case in cases) for name, cases in types.items()}


def exchange_that_reads(trigger_type: str) -> HttpCase:
    """The first that ends with a value above 0; of a type that KEDA never read, the first that may be."""
    cases = recorded_exchanges()[trigger_type]
    read = (case for case in cases if any(one.get("value", 0) > 0 for one in case.recorded.get("results", ())))
    built = (case for case in cases if "error" not in case.recorded.get("build", {}))
    return next(read, None) or next(built)


async def while_time_passes(clock: FakeClock, call: Coroutine[Any, Any, T]) -> T:
    """Await the call while virtual time goes on fast wherever it sleeps."""

    async def outcome() -> T | ConfigError | ScalerError:
        try:
            return await call
        except (ConfigError, ScalerError) as error:
            return error

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(outcome())
        while not task.done():
            await asyncio.wait({task}, timeout=_PATIENCE)
            if not task.done():
                await clock.advance(_STEP)
    result = task.result()
    if isinstance(result, ConfigError | ScalerError):
        raise result
    return result


async def _built(trigger: Trigger, context: EngineContext) -> AnyScaler:
    return build(trigger, context)


async def _poll(
    scaler: AnyScaler, metrics: Sequence[NamedMetric], given: Mapping[str, Any], script: Script, played: Played
) -> None:
    clock = scaler.context.clock
    assert isinstance(clock, FakeClock)
    for turn in range(0 if given.get("buildOnly") else given.get("polls", 1)):
        if turn and "callGapMs" in given:
            await clock.advance(given["callGapMs"] / 1000)
        for metric in metrics:
            before = len(script.asked)
            got = await while_time_passes(clock, _read(scaler, metric))
            got["asked"] = tuple(script.asked[before:])
            played.rounds.append(Round(metric=metric.name, **got))


async def _read(scaler: AnyScaler, metric: NamedMetric) -> dict[str, Any]:
    """Read as `readings/tracked_metrics.py` does, which cannot be used without an object around it."""
    try:
        reading = await guard(scaler.read_metric(metric.spec), scaler.timeout + GRACE_SECONDS, what=_PLAY)
    except (ConfigError, ScalerError) as error:
        return {"error": str(error)}
    active = reading.value > scaler.activation if reading.active is None else reading.active
    return {"milli": to_milli(reading.value), "active": active}


def _differences(given: Mapping[str, Any], played: Played) -> Iterator[str]:
    build, results = given.get("build", {}), given.get("results", [])
    errors = [played.refused, *(one.error for one in played.rounds)]
    if broken := next((error for error in errors if error.startswith(_BROKEN)), ""):
        yield f"ours breaks: {broken}"
        return
    if refused := build.get("error"):
        if not played.refused:
            late = next((one.error for one in played.rounds if one.error), "")
            yield f"{ENDS_LATE}: {late}" if late else f"KEDA refuses it ({refused}), ours has {played.metrics}"
        return
    if played.refused:
        early = next((one["error"] for one in results if "error" in one), "")
        yield f"{ENDS_EARLY} ({early}): {played.refused}" if early else f"KEDA takes it, ours says: {played.refused}"
        return
    specs = [(one["metric"], one["targetType"], one["targetMilli"]) for one in given.get("specs", ())]
    if specs != played.metrics:
        yield f"metrics: KEDA has {specs}, ours {played.metrics}"
    asked_first, ours_first = build.get("requests", []), played.asked_first
    for recorded, ours in zip_longest(results, played.rounds):
        if recorded is None or ours is None:
            yield f"readings: KEDA has {len(results)}, ours {len(played.rounds)}"
            return
        yield from _unlike_reading(recorded, ours)
        yield from unlike_requests(
            [*asked_first, *recorded["requests"]],
            [*ours_first, *ours.asked],
            unordered=given.get("unordered", False),
        )
        asked_first, ours_first = [], ()


def _unlike_reading(recorded: Mapping[str, Any], ours: Round) -> Iterator[str]:
    if "error" in recorded:
        if not ours.error:
            yield f"{ours.metric}: KEDA fails ({recorded['error']}), ours is {ours.milli}m, active {ours.active}"
    elif ours.error:
        yield f"{ours.metric}: KEDA is {recorded['value']}m, active {recorded['active']}; ours fails: {ours.error}"
    else:
        if not _same_value(recorded["value"], ours.milli):
            yield f"{ours.metric}: KEDA's value is {recorded['value']}m, ours {ours.milli}m"
        if recorded["active"] != ours.active:
            yield f"{ours.metric}: KEDA's activity is {recorded['active']}, ours {ours.active} at {ours.milli}m"


def _same_value(recorded: int, ours: int) -> bool:
    """No quantity on the wire is larger than `LARGEST_MILLI`: an HPA takes what is longer for that."""
    recorded = min(recorded, LARGEST_MILLI)
    return recorded == ours or (recorded > 2**53 and abs(recorded - ours) <= recorded * 1e-12)


def _spec(trigger_type: str, context: EngineContext) -> Any:
    trigger = {"type": trigger_type, "metadata": {}, "metricType": context.metric_type}
    other = {"type": "cron", "metadata": {}}
    body = {
        "metadata": {"name": context.scaled_object, "namespace": context.namespace},
        "spec": {"scaleTargetRef": {"name": "app"}, "triggers": [other] * context.trigger_index + [trigger]},
    }
    return build_spec(parse_object(ScaledObject, body))


def _endpoint_slice(given: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions = {"conditions": {"ready": given["ready"]}} if "ready" in given else {}
    return {
        "metadata": {
            "name": given["name"],
            "namespace": given["namespace"],
            "labels": {"kubernetes.io/service-name": given["service"]},
        },
        "endpoints": [{"addresses": [address], **conditions} for address in given["addresses"]],
        "ports": [{"port": port} for port in given["ports"]],
    }


@contextmanager
def _environment(stage: Stage, proxy: URL, own: Mapping[str, str]) -> Iterator[None]:
    """The operator's, and what leads libraries with clients of their own (AWS') to the stage."""
    usual = {
        "HTTP_PROXY": str(proxy),
        "HTTPS_PROXY": str(proxy),
        "NO_PROXY": "127.0.0.1,localhost",
        "AWS_CA_BUNDLE": str(stage.papers.system_file),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {**usual, **own}.items():
            environment.setenv(name, value)
        yield
