from datetime import timedelta

import pytest

from keda_py.apis.go_values import parse_bool, parse_duration, parse_float
from tests.costs import within


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_what_go_calls_true_is_true(text: str) -> None:
    assert parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_what_go_calls_false_is_false(text: str) -> None:
    assert parse_bool(text) is False


@pytest.mark.parametrize("text", ["", "yes", "tRUE", " true", "on"])
def test_all_else_is_not_a_boolean(text: str) -> None:
    with pytest.raises(ValueError, match="use true or false"):
        parse_bool(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", timedelta(0)),
        ("15s", timedelta(seconds=15)),
        ("1m30s", timedelta(seconds=90)),
        ("1.5h", timedelta(minutes=90)),
        (".5s", timedelta(milliseconds=500)),
        ("1.s", timedelta(seconds=1)),
        ("300ms", timedelta(milliseconds=300)),
        ("2us", timedelta(microseconds=2)),
        ("2\u00b5s", timedelta(microseconds=2)),
        ("1500ns", timedelta(microseconds=1)),
        ("-2s", timedelta(seconds=-2)),
        ("+2s", timedelta(seconds=2)),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "5", "-", "s", "1d", "1 s", "1s ", ".s", "3000000h", "9" * 40 + "h", "--1s"])
def test_a_duration_without_its_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="with its unit"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("5", 5), ("+.5", 0.5), ("5.", 5), ("-1E3", -1000), ("0x1p-2", 0.25), ("Inf", float("inf"))]
)
def test_numbers_as_go_reads_them(text: str, expected: float) -> None:
    assert parse_float(text) == expected


@pytest.mark.parametrize("text", ["", " 1", "1_000", "0x1", "1e400", "0x1p5000", "+nan", "\u0663", "1" * 500])
def test_what_go_does_not_read_as_a_number(text: str) -> None:
    with pytest.raises(ValueError, match="number"):
        parse_float(text)


def test_a_long_duration_is_refused_in_little_time() -> None:
    assert parse_duration("1s" * 200) == timedelta(seconds=200)
    with within(0.5), pytest.raises(ValueError, match="is not a duration"):
        parse_duration("1s" * 50_000)
