"""What holds for every example: a page, manifests without a doubt, and a test that plays it."""

import re  # noqa: TID251 - constant patterns over our own READMEs
from pathlib import Path

import pytest
import yaml

from keda_py.validation.report import validate_texts
from tests.examples.pages import EXAMPLES, FOLDERS, readme, sessions

HEADINGS = ["Apply", "What you see", "What it costs", "How to change it"]
MOST_LINES = 90
each = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def manifests(folder: Path) -> dict[str, str]:
    """Everything to apply, folders below it included; a chart's templates are none."""
    files = [file for file in sorted(folder.rglob("*.yaml")) if not file.is_relative_to(folder / "chart")]
    return {str(file.relative_to(EXAMPLES)): file.read_text(encoding="utf-8") for file in files}


@each
def test_an_example_is_played_by_a_test_of_its_name(folder: Path) -> None:
    player = Path(__file__).with_name(f"test_{folder.name.replace('-', '_')}.py")
    assert f'"{folder.name}"' in player.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "folder",
    # A trigger type of a package is known where that is installed: its own test judges it there.
    [folder for folder in FOLDERS if not (folder / "pyproject.toml").exists()],
    ids=lambda folder: folder.name,
)
async def test_an_example_is_valid_without_a_warning(folder: Path) -> None:
    report = await validate_texts(manifests(folder))
    assert [f"{problem.file}:{problem.line}: {problem.sentence}" for problem in report.problems] == []
    assert report.objects > 0


@each
def test_its_manifests_can_be_joined_to_one_stream(folder: Path) -> None:
    for name, text in manifests(folder).items():
        assert text.startswith("---\n"), f"{name}: sed and cat would glue it to the file before"
        assert all(yaml.safe_load_all(text)), name


@each
def test_its_page_is_one_and_says_what_every_page_says(folder: Path) -> None:
    page = readme(folder)
    written = [line for line in page.splitlines() if line]
    assert len(written) <= MOST_LINES
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert [heading for heading in headings if heading in HEADINGS] == HEADINGS
    assert sessions(page), "no terminal shows what kubectl prints"


@each
def test_its_links_lead_somewhere(folder: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", readme(folder))
    assert [link for link in links if not (folder / link).exists()] == []


@each
def test_its_commands_name_what_is_there(folder: Path) -> None:
    named = re.findall(r"examples/[\w/.-]+", readme(folder))
    assert [path for path in named if not (EXAMPLES.parent / path).exists()] == []


def test_the_list_of_examples_is_complete() -> None:
    listed = re.findall(r"^\| \[([\w-]+)\]\(\1/\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == [folder.name for folder in FOLDERS]
