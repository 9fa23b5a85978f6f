"""The command `keda-py validate`: exit codes, output, and where it reads from."""

import json
from pathlib import Path

import pytest

from keda_py.cli import main
from keda_py.core.spec import build_spec
from tests.calls import calls_of
from tests.programs.client import run

GOOD = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec:
  scaleTargetRef: {name: web}
  triggers:
  - type: cron
    metadata: {timezone: UTC, start: 0 8 * * *, end: 0 20 * * *, desiredReplicas: "2"}
"""
BAD = GOOD.replace("timezone: UTC", "timezone: Mars/Olympus")
DOUBTFUL = GOOD.replace("timezone: UTC", "timezone: UTC, timezome: UTC")
PRUNED = GOOD.replace("spec:", "spec:\n  minReplicas: 2")


@pytest.mark.parametrize(
    ("text", "flags", "code", "summary"),
    [
        (GOOD, [], 0, "1 object checked: nothing wrong"),
        (BAD, [], 1, "1 object checked: 1 error"),
        (DOUBTFUL, [], 0, "1 object checked: 1 warning"),
        (DOUBTFUL, ["--strict"], 1, "1 object checked: 1 warning"),
        (PRUNED, [], 1, "1 object checked: 1 error"),
        ("", [], 0, "no KEDA objects found"),
    ],
)
def test_the_exit_code_is_for_pipelines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, flags: list[str], code: int, summary: str
) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(text)
    assert main(["validate", *flags, str(file)]) == code
    assert capsys.readouterr().out.splitlines()[-1] == summary


def test_a_line_begins_as_editors_and_pipelines_read_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(BAD)
    main(["validate", str(file)])
    assert capsys.readouterr().out.startswith(
        f"{file}:8: error: ScaledObject web: spec.triggers[0].metadata.timezone: 'Mars/Olympus' is not a known"
    )


def test_a_folder_is_read_to_its_depths_in_one_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.yaml", "a.yml", "deep/c.json", "notes.txt"):
        (tmp_path / name).write_text(BAD.replace("name: web", f"name: {name[0]}") if name != "deep/c.json" else "{}")
    assert main(["validate", str(tmp_path)]) == 1
    files = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert files == [str(tmp_path / name) for name in ("a.yml", "b.yaml", "deep/c.json")]


def test_helms_output_is_read_from_standard_input() -> None:
    text = f"---\n# Source: shop/templates/scaledobject.yaml\n{BAD}"
    done = run(["validate", "-"], given=text)
    assert done.returncode == 1
    assert done.stdout.startswith("stdin:10: error:")
    assert "(shop/templates/scaledobject.yaml)" in done.stdout


def test_machines_get_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(BAD)
    assert main(["validate", "--output", "json", str(file)]) == 1
    body = json.loads(capsys.readouterr().out)
    [problem] = body["problems"]
    assert body["objects"] == 1
    assert (problem["file"], problem["line"], problem["severity"]) == (str(file), 8, "error")
    assert (problem["object"], problem["field"]) == ("ScaledObject web", "spec.triggers[0].metadata.timezone")


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot be read: No such file or directory; check the path"), (b"\xff\xfe", "not UTF-8 at byte 0")],
)
def test_a_file_that_cannot_be_read_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: str
) -> None:
    file = tmp_path / "web.yaml"
    if content is not None:
        file.write_bytes(content)
    assert main(["validate", str(file)]) == 2
    assert words in capsys.readouterr().err


def test_nothing_that_a_file_says_commands_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = r'"web\e[2J\e]0;t\a\u202e\nall.yaml:1: note: fine"'
    (tmp_path / "a\x1b[31m.yaml").write_text(BAD.replace("{name: web}", f"{{name: {name}}}"))
    (tmp_path / "b.yaml").write_text(BAD)
    main(["validate", str(tmp_path)])
    main(["validate", f"{tmp_path}/no\x1b[31m.yaml"])
    printed = capsys.readouterr()
    lines = (printed.out + printed.err).splitlines()
    assert lines
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("all.yaml") for line in lines)
    assert any("web\\u001b[2J" in line for line in lines)


def test_an_empty_folder_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tmp_path)]) == 2
    assert "files in this folder; check the path" in capsys.readouterr().err


def test_a_chart_in_a_folder_is_left_to_helm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "chart/templates").mkdir(parents=True)
    (tmp_path / "chart/Chart.yaml").write_text("name: web\nversion: 1.0.0\n")
    (tmp_path / "chart/templates/web.yaml").write_text("{{ if .Values.on }}\n")
    (tmp_path / "web.yaml").write_text(GOOD)
    assert main(["validate", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "1 object checked: nothing wrong\n"
    render = f"render it and give what comes out: helm template {tmp_path}/chart > rendered.yaml"
    assert printed.err == f"{tmp_path}/chart: skipped, is a Helm chart; {render}\n"
    assert main(["validate", f"{tmp_path}/chart"]) == 2
    assert capsys.readouterr().err == f"keda-py validate: {tmp_path}/chart: is a Helm chart; {render}\n"


MANY = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec:
  scaleTargetRef: {name: web}
  triggers:
  - {type: reddis, metadata: {}}
  - {type: cron, metadata: {timezone: UTC, start: x, end: "0 1 * * *", desiredReplicas: "1"}}
  - {type: redis, metadata: {listName: 5}}
---
apiVersion: keda-py.dev/v1alpha1
kind: Environment
metadata: {name: dev}
spec:
  hours: [{days: Mon-Fri, from: "08:30", to: "19:30"}]
  grace: soon
  maxLead: later
  waves: [{name: rest, selector: {matchLabels: {a: b}}}, {name: core}]
  calendar:
    timeZone: Mars/Base
    grace: 5m
    hours: [{days: Mon-Foo, from: "8:30", to: "25:30"}, {days: Bar, from: "09:00", to: "10:00"}]
    exceptions: [{dates: ["2026-13-01"], closed: true}, {dates: ["2026-12-01"]}]
"""


def test_the_mistakes_of_an_object_come_all_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those of triggers of an object that the schema refuses, and of each row of a calendar."""
    (tmp_path / "all.yaml").write_text(MANY)
    assert main(["validate", "-o", "json", str(tmp_path)]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert {one["field"] for one in problems} == {
        *("spec.triggers[0].type", "spec.triggers[1].metadata.start", "spec.triggers[2].metadata.listName"),
        *("spec.hours", "spec.calendar.grace", "spec.grace", "spec.maxLead"),
        *("spec.waves[0].name", "spec.waves[1].selector"),
        *("spec.calendar.timeZone", "spec.calendar.hours[0].days", "spec.calendar.hours[0].to"),
        *("spec.calendar.hours[1].days", "spec.calendar.exceptions[0].dates[0]", "spec.calendar.exceptions[1]"),
    }


def test_a_field_at_the_wrong_place_is_told_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "all.yaml").write_text(MANY)
    main(["validate", str(tmp_path)])
    told = capsys.readouterr().out
    assert "spec.hours: unknown field; write it below calendar" in told
    assert "spec.calendar.grace: unknown field; write it below spec" in told


def test_each_object_is_read_into_a_spec_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(f"{GOOD}---\n{GOOD.replace('web', 'other')}")
    calls = calls_of(lambda: main(["validate", "--notes", str(file)]), build_spec)
    assert "2 objects checked" in capsys.readouterr().out
    assert calls == 2
