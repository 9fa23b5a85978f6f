"""A folder of manifests that people plausibly get wrong: `validate` names each mistake, and nothing besides."""

from pathlib import Path

import pytest

from keda_py.core.admission.codes import CODES
from keda_py.validation.report import validate_texts
from tests.places import ROOT

MISTAKES = sorted((ROOT / "tests/validation/mistakes").glob("*.yaml"))
OTHER_NAMES = {
    "window-over-sunday": "window-over-weekend",
    "windows-touch": "windows-overlap",
    "no-target-of-that-kind": "no-target",
    "unknown-time-zone": "",
}
"""File -> code, where the two differ; what cannot work at all is an error without one."""
TOLD_ELSEWHERE = {
    *("interval-unused", "target-elsewhere", "activation-target", "event-destination", "missing-secret-key"),
    "kubernetes-version",
}
"""Older checks, and one that a flag asks for, which tests of their own show."""


def mistake(name: str) -> str:
    return (MISTAKES[0].parent / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", MISTAKES, ids=lambda file: file.stem)
async def test_a_mistake_is_named(file: Path) -> None:
    report = await validate_texts({file.name: mistake(file.stem)})
    [problem] = report.problems
    assert problem.code == OTHER_NAMES.get(file.stem, file.stem)
    assert problem.field in problem.sentence
    assert problem.line > 1
    assert problem.severity == ("error" if problem.code in ("", "unknown-field") else "warning")


def test_each_check_has_a_mistake() -> None:
    assert len(MISTAKES) >= 20
    shown = {OTHER_NAMES.get(file.stem, file.stem) for file in MISTAKES}
    assert CODES - shown == TOLD_ELSEWHERE


@pytest.mark.parametrize(
    "file", [one for one in MISTAKES if one.stem not in ("unknown-time-zone",)], ids=lambda f: f.stem
)
async def test_a_mistake_that_is_meant_can_be_switched_off(file: Path) -> None:
    text, code = mistake(file.stem), OTHER_NAMES.get(file.stem, file.stem)
    report = await validate_texts(
        {
            "above.yaml": f"# keda-py: ignore={code}  for a reason\n{text}",
            "inside.yaml": text.replace("spec:\n", f"spec:  # keda-py: ignore=x,{code}\n"),
            "other.yaml": f"# keda-py: ignore=no-such-code\n{text}",
        }
    )
    assert [problem.file for problem in report.problems] == ["other.yaml"]


GOOD = [
    ("30 08 * * 1-5", "30 19 * * 1-5", "Asia/Seoul"),
    ("0 8 * * *", "0 20 * * *", "UTC"),
    ("0 8 * * *", "0 0 * * *", "Asia/Tokyo"),
    ("0 22 * * *", "0 6 * * *", "Europe/Prague"),
    ("0 22 * * 1-5", "0 6 * * 2-6", "Europe/Prague"),
    ("0 8 * * 1-5", "0 1 * * 2-6", "Asia/Seoul"),
    ("0 8 * * 1", "0 20 * * 5", "America/New_York"),
    ("0 9 1 * *", "0 17 1 * *", "Asia/Seoul"),
    ("0 9 1 3,6,9,12 *", "0 17 5 3,6,9,12 *", "Asia/Seoul"),
    ("0 8,13 * * 1-5", "0 12,18 * * 1-5", "Asia/Seoul"),
    ("*/30 8-17 * * *", "15-59/30 8-17 * * *", "Asia/Seoul"),
    ("0 10 * * sat,sun", "0 22 * * sat,sun", "Europe/London"),
    ("0 8 24-31 12 *", "0 20 24-31 12 *", "Europe/Berlin"),
]


@pytest.mark.parametrize(("start", "end", "zone"), GOOD)
async def test_a_schedule_as_it_should_be_is_not_doubted(start: str, end: str, zone: str) -> None:
    text = mistake("unknown-time-zone")
    for wrong, right in (("KST", zone), ("0 8 * * *", start), ("0 20 * * *", end)):
        assert text.count(wrong) == 1
        text = text.replace(wrong, right)
    report = await validate_texts({"m.yaml": text})
    assert report.problems == ()
    assert len(report.notes) == 2


async def test_a_comment_counts_for_the_document_that_it_stands_in() -> None:
    text = mistake("window-over-weekend")
    ignored = text.replace("spec:\n", "# keda-py: ignore=window-over-weekend\nspec:\n")
    second = text.replace("office", "other")
    assert len((await validate_texts({"m.yaml": f"{ignored}---\n{second}"})).problems) == 1
    assert len((await validate_texts({"m.yaml": f"---\n# keda-py: ignore=window-over-weekend\n{text}"})).problems) == 0


async def test_an_annotation_switches_off_for_one_object() -> None:
    text = mistake("window-over-weekend")
    annotated = text.replace(
        "metadata:\n  name",
        "metadata:\n  annotations:\n    keda-py.dev/ignore: window-swapped, window-over-weekend\n  name",
    )
    assert (await validate_texts({"m.yaml": annotated})).problems == ()


async def test_windows_and_what_a_deletion_leaves_are_told_as_notes() -> None:
    text = mistake("unknown-annotation")
    notes = [(note.line, note.severity, note.sentence) for note in (await validate_texts({"m.yaml": text})).notes]
    window = "spec.triggers[0]: Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week: 2 replicas"
    left = "deleting it while Deployment typo is at 0 leaves that at 0; set "
    assert notes == [
        (7, "note", f"ScaledObject typo: {left}spec.advanced.restoreToOriginalReplicaCount: true"),
        (11, "note", f"ScaledObject typo: {window}"),
    ]
    restored = text.replace("  triggers:", "  advanced:\n    restoreToOriginalReplicaCount: true\n  triggers:")
    assert len((await validate_texts({"m.yaml": restored})).notes) == 1


async def test_an_unknown_field_hides_nothing_else() -> None:
    text = mistake("unknown-field")
    report = await validate_texts({"m.yaml": text.replace("30 19 * * 1-5", "30 19 * * 1-4")})
    assert [problem.code for problem in report.problems] == ["unknown-field", "window-days-closed"]


def test_each_code_has_a_row_in_the_page_of_checks() -> None:
    lines = (ROOT / "CHECKS.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split("`")[1] for line in lines if line.startswith("| `")]
    assert sorted(rows) == sorted(CODES)
