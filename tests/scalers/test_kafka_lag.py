"""Lag from a consumer group's offsets, and the parsing of brokers' bytes; no broker is asked."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.errors import ScalerError
from scalers.shared.kafka.answers import read_answer
from scalers.shared.kafka.lag import GroupLag, LagRules, Offsets, Partition, group_lag
from scalers.shared.kafka.offsets import layout_of, numbers_in
from tests.properties import examples


def lag(*pairs: tuple[int, int], before: dict[int, int] | None = None, **rules: Any) -> GroupLag:
    """Compute the lag of partitions 0, 1, 2..., each with committed offset and end."""
    offsets = {("t", number): Offsets(committed=committed, end=end) for number, (committed, end) in enumerate(pairs)}
    return group_lag(offsets, LagRules(**rules), {("t", number): at for number, at in (before or {}).items()})


@pytest.mark.parametrize(
    ("pairs", "rules", "metric"),
    [
        pytest.param([(5, 7), (0, 3)], {}, 5, id="the sum over the partitions"),
        pytest.param([(7, 7), (3, 3)], {}, 0, id="nothing to do"),
        pytest.param([(-1, 9), (9, 9)], {}, 1, id="no offset, the group begins at the end: one, so that it starts"),
        pytest.param([(-1, 9)], {"reset": "earliest"}, 9, id="no offset, the group begins at the start"),
        pytest.param([(-1, 9)], {"zero_on_invalid_offset": True}, 0, id="no offset counts as nothing"),
        pytest.param([(-1, 9)], {"reset": "earliest", "zero_on_invalid_offset": True}, 0, id="of either policy"),
        pytest.param([(500, 9), (0, 2)], {"reset": "earliest"}, 11, id="an offset beyond the end is no offset"),
        pytest.param([(0, 100)], {}, 10, id="one partition feeds one replica"),
        pytest.param([(0, 19)], {}, 19, id="integer division: 19 // 10 is one replica"),
        pytest.param([(0, 20)], {}, 10, id="20 // 10 is two"),
        pytest.param([(0, 100)], {"allow_idle_consumers": True}, 100, id="no cap where replicas may be idle"),
        pytest.param([(0, 100), (5, 5)], {}, 20, id="the cap counts all partitions"),
        pytest.param([(0, 100), (5, 5)], {"limit_to_partitions_with_lag": True}, 10, id="or those with lag"),
        pytest.param([(0, 0)] * 6, {"even_distribution": True}, 10, id="even without lag: one replica"),
        pytest.param([(0, 35), *[(0, 0)] * 9], {"even_distribution": True}, 50, id="four replicas of ten: five"),
        pytest.param([(0, 51), *[(0, 0)] * 9], {"even_distribution": True}, 100, id="six of ten: all ten"),
        pytest.param([(0, 999), *[(0, 0)] * 9], {"even_distribution": True}, 100, id="no more than there are"),
    ],
)
def test_a_lag(pairs: list[tuple[int, int]], rules: dict[str, Any], metric: int) -> None:
    assert lag(*pairs, **rules).metric == metric


def test_lag_that_does_not_move_is_left_out_of_the_metric_and_still_makes_active() -> None:
    first = lag((5, 8), (1, 3), exclude_persistent_lag=True)
    assert (first.metric, first.total) == (5, 5)
    before = {number: at for (_, number), at in first.positions.items()}
    second = lag((5, 9), (2, 3), before=before, exclude_persistent_lag=True)
    assert (second.metric, second.total) == (1, 5)


def test_an_invalid_offset_is_never_persistent() -> None:
    first = lag((-1, 8), exclude_persistent_lag=True)
    assert first.positions == {}
    assert lag((-1, 8), before={0: -1}, exclude_persistent_lag=True).metric == 1


OFFSETS = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 20)),
    st.builds(Offsets, committed=st.integers(-1, 1000), end=st.integers(0, 1000)),
    min_size=1,
)
RULES = st.builds(
    LagRules,
    threshold=st.integers(1, 100),
    reset=st.sampled_from(["latest", "earliest"]),
    exclude_persistent_lag=st.booleans(),
    zero_on_invalid_offset=st.booleans(),
    limit_to_partitions_with_lag=st.booleans(),
    even_distribution=st.booleans(),
)


@examples(300)
@given(offsets=OFFSETS, rules=RULES, moved=st.integers(0, 1))
def test_a_metric_never_asks_for_more_replicas_than_partitions(
    offsets: dict[Partition, Offsets], rules: LagRules, moved: int
) -> None:
    before = {partition: at.committed - moved for partition, at in offsets.items()}
    found = group_lag(offsets, rules, before)
    assert 0 <= found.metric // rules.threshold <= len(offsets)
    assert found.total >= 0


@examples(300)
@given(offsets=OFFSETS, rules=RULES)
def test_without_caps_the_metric_is_the_total(offsets: dict[Partition, Offsets], rules: LagRules) -> None:
    free = LagRules(threshold=rules.threshold, reset=rules.reset, allow_idle_consumers=True)
    found = group_lag(offsets, free, {})
    assert found.metric == found.total


@examples(300)
@given(offsets=OFFSETS, threshold=st.integers(1, 100))
def test_an_even_share_gives_each_replica_the_same_number_of_partitions(
    offsets: dict[Partition, Offsets], threshold: int
) -> None:
    replicas, rest = divmod(
        group_lag(offsets, LagRules(threshold=threshold, even_distribution=True), {}).metric, threshold
    )
    assert rest == 0
    assert len(offsets) % replicas == 0


@examples(500)
@given(
    form=st.sampled_from([(3, 1), (3, 5), (9, 1), (9, 3), (2, 1), (2, 3)]),
    text=st.lists(
        st.one_of(st.binary(max_size=4), st.sampled_from([b"\0\0\0\1", b"\0\1a", b"\xff\xff\xff\xff", b"\0" * 8]))
    ),
)
def test_any_bytes_of_a_broker_are_read_or_refused(form: tuple[int, int], text: list[bytes]) -> None:
    with suppress(ScalerError):
        answer = read_answer(b"".join(text), *form)
        layout_of(answer) if form[0] == 3 else numbers_in(answer, "offset")
