"""The tutorial, played as it stands: its files are written, its commands typed, and the terminal says what the page says."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.terminal import Terminal, play
from tests.places import ROOT
from tests.programs.client import FRESH

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path, FRESH)
    yield opened
    opened.close()


def test_each_command_of_the_tutorial_prints_what_its_page_says(terminal: Terminal) -> None:
    page = (ROOT / "docs" / "pages" / "tutorial.md").read_text(encoding="utf-8")
    assert play(page, terminal) > 8
