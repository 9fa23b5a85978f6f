"""Kubernetes quantities: what they are worth in milli, how the API prints them, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.values.quantity import QuantityFormat, canonicalize, parse_milli, parse_number, print_milli, to_milli
from keda_py.errors import ConfigError

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("written", "milli", "printed"),
    [
        ("0", 0, "0"),
        ("3", 3000, "3"),
        (5, 5000, "5"),
        (1.5, 1500, "1500m"),
        ("0.5", 500, "500m"),
        (".5", 500, "500m"),
        ("5.", 5000, "5"),
        ("+5", 5000, "5"),
        ("-5", -5000, "-5"),
        ("1500m", 1500, "1500m"),
        ("2000m", 2000, "2"),
        ("12000", 12_000_000, "12k"),
        ("1200", 1_200_000, "1200"),
        ("2500k", 2_500_000_000, "2500k"),
        ("128Mi", 134_217_728_000, "128Mi"),
        ("1024Mi", 1_073_741_824_000, "1Gi"),
        ("1.5Gi", 1_610_612_736_000, "1536Mi"),
        ("133800Ki", 137_011_200_000, "133800Ki"),
        ("0.5Ki", 512_000, "512"),
        ("1e3", 1_000_000, "1e3"),
        ("1E3", 1_000_000, "1e3"),
        ("12e-1", 1200, "1200e-3"),
        ("1E", LARGEST, "1E"),
    ],
)
def test_a_quantity_is_worth_its_milli_and_prints_as_the_api_prints_it(
    written: str | float, milli: int, printed: str
) -> None:
    assert (parse_milli(written), canonicalize(written)) == (milli, printed)


@pytest.mark.parametrize(
    ("written", "milli"),
    [("0.1m", 1), ("1u", 1), ("1n", 1), ("-0.1m", -1), ("1.0001", 1001), ("-1.0001", -1001), ("1e-99999", 1)],
)
def test_what_is_finer_than_milli_is_rounded_away_from_zero(written: str, milli: int) -> None:
    assert parse_milli(written) == milli


@pytest.mark.parametrize("written", ["9999999999E", "1e99999", "9" * 64])
def test_what_is_too_large_is_capped(written: str) -> None:
    assert parse_milli(written) == LARGEST


@pytest.mark.parametrize(
    "written",
    [
        "",
        ".",
        "-",
        "1e",
        "e3",
        "1e+",
        "1 ",
        " 1",
        "abc",
        "1K",
        "1KiB",
        "--1",
        "0x1",
        "1_0",
        "1.2.3",
        "٣",
        True,
        "1" * 65,
    ],
)
def test_anything_else_is_refused_by_name_value_and_remedy(written: str) -> None:
    with pytest.raises(ConfigError, match=r"value: '.*' is not a quantity; write a number") as refusal:
        parse_milli(written, field="value")
    assert refusal.value.field == "value"


@pytest.mark.parametrize(
    ("milli", "format", "printed"),
    [
        (1500, QuantityFormat.DECIMAL, "1500m"),
        (3000, QuantityFormat.DECIMAL, "3"),
        (5334, QuantityFormat.DECIMAL, "5334m"),
        (0, QuantityFormat.BINARY, "0"),
        (356_515_840_000, QuantityFormat.BINARY, "340Mi"),
        (1_048_576_500, QuantityFormat.BINARY, "1048577"),
        (512_000, QuantityFormat.BINARY, "512"),
    ],
)
def test_a_milli_value_prints_as_in_the_status_of_an_hpa(milli: int, format: QuantityFormat, printed: str) -> None:
    assert print_milli(milli, format) == printed


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_what_is_printed_reads_back_as_the_same_milli(milli: int) -> None:
    assert parse_milli(print_milli(milli)) == milli


@given(st.text(max_size=20))
def test_no_text_crashes_the_parser(text: str) -> None:
    try:
        printed = canonicalize(text)
    except ConfigError:
        return
    assert canonicalize(printed) == printed


def test_a_measured_quantity_is_not_rounded_up_to_the_next_milli() -> None:
    assert (parse_number("0.3333"), parse_number("1500m"), parse_number("-2Ki")) == (0.3333, 1.5, -2048.0)
    assert to_milli(parse_number("0.3333")) == 333
