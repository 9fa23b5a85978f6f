"""The list of the hostile cases in SECURITY.md."""

import pytest

from tests.hostile.cases import ALL, TITLE, render
from tests.places import ROOT

SECURITY = ROOT / "SECURITY.md"


def test_every_case_has_a_name_of_its_own_and_a_sentence() -> None:
    assert len({case.id for case in ALL}) == len(ALL) >= 40
    assert len({case.sentence for case in ALL}) == len(ALL)
    assert all(case.sentence and not case.sentence.endswith(".") for case in ALL)


def test_the_list_in_security_md_is_the_list_of_the_cases() -> None:
    if not SECURITY.exists():
        pytest.skip("there is no SECURITY.md")
    assert render().strip() in SECURITY.read_text(), (
        f'replace "## {TITLE}" by what python -m tests.hostile.cases prints'
    )
