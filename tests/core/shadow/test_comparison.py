"""Both sides of every matter, side by side: what counts as the same, what does not, and what is not compared."""

from datetime import UTC, datetime
from typing import Any

import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.conditions import ACTIVE, BROKEN, NOT_ACTIVE, READY
from keda_py.core.decision import Decision, Keep, Reason
from keda_py.core.evaluation import Evaluation, MetricValue
from keda_py.core.shadow.comparison import Claim, Matter, OtherSide, OwnSide, compare, compare_broken, own_replicas
from keda_py.core.spec import ScalingSpec, build_spec

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
METRIC = "s0-redis"


def spec(**fields: Any) -> ScalingSpec:
    body = {
        "metadata": {"name": "app", "namespace": "shop", "uid": "1"},
        "spec": {"scaleTargetRef": {"name": "app"}, "triggers": [{"type": "redis", "metadata": {}}], **fields},
    }
    return build_spec(ScaledObject.model_validate(body))


def live_hpa(most: int = 10, target: str = "5", **status: Any) -> dict[str, Any]:
    external = {"metric": {"name": METRIC}, "target": {"type": "AverageValue", "averageValue": target}}
    body = {"minReplicas": 1, "maxReplicas": most, "metrics": [{"type": "External", "external": external}]}
    return {"metadata": {"name": "keda-hpa-app"}, "spec": body, "status": status}


def measured(average: str, pods: int = 2, **more: Any) -> dict[str, Any]:
    """An HPA that has seen a value."""
    current = {"external": {"metric": {"name": METRIC}, "current": {"averageValue": average}}, "type": "External"}
    return live_hpa(currentReplicas=pods, currentMetrics=[current], **more)


def ours(
    replicas: int | None = 2, value: int = 10, *, active: bool = True, broken: bool = False, **more: Any
) -> OwnSide:
    values = (MetricValue(name=METRIC, milli=value * 1000),)
    return OwnSide(
        spec=more.get("spec") or spec(),
        replicas=replicas,
        decision=Decision(
            action=Keep(),
            reason=Reason.ACTIVE,
            ready=BROKEN if broken else READY,
            active=ACTIVE if active else NOT_ACTIVE,
        ),
        evaluation=Evaluation(values=values, active=active, failing=broken),
        in_fallback=more.get("in_fallback", False),
        hpa=more.get("hpa") or live_hpa(),
        why="because",
    )


def theirs(replicas: int | None = 2, hpa: Any = None, *, active: str = "True", ready: str = "True") -> OtherSide:
    conditions = [
        {"type": "Active", "status": active, "reason": "ScalerActive", "message": "Scaling is performed"},
        {"type": "Ready", "status": ready, "reason": "ScaledObjectReady"},
        {"type": "Fallback", "status": "False", "message": "No fallbacks are active"},
    ]
    return OtherSide(replicas=replicas, status={"conditions": conditions}, hpa=hpa or measured("5"))


def differing(claims: tuple[Claim, ...]) -> list[Matter]:
    return [one.matter for one in claims if not one.agree]


def test_two_sides_that_do_the_same_agree_on_every_matter() -> None:
    claims = compare(ours(), theirs())
    assert {one.matter for one in claims} == set(Matter) - {Matter.JOBS}
    assert differing(claims) == []


@pytest.mark.parametrize(
    ("own", "other", "matters"),
    [
        (ours(replicas=1), theirs(replicas=7), []),
        (ours(replicas=0), theirs(replicas=7), [Matter.REPLICAS]),
        (ours(replicas=1), theirs(replicas=0), [Matter.REPLICAS]),
        (ours(replicas=None), theirs(replicas=0), []),
        (ours(replicas=1), theirs(replicas=None), []),
        (ours(), theirs(active="False"), [Matter.ACTIVE]),
        (ours(), theirs(active="Unknown"), []),
        (ours(broken=True), theirs(), [Matter.READY]),
        (ours(), theirs(ready="False"), [Matter.READY]),
        (ours(broken=True), theirs(ready="False"), []),
        (ours(in_fallback=True), theirs(), [Matter.FALLBACK]),
        (ours(hpa=live_hpa(most=9)), theirs(), [Matter.HPA]),
        (ours(hpa=live_hpa(target="6")), theirs(), [Matter.HPA]),
        (ours(value=11), theirs(), []),
        (ours(value=16), theirs(), [Matter.METRIC]),
        (ours(value=999), theirs(hpa=measured("500")), []),
        (ours(), theirs(hpa=measured("many")), []),
    ],
)
def test_what_the_sides_disagree_about(own: OwnSide, other: OtherSide, matters: list[Matter]) -> None:
    assert differing(compare(own, other)) == matters


def test_idle_replicas_are_at_rest() -> None:
    idle = spec(idleReplicaCount=1, minReplicaCount=3)
    assert differing(compare(ours(replicas=1, spec=idle), theirs(replicas=3))) == [Matter.REPLICAS]


def test_no_hpa_is_a_disagreement_and_no_status_says_so() -> None:
    claims = compare(ours(), OtherSide(replicas=0, status={}, hpa=None))
    assert differing(claims) == [Matter.REPLICAS, Matter.HPA]
    assert claims[0].theirs.why == "its status does not say"
    assert claims[-1].theirs.value == "no HPA"


def test_both_sides_tell_their_reasons_and_no_longer_than_bounds() -> None:
    long = {"conditions": [{"type": "Active", "status": "False", "reason": "r" * 9999, "message": "m" * 9999}]}
    claim = compare(ours(), OtherSide(replicas=0, status=long, hpa=None))[0]
    assert (claim.ours.value, claim.ours.why, claim.theirs.value) == ("2 replicas", "because", "0 replicas")
    assert len(claim.theirs.why) == 300
    (broken,) = compare_broken("x" * 9999, theirs())
    assert (broken.matter, broken.agree, len(broken.ours.why)) == (Matter.READY, False, 300)


@pytest.mark.parametrize(
    ("own", "other", "found"), [(None, 3, 3), (0, 0, 0), (1, 4, 4), (1, 0, 1), (0, 4, 0), (1, None, None)]
)
def test_the_count_that_we_would_find_is_ours_until_the_other_side_does_the_same(
    own: int | None, other: int | None, found: int | None
) -> None:
    assert own_replicas(spec(), own, other) == found


@pytest.mark.parametrize(("whole", "agree"), [("10", True), ("21", False)])
def test_a_value_is_compared_as_if_all_pods_were_ready(whole: str, agree: bool) -> None:
    external = {"metric": {"name": METRIC}, "target": {"type": "Value", "value": "5"}}
    current = {"type": "External", "external": {"metric": {"name": METRIC}, "current": {"value": whole}}}
    wanted = live_hpa(currentReplicas=2, currentMetrics=[current])
    wanted["spec"]["metrics"] = [{"type": "External", "external": external}]
    claims = compare(ours(value=10, hpa=wanted), theirs(hpa=wanted))
    (metric,) = [one for one in claims if one.matter is Matter.METRIC]
    assert (metric.agree, metric.ours.value) == (agree, "10 asks for 4 replicas")


@pytest.mark.parametrize(("own", "agrees"), [(3, True), (5, False), (2, False)])
def test_an_average_that_the_hpa_rounded_up_is_compared_within_the_rounding(own: int, agrees: bool) -> None:
    """3 over 9 replicas is 334m each, which is 3.006 in all: one replica more would be asked for than by 3."""
    seen = measured("334m", pods=9, target="1")
    claims = compare(ours(replicas=9, value=own, hpa=live_hpa(target="1")), theirs(replicas=9, hpa=seen))
    (metric,) = (one for one in claims if one.matter is Matter.METRIC)
    assert metric.agree is agrees
    assert not agrees or metric.theirs.value == metric.ours.value == "3 asks for 3 replicas"
