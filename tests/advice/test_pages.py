"""The page with the heat map of a week: self-contained, and true to what is proposed."""

from pathlib import Path

import pytest

from keda_py.cli import main
from tests.advice.traces import written
from tests.core.advice.habits import Habit, without


def page_of(folder: Path, capsys: pytest.CaptureFixture[str], **histories: object) -> str:
    path = written(folder, **histories)  # type: ignore[arg-type]
    assert main(["advise", "--trace", path, "--timezone", "UTC", "-o", "html"]) == 0
    return capsys.readouterr().out


def test_a_page_draws_the_hours_over_what_was_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    night = Habit(windows=[("Fri", "20:00", "03:00")])
    page = page_of(tmp_path, capsys, web=Habit().history(), bar=night.history())
    assert page.count('<rect class="awake"') == 5 + 2
    assert "<title>Mon 09:00, used 100%</title>" in page
    assert "<title>Mon 18:00, used 0%</title>" in page
    assert page.count('class="used"') == 5 * 9 + 7


def test_a_page_fetches_nothing_and_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of(tmp_path, capsys, **{'a<b>&"c': Habit().history()})
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<b>" not in page
    assert "prefers-color-scheme:dark" in page


def test_what_is_not_known_is_hatched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hour = [(day * 288 + 36, day * 288 + 48) for day in range(42)]
    page = page_of(tmp_path, capsys, web=without(Habit().history(), *hour))
    assert page.count('<rect class="unknown"') == 7
    assert "<title>Sun 03:00, not known</title>" in page
