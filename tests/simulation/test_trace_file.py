"""Traces as people have them: taken as they stand, or refused with line and remedy."""

import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.simulation.loads.load import Need
from keda_py.simulation.loads.trace_file import TraceFile, TraceRules

T0 = "2026-11-02T00:00:00Z"
MONDAY = datetime(2026, 11, 2, tzinfo=UTC)


def written(folder: Path, *lines: str) -> str:
    path = folder / "trace.csv"
    path.write_text("\n".join([*lines, ""]))
    return str(path)


def read(folder: Path, *lines: str, rules: TraceRules | None = None) -> list[tuple[float, tuple[object, ...]]]:
    return [(at, tuple(row)) for at, row in TraceFile(path=written(folder, *lines), rules=rules or TraceRules()).rows()]


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        ((T0, "2026-11-02T00:01:00Z"), "s"),
        (("2026-11-02T09:00:00+09:00", "2026-11-02T09:01:00+09:00"), "s"),
        (("1793577600", "1793577660"), "s"),
        (("1793577600000", "1793577660000"), "ms"),
    ],
)
def test_times_are_moments_or_unix_seconds(times: tuple[str, str], unit: str, tmp_path: Path) -> None:
    path = written(tmp_path, "time,queue", f"{times[0]},1", f"{times[1]},2.5")
    trace = TraceFile(path=path, rules=TraceRules(time_unit=unit))
    assert trace.origin == MONDAY
    assert list(trace.rows()) == [(0.0, (1.0,)), (60.0, (2.5,))]
    assert trace.end == 120.0  # the last row holds as long as the one before


def test_times_may_count_from_a_beginning(tmp_path: Path) -> None:
    trace = TraceFile(path=written(tmp_path, "second,queue", "0,1", "30,2"), rules=TraceRules(begin=MONDAY))
    assert (trace.origin, trace.end) == (MONDAY, 60.0)


def test_a_source_may_have_failed(tmp_path: Path) -> None:
    (_, (sample,)), *_ = read(tmp_path, "time,queue", f"{T0},error")
    assert isinstance(sample, ScalerError)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((), ":1: is no header"),
        (("2026,1",), ":1: is no header"),
        (("time,a,a", f"{T0},1,1"), ":1: is no header"),
        (("time,q",), "no rows below its header"),
        (("time,q", "noon,1"), ':2: "noon" is not a time; write 2026-'),
        (("time,q", "2026-11-02T00:00:00,1"), ":2: .* has no time zone; add Z"),
        (("time,q", "1793577600000,1"), ":2: .* say its unit: --time-unit ms"),
        (("time,q", "0,1", "15,1"), ":2: times count from a beginning .*--from"),
        (("time,q", f"{T0},1", "2026-11-02T00:00:15Z,nan"), ':3: column "q": "nan" is not a plain number'),
        (("time,q", f"{T0},inf"), ':2: column "q": "inf"'),
        (("time,q", f"{T0},500m"), ':2: column "q": "500m" is not a plain number; write the number in the unit'),
        (("time,q", f"{T0},1_000"), '"1_000" is not a plain number'),
        (("time,q", f"{T0},"), ':2: column "q" is empty; write the value, or `error`'),
        (("time,q", f"{T0},1,2"), ":2: has 3 cells, and the header has 2"),
        (("time,q", f"{T0},1", "2026-11-02T00:00:30Z,1", "2026-11-02T00:00:15Z,1"), ":4: .* sort the rows"),
        (("time,q", f"{T0},1", f"{T0},1"), ":3: this time is not after"),
        (("time,q", f"{T0},1", "2026-11-02T03:00:00Z,1"), ":3: 10800 s after .* --gaps hold .* --gaps fail"),
        (("time,q", "x" * 200_000), "longer than 65536 characters"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_line_and_remedy(
    lines: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        read(tmp_path, *lines)


def test_a_gap_is_what_one_says_it_is(tmp_path: Path) -> None:
    lines = ("time,q", f"{T0},1", "2026-11-02T03:00:00Z,2")
    assert read(tmp_path, *lines, rules=TraceRules(gaps="hold")) == [(0.0, (1.0,)), (10800.0, (2.0,))]
    _, (began, (sample,)), _ = read(tmp_path, *lines, rules=TraceRules(gaps="fail"))
    assert began == 3600.0
    assert isinstance(sample, ScalerError)
    assert len(read(tmp_path, *lines, rules=TraceRules(longest_gap=4 * 3600.0))) == 2


def test_columns_are_triggers_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "time,two,trigger0", f"{T0},2,1")
    needs = (Need(index=0, names=("one", "trigger0")), Need(index=1, names=("two", "trigger1")))
    sources = TraceFile(path=path).bind(needs)
    assert [sources[index].read(0.0) for index in (0, 1)] == [1.0, 2.0]
    with pytest.raises(ConfigError, match='trigger 1 has no column; call one "three"'):
        TraceFile(path=path).bind((needs[0], Need(index=1, names=("three",))))
    with pytest.raises(ConfigError, match='column "two" belongs to no trigger'):
        TraceFile(path=written(tmp_path, "time,two,one", f"{T0},2,1")).bind(needs[:1])


def test_a_long_trace_is_read_row_by_row(tmp_path: Path) -> None:
    path = written(tmp_path, "time,q", *(f"{1793577600 + second},1" for second in range(30_000)))
    tracemalloc.start()
    count = sum(1 for _ in TraceFile(path=path).rows())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 30_000
    assert most < 1_000_000
