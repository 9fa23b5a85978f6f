"""Forms, dependency bot and the pages for people: their shape, and that what they link to is there."""

import re  # noqa: TID251 - constant patterns over our own files
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

FOLDER = ROOT / ".github"
SCHEMAS = {
    "vendor.dependabot": [FOLDER / "dependabot.yml"],
    "vendor.github-issue-config": [FOLDER / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.github-issue-forms": [FOLDER / "ISSUE_TEMPLATE" / f"{name}.yml" for name in ("bug", "idea", "scaler")],
}
PAGES = sorted(FOLDER.glob("*.md"))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_forms_and_dependency_bot_follow_the_schemas_of_their_hosts(schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, SCHEMAS[schema])]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_for_people_link_to_files_that_are_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https://)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_everything_that_a_newcomer_looks_for_is_there() -> None:
    expected = {"ADOPTERS", "CODE_OF_CONDUCT", "GOVERNANCE", "MAINTAINERS", "PULL_REQUEST_TEMPLATE"}
    assert {page.stem for page in PAGES} == expected
