"""Tables on terminals of any width: names stay whole, prose wraps between words, columns go in the order given."""

import io
import re  # noqa: TID251 - a constant pattern over our own output
from pathlib import Path

import pytest

from keda_py.terminal.console import UNBOUNDED, console_of, tell
from keda_py.terminal.table import LEAST, Column, draw_table
from keda_py.terminal.wrapping import cut, wrap
from tests.sweeps import chosen
from tests.terminal.pty_runs import run_on_terminal

COLUMNS = (
    Column(heading="time"),
    Column(heading="metric", goes=1),
    Column(heading="name"),
    Column(heading="reason", wraps=True),
)
NAME = "a-name-that-is-forty-letters-long-exact"
STYLES = re.compile(r"\x1b\[[0-9;]*m")
REASON = "no trigger was active for the whole cooldown"
ROWS = [(f"12:0{minute}", "s0-metric-api-jobs", NAME, REASON) for minute in range(9)]


def drawn(width: int, height: int | None = None) -> list[str]:
    return draw_table(COLUMNS, ROWS, width, height).plain.splitlines()


def test_on_a_wide_terminal_each_row_is_one_line() -> None:
    lines = drawn(200)
    assert lines[0].split() == ["time", "metric", "name", "reason"]
    assert len(lines) == 2 + len(ROWS)


@pytest.mark.parametrize("width", range(74, 140))
def test_no_line_is_wider_than_the_terminal_and_no_name_is_broken(width: int) -> None:
    lines = drawn(width)
    assert max(map(len, lines)) <= width
    assert sum(NAME in line for line in lines) == len(ROWS)


def test_the_metric_goes_first_where_room_is_short_for_the_reason() -> None:
    needed = len("12:00  s0-metric-api-jobs  ") + len(NAME) + 2 + LEAST
    assert "metric" in drawn(needed)[0]
    assert drawn(needed - 1)[0].split() == ["time", "name", "reason"]


def test_on_a_terminal_narrower_than_the_names_lines_are_longer_and_names_whole() -> None:
    assert sum(NAME in line for line in drawn(30)) == len(ROWS)


OBJECTS = (
    Column(heading="Name", cuts=True),
    Column(heading="Since"),
    Column(heading="Next"),
    Column(heading="Why", wraps=True),
    Column(heading="Values", wraps=True, goes=1),
)
ASLEEP = ("shop-develop/web-develop-scaledobject", "14 min ago", "wakes in 1 h 5 min", REASON, "s0-jobs: 3")


@pytest.mark.parametrize("width", range(80, 90))
def test_a_long_name_is_cut_in_its_middle_before_a_column_that_matters_goes(width: int) -> None:
    heading, rule, first, *_ = draw_table(OBJECTS, [ASLEEP], width).plain.splitlines()
    assert heading.split() == ["Name", "Since", "Next", "Why"]
    assert "14 min ago  wakes in 1 h 5 min" in first
    name = first.partition("  ")[0]
    assert name.startswith("shop-devel")
    assert name.endswith("edobject")
    assert "…" in name
    assert max(len(heading), len(rule), len(first)) <= width


def test_a_name_that_fits_is_not_cut() -> None:
    assert ASLEEP[0] in draw_table(OBJECTS, [ASLEEP], 130).plain


def test_a_word_longer_than_the_room_is_cut_where_nothing_else_can_go() -> None:
    columns = (Column(heading="Object", cuts=True), Column(heading="Why", wraps=True))
    rows = [(ASLEEP[0], f"cannot connect to {'x' * 90}")]
    assert max(map(len, draw_table(columns, rows, 80).plain.splitlines())) <= 80
    assert "x" * 90 in draw_table(columns, rows, UNBOUNDED).plain


@pytest.mark.parametrize(
    ("name", "width", "shown"), [("대기열작업대기열", 8, "대…기열"), ("abc", 3, "abc"), ("abcd", 1, "…")]
)
def test_a_cut_name_takes_no_more_cells_than_there_are(name: str, width: int, shown: str) -> None:
    assert cut(name, width) == shown


@pytest.mark.parametrize("height", range(5, 30))
def test_where_lines_are_short_the_newest_rows_stand_at_the_bottom(height: int) -> None:
    lines = drawn(74, height)
    times = [line.split()[0] for line in lines[2:] if line.startswith("12:")]
    assert len(lines) <= height
    assert times == [row[0] for row in ROWS][-len(times) :]


def test_an_address_is_never_broken() -> None:
    address = "http://source.shop.svc.cluster.local:8080/api/v1/queues/orders"
    assert address in wrap(f"cannot connect to {address} now: refused", 30)


def test_wide_letters_take_two_cells() -> None:
    assert wrap("대기열 작업", 7) == ["대기열", "작업"]


def test_a_pipe_gets_whole_lines_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    file = io.StringIO()
    console = console_of(file)
    tell(console, "word " * 60, style="red", indent="error: ")
    console.print(draw_table(COLUMNS, ROWS, console.width))
    told, *table = file.getvalue().splitlines()
    assert console.width == UNBOUNDED
    assert told == "error: " + "word " * 60
    assert len(table) == 1 + len(ROWS)
    assert not any("─" in line for line in table)
    assert "\x1b" not in file.getvalue()


PAGES = ("scalers", "scalers redis", "--help", "validate --help")
FITTED = chosen(
    {f"{page} by {said}": (page, said == "COLUMNS") for page in PAGES for said in ("COLUMNS", "size")},
    {"scalers by size", "--help by COLUMNS", "--help by size"},
)


@pytest.mark.parametrize(("page", "by_variable"), FITTED.values(), ids=FITTED)
def test_pages_fit_into_eighty_columns(page: str, by_variable: bool, tmp_path: Path) -> None:
    env, width = ({"COLUMNS": "80"}, 200) if by_variable else ({}, 80)
    code, output = run_on_terminal(page.split(), columns=width, lines=24, folder=tmp_path, env=env)
    lines = STYLES.sub("", output.decode()).splitlines()
    assert code == 0
    assert [line for line in lines if len(line) > 80] == []
