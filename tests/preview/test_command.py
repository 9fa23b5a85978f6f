"""`keda-py preview` as it is called."""

import json
from pathlib import Path

import pytest
import yaml

from keda_py.cli import main
from keda_py.core.spec import build_spec
from tests.builders import GROUP, cron, hpa, obj
from tests.calls import calls_of
from tests.preview.builders import app, dev

WEEK = ["--from", "2026-11-23"]


def written(folder: Path, *bodies: dict[str, object], name: str = "app.yaml") -> str:
    path = folder / name
    path.write_text(yaml.safe_dump_all(bodies))
    return str(path)


def test_a_page_has_the_calendar_the_changes_and_the_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    window = cron("0 8 * * 1-5", "0 1 * * 1-5", 1, "Asia/Seoul")
    assert main(["preview", *WEEK, written(tmp_path, app(window))]) == 0
    page = capsys.readouterr().out
    assert "Mon 23 Nov 2026 00:00 to Mon 30 Nov 2026 00:00 Asia/Seoul" in page
    assert "Sat 28 Nov ████████" in page
    assert "[window-over-weekend]" in page
    assert "Tue 24 01:05:00  1 → 0     no trigger is active, and the cooldown of 5 min is over" in page


def test_a_document_has_every_change_in_utc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", *WEEK, "--days=1", "-o", "json", written(tmp_path, app(cron(desired=1)))]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["from"], body["to"]) == ("2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z")
    only = body["objects"][0]
    assert only["upHours"] == 12.0833
    assert [(one["at"], one["from"], one["to"], one["reason"]) for one in only["changes"]] == [
        ("2026-11-23T08:00:00Z", 0, 1, "Activated"),
        ("2026-11-23T20:05:00Z", 1, 0, "Deactivated"),
    ]


def test_a_manifest_that_would_be_refused_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, app(cron("0 8 * *")))
    assert main(["preview", path]) == 1
    told = capsys.readouterr()
    assert not told.out
    assert f"{path}:" in told.err
    assert "expected exactly 5 fields" in told.err


def test_what_cannot_be_previewed_fails_and_the_rest_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = dev(calendar=None, calendarRef={"name": "gone"})
    assert main(["preview", *WEEK, written(tmp_path, app(), lost)]) == 1
    page = capsys.readouterr().out
    assert "not previewed: Environment shop/dev: spec.calendarRef: there is no Calendar 'gone' here" in page
    assert "ScaledObject shop/app" in page


@pytest.mark.parametrize("wrong", [["--days=0"], ["--days=999"], ["--from=soon"], ["--timezone=Mars/Base"]])
def test_wrong_usage_is_told(wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", *wrong, written(tmp_path, app())]) == 2
    assert wrong[0].partition("=")[0] in capsys.readouterr().err


def test_names_of_tenants_command_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reason = "\x1b[31mred"
    late = obj(GROUP, "Override", "late", "shop", spec={"state": "Awake", "for": "2h", "reason": reason})
    main(["preview", *WEEK, written(tmp_path, dev(), late)])
    assert "\x1b" not in capsys.readouterr().out


def test_a_difference_fails_a_pipeline_and_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(tmp_path, app(cron("0 8 * * 1-5", "0 19 * * 1-5", 1)), name="old.yaml")
    new = written(tmp_path, app(cron("0 8 * * 1-6", "0 19 * * 1-6", 1)), name="new.yaml")
    assert main(["preview", "--diff", old, new]) == 1
    assert "  Saturday: up 11.08 h more\n" in capsys.readouterr().out
    assert main(["preview", "--diff", old, old]) == 0
    assert capsys.readouterr().out == "nothing goes otherwise\n"
    assert main(["preview", "-o", "json", "--diff", old, new]) == 1
    assert json.loads(capsys.readouterr().out)[0]["new"]["upHoursAWeek"] == 66.5


@pytest.mark.parametrize("output", ["svg", "ics"])
def test_a_picture_and_a_calendar_are_written(
    output: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["preview", *WEEK, "-o", output, written(tmp_path, app())]) == 0
    assert capsysbinary.readouterr().out.startswith(b"<svg" if output == "svg" else b"BEGIN:VCALENDAR")


def test_each_object_is_read_into_a_spec_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, app(cron(desired=1)), app(cron(desired=1), name="other"))
    calls = calls_of(lambda: main(["preview", *WEEK, file]), build_spec)
    assert "ScaledObject shop/other" in capsys.readouterr().out
    assert calls == 2


def members(tmp_path: Path) -> str:
    """A Deployment under an HPA that goes to zero by itself, and one without, both in an Environment."""
    bodies = [obj("apps/v1", "Deployment", name, "shop", spec={"replicas": 2}) for name in ("web", "api")]
    source = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "4"}}
    own = hpa("web", "web", "shop", minReplicas=0, metrics=[{"type": "External", "external": source}])
    return written(tmp_path, dev(), *bodies, own)


def test_a_member_under_an_hpa_that_goes_to_zero_has_no_pod_without_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preview", *WEEK, "--days=1", "--hpa-scale-to-zero", "-o", "json", members(tmp_path)]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["objects"]}
    assert sorted(found) == ["api", "dev"]
    told = "Deployment web: its HPA has it at 0 without work; work wakes it by day, and at night none does"
    assert found["dev"]["remarks"] == [told]


def test_without_the_flag_hpas_are_not_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", *WEEK, "--days=1", "-o", "json", members(tmp_path)]) == 0
    assert sorted(one["name"] for one in json.loads(capsys.readouterr().out)["objects"]) == ["api", "dev", "web"]


def test_with_the_flag_an_hpa_that_would_be_refused_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preview", "--hpa-scale-to-zero", written(tmp_path, hpa("web", "web", "shop", maxReplicas=0))]) == 1
    assert "spec.maxReplicas" in capsys.readouterr().err
