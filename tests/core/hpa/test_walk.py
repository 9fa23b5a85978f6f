"""A walk over simulated time does what the controller does that computes every sync."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keda_py.core.hpa.behavior import Behavior, HpaHistory, PolicyType, ScalingPolicy, ScalingRules, SelectPolicy
from keda_py.core.hpa.controller import ControllerOptions, HpaSpec, record_rescale, sync
from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.metrics import MetricTarget, TargetType
from keda_py.core.hpa.pods import ScaleTarget
from keda_py.core.hpa.walk import Rhythm, Walk
from tests.properties import examples

T0 = datetime(2026, 11, 2, tzinfo=UTC)
PERIOD, OPTIONS = 15, ControllerOptions(tolerance=0.0)
TARGET = MetricTarget(type=TargetType.AVERAGE_VALUE, amount=1000)
Asked = Mapping[int, int | None]
"""Second -> what the metrics ask for from then on; None: they fail."""
Path = list[tuple[int, int]]
SLOW = ScalingRules(policies=(ScalingPolicy(type=PolicyType.PODS, value=1, period=timedelta(minutes=30)),))
HALF_AN_HOUR_A_POD = HpaSpec(max_replicas=9, behavior=Behavior(scale_up=SLOW))


def target(count: int) -> ScaleTarget:
    return ScaleTarget(namespace="", replicas=count, status_replicas=count)


def computed(spec: HpaSpec, asked: Asked, seconds: int) -> Path:
    """Every sync by the controller; at zero something wakes it where the metrics ask for anything."""
    path: Path = []
    history, count, wanted = HpaHistory(), 1, asked[0]
    for at in range(seconds):
        wanted = asked.get(at, wanted)
        if at in asked and (count == 0) is not (wanted == 0):
            count = min(wanted or 1, 1)
            path.append((at, count))
        if at == 0 or at % PERIOD:
            continue
        now = T0 + timedelta(seconds=at)
        sample = ExternalSample(
            name="x",
            target=TARGET,
            values=() if wanted is None else (wanted * 1000,),
            error="" if wanted is not None else "x",
        )
        verdict = sync(spec, target(count), (sample,), history, OPTIONS, now)
        if verdict.rescale and verdict.desired is not None:
            verdict = record_rescale(spec, verdict, OPTIONS, now)
            count = verdict.desired if verdict.desired is not None else count
            path.append((at, count))
        history = verdict.history
    return path


def walked(spec: HpaSpec, asked: Asked, seconds: int, *, foreseen: bool) -> tuple[Path, int]:
    """The same by a walk, and how many syncs there were."""
    walk = Walk(spec, Rhythm(options=OPTIONS, foreseen=foreseen), T0)
    walk.create(0.0)
    path: Path = []
    count, wanted, syncs, changes = 1, asked[0], 0, sorted(asked)

    def propose(_: int) -> int | None:
        return wanted

    while True:
        at = min([walk.next, *changes[:1]])
        if at >= seconds:
            return path, syncs
        if changes and changes[0] <= at:
            wanted = asked[changes.pop(0)]
            if (count == 0) is not (wanted == 0):
                count = min(wanted or 1, 1)
                path.append((int(at), count))
            walk.wake(at)
            continue
        syncs += 1
        rescaled = walk.sync(at, count, propose)
        if rescaled is not None:
            count = rescaled.replicas
            path.append((int(at), count))
            walk.wake(at)


policies = st.builds(
    ScalingPolicy,
    type=st.sampled_from(PolicyType),
    value=st.integers(1, 150),
    period=st.sampled_from((15, 60, 300, 1800)).map(lambda seconds: timedelta(seconds=seconds)),
)
rules = st.builds(
    ScalingRules,
    policies=st.lists(policies, min_size=1, max_size=2).map(tuple),
    select_policy=st.sampled_from(SelectPolicy),
    stabilization=st.sampled_from((0, 30, 300)).map(lambda seconds: timedelta(seconds=seconds)),
)
specs = st.builds(
    HpaSpec,
    min_replicas=st.integers(1, 3),
    max_replicas=st.integers(3, 40),
    behavior=st.none() | st.builds(Behavior, scale_up=rules, scale_down=rules),
)
asks = st.dictionaries(st.integers(1, 5400), st.none() | st.sampled_from((0, 0, 1, 2, 3, 7, 50)), max_size=10).map(
    lambda later: {0: 1, **later}
)


@pytest.mark.parametrize("foreseen", [False, True])
@given(spec=specs, asked=asks)
@example(spec=HALF_AN_HOUR_A_POD, asked={0: 1, 100: 5})
@examples(40)
def test_a_walk_goes_where_the_controller_goes(foreseen: bool, spec: HpaSpec, asked: Asked) -> None:
    assert walked(spec, asked, 7200, foreseen=foreseen)[0] == computed(spec, asked, 7200)


@given(spec=specs, seed=st.integers(0, 10_000), most=st.sampled_from((3, 12, 60)))
@examples(15)
def test_a_walk_goes_where_the_controller_goes_when_each_sync_finds_another_load(
    spec: HpaSpec, seed: int, most: int
) -> None:
    noise = random.Random(seed)
    load = {at: noise.randint(1, most) for at in range(7, 5400, 15) if noise.random() < 0.7}
    assert walked(spec, {0: 1, **load}, 5400, foreseen=False)[0] == computed(spec, {0: 1, **load}, 5400)


def test_a_policy_of_half_an_hour_lets_go_by_itself() -> None:
    path, syncs = walked(HALF_AN_HOUR_A_POD, {0: 1, 100: 3}, 7200, foreseen=True)
    assert path == [(105, 2), (1905, 3)]
    assert syncs < 300


def test_what_is_foreseen_costs_no_sync() -> None:
    path, syncs = walked(HpaSpec(max_replicas=9), {0: 1, 3600: 4}, 86_400, foreseen=True)
    assert path == [(3600, 4)]
    assert syncs < 50


def test_what_is_switched_off_costs_no_sync_either() -> None:
    """A proposal that `selectPolicy: Disabled` refuses for ever."""
    off = ScalingRules(policies=SLOW.policies, select_policy=SelectPolicy.DISABLED)
    path, syncs = walked(HpaSpec(max_replicas=9, behavior=Behavior(scale_up=off)), {0: 4}, 86_400, foreseen=True)
    assert path == []
    assert syncs < 50
