"""Decide: microseconds for one decision, one evaluation of readings, and one look into a cron window."""

import time
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime, timedelta

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.cron.windows import is_open, next_change, parse_window
from keda_py.core.decision import Observation, decide
from keda_py.core.evaluation import evaluate
from keda_py.core.metric_names import name_metrics
from keda_py.core.reading import MetricReading, Round
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.sdk.advanced import ExternalMetric
from keda_py.sdk.scaler import Reading
from tests.bench.lab.figures import Row, median
from tests.bench.lab.options import Options, Say

ROUNDS, TIMES = 7, 1_000
NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """The median of seven rounds each."""
    found: dict[str, object] = {}
    for name, work in _works().items():
        say(name)
        found[f"{name}_us"] = _microseconds(work)
    yield found


def _works() -> dict[str, Callable[[], object]]:
    spec = _spec()
    cooling = Observation(replicas=3, active=False, last_active=NOW - timedelta(minutes=1))
    metrics = name_metrics(spec, [[ExternalMetric(name=name, target=5)] for name in ("redis-jobs", "redis-mails")])
    readings = tuple(
        MetricReading(metric=one, outcome=Reading(value=7.0, active=True), taken_at=NOW) for one in metrics.external
    )
    window = parse_window("30 8 * * 1-5", "30 19 * * 1-5", "Asia/Seoul")
    minutes = (NOW + timedelta(minutes=minute) for minute in range(1, ROUNDS * TIMES + 1))
    return {
        "build_spec": _spec,
        "decide": lambda: decide(spec, cooling, NOW),
        "evaluate_two_triggers": lambda: evaluate(spec, metrics, Round(readings=readings), {}, 3, None),
        "cron_is_open_at_a_new_minute": lambda: is_open(window, next(minutes)),
        "cron_next_change_asked_again": lambda: next_change(window, NOW),
    }


def _microseconds(work: Callable[[], object]) -> float:
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(TIMES):
            work()
        rounds.append((time.perf_counter() - began) / TIMES * 1e6)
    return median(rounds, 1)


def _spec() -> ScalingSpec:
    triggers = [{"type": "redis", "metadata": {"listName": name}} for name in ("jobs", "mails")]
    meta = {"name": "web", "namespace": "shop", "creationTimestamp": "2026-11-20T09:00:00Z"}
    body = {"scaleTargetRef": {"name": "web"}, "triggers": triggers}
    return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))
