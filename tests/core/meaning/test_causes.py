"""Why a count changes, in the words that the decision record keeps and a preview shows."""

from typing import Any

import pytest

from keda_py.core.decision import Decision, Keep, Reason
from keda_py.core.evaluation import Evaluation, MetricValue
from keda_py.core.meaning.causes import cause_of
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from tests.builders import bare_scaled_object, cpu, cron, metrics_api

OFFICE = cron("30 8 * * 1-5", "30 19 * * 1-5", timezone="Asia/Seoul")
WINDOW, JOBS, LATE = "s0-cron-Asia-Seoul-308xx1-5-3019xx1-5", "s1-metric-api-value", "s2-metric-api-late"
IS_OPEN = "its window is open: Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week"


def spec(*triggers: dict[str, Any], **fields: Any) -> ScalingSpec:
    return AS_WRITTEN.read(bare_scaled_object(*triggers, **fields))


def cause(scaled: ScalingSpec, *active: str, reason: Reason = Reason.ACTIVATED, **found: Any) -> str:
    fields = {"values": (), "active": True, "failing": False, "active_metrics": active} | found
    return cause_of(Decision(action=Keep(), reason=reason), Evaluation(**fields), scaled)


@pytest.mark.parametrize(
    ("active", "found", "told"),
    [
        ([WINDOW], {}, IS_OPEN),
        ([JOBS], {}, f"{JOBS} is active"),
        ([JOBS, LATE], {}, f"{JOBS} and {LATE} are active"),
        ([WINDOW, JOBS], {}, f"{JOBS} is active and {IS_OPEN}"),
        ([JOBS], {"in_fallback": (JOBS,)}, f"{JOBS} is in fallback"),
        ([], {"values": (MetricValue(name=COMPOSITE_METRIC, milli=9),)}, "the formula is above its activation target"),
    ],
    ids=["window", "source", "sources", "both", "fallback", "formula"],
)
def test_what_woke_it_is_named(active: list[str], found: dict[str, Any], told: str) -> None:
    scaled = spec(OFFICE, metrics_api("http://queue/jobs"), metrics_api("http://queue/late"))
    assert cause(scaled, *active, **found) == told


def test_an_annotation_that_wakes_it_is_named() -> None:
    forced = bare_scaled_object(metrics_api("http://queue/jobs"))
    forced["metadata"]["annotations"] = {"autoscaling.keda.sh/force-activation": "true"}
    assert cause(AS_WRITTEN.read(forced)) == "annotation autoscaling.keda.sh/force-activation is there"


def test_what_needs_a_pod_to_be_read_is_told_to_wake_nothing() -> None:
    assert cause(spec(cpu())) == "cpu cannot wake it, so it stays up"


@pytest.mark.parametrize(
    ("reason", "fields", "told"),
    [
        (Reason.DEACTIVATED, {}, "no trigger is active, and the cooldown of 5 min is over"),
        (Reason.DEACTIVATED, {"cooldownPeriod": 0}, "no trigger is active"),
        (Reason.RAISED_TO_MIN, {"minReplicaCount": 3}, "minReplicaCount is 3"),
    ],
)
def test_what_put_it_to_sleep_or_raised_it_is_told(reason: Reason, fields: dict[str, Any], told: str) -> None:
    scaled = spec(metrics_api("http://queue/jobs"), **fields)
    assert cause(scaled, reason=reason) == told
