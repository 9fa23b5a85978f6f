"""Pages of previews, besides counts: titles, holidays, waves, sums, and warnings about what may be meant otherwise."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml

from keda_py.cli import main
from keda_py.errors import ConfigError
from keda_py.preview.pages.body import body_of
from keda_py.preview.pages.svg import svg_of
from keda_py.preview.pages.table import page
from keda_py.preview.period import period_of, refuse_past
from keda_py.replay.previews import Preview
from tests.builders import cron, cron_job, deployment, override, scaled_object
from tests.preview.builders import BEGINS, app, dev, look, the

UTC_ZONE = ZoneInfo("UTC")
NIGHT = cron_job("report", "0 3 * * *") | {"metadata": {"name": "report", "namespace": "shop"}}


def text_of(found: Preview) -> str:
    return page(found, UTC_ZONE, 200).plain


def test_a_namespace_is_drawn_once_with_its_members_named() -> None:
    text = text_of(look(app(cron("0 6 * * *", "0 22 * * *", 3)), deployment("plain", 2, namespace="shop"), dev()))
    assert text.count("\nMon 23 Nov ") == 1
    assert "up while it is awake: ScaledObject app (3), Deployment plain (2)" in text


def test_a_member_with_hours_of_its_own_is_drawn_beside_its_environment() -> None:
    assert text_of(look(app(cron("0 12 * * *", "0 16 * * *", 3)), dev())).count("\nMon 23 Nov ") == 2


def test_a_sum_line_tells_the_replica_hours_of_all() -> None:
    text = text_of(look(deployment("a", 2, namespace="shop"), deployment("b", 1, namespace="shop"), dev()))
    (line,) = [line for line in text.splitlines() if line.startswith("sum")]
    assert line.split() == ["sum", "150.0", "30%", "of", "504.0", "without", "sleep"]


def test_a_cron_job_has_no_replica_hours() -> None:
    found = look(NIGHT, dev())
    (line,) = [line for line in text_of(found).splitlines() if line.startswith("CronJob shop/report  ")]
    assert line.split()[:3] == ["CronJob", "shop/report", "50.0"]
    assert "\nsum" not in text_of(found), "there is no count to sum up"
    (job,) = [one for one in body_of(found, UTC_ZONE)["objects"] if one["kind"] == "CronJob"]
    assert (job["upHours"], job["replicaHours"], job["replicaHoursAWeek"]) == (50.0, None, None)
    assert job["days"][0]["replicaHours"] is None


def test_what_kubernetes_runs_when_a_job_is_resumed_is_said_and_that_its_time_never_comes() -> None:
    text = text_of(look(NIGHT, dev()))
    assert "of runs missed while suspended Kubernetes starts the last as it is resumed" in text
    assert "Environment dev, which suspends it outside of them" in text
    assert "[job-never-runs]" in text
    quiet = NIGHT | {"metadata": NIGHT["metadata"] | {"annotations": {"keda-py.dev/ignore": "job-never-runs"}}}
    assert "[job-never-runs]" not in text_of(look(quiet, dev()))


def test_holidays_are_named() -> None:
    calendar = {"timeZone": "UTC", "hours": [{"from": "08:00", "to": "18:00"}], "holidays": [{"country": "US"}]}
    found = look(dev(calendar=calendar))
    (line,) = [line for line in text_of(found).splitlines() if line.startswith("Thu 26 Nov")]
    assert line.endswith("0.0 h  holiday: Thanksgiving Day")
    days = {one["day"]: one["because"] for one in body_of(found, UTC_ZONE)["objects"][0]["days"]}
    assert {day for day, because in days.items() if because} == {"2026-11-26"}
    assert b"Thanksgiving Day" in svg_of(found, UTC_ZONE)


def test_waves_and_what_ready_by_has_learnt_are_told() -> None:
    waves = [{"name": "data", "pause": "90s", "selector": {"matchLabels": {"wave": "data"}}}]
    db = deployment("db", 1, namespace="shop")
    db["metadata"]["labels"] = {"wave": "data"}
    live = dev(waves=waves, readyBy=True) | {"status": {"wakes": [240, 180]}}
    text = text_of(look(db, deployment("web", 1, namespace="shop"), live))
    assert "wave data: Deployment db; the next one waits for it up to 5 min, then 1 min of pause" in text
    assert "wave rest: Deployment web" in text
    assert "readyBy: it begins to wake 4 min before the hours, as its last wakes took, 30 min at most" in text


@pytest.mark.parametrize(("metadata", "to"), [({}, "any Service of its pods"), ({"services": "web"}, "web")])
def test_of_a_scaled_object_with_a_trigger_for_requests_it_is_told_which_one_wakes_it(
    metadata: dict[str, str], to: str
) -> None:
    trigger = {"type": "request", "metadata": metadata | {"activeFor": "30m"}}
    text = text_of(look(deployment("web", 1, namespace="shop"), scaled_object(trigger, name="web", namespace="shop")))
    assert f"a request to {to} wakes it for 30 min" in text


@pytest.mark.parametrize(
    ("services", "to"),
    [
        (None, "any Service of its members"),
        ({"names": ["web", "api"]}, "web or api"),
        ({"matchLabels": {"wake": "yes"}}, "a Service that it selects"),
    ],
)
def test_it_is_told_which_request_wakes_it(services: object, to: str) -> None:
    wake = {"for": "90m"} | ({"services": services} if services else {})
    text = text_of(look(deployment("web", 1, namespace="shop"), dev(wakeOnRequest=wake)))
    assert f"a request to {to} wakes it for 1 h 30 min" in text


@pytest.mark.parametrize(
    ("bodies", "code"),
    [
        ([dev(hours=[{"from": "19:30", "to": "08:30"}])], "hours-swapped"),
        ([dev(waves=[{"name": "data", "selector": {"matchLabels": {"wave": "data"}}}])], "wave-empty"),
        ([dev(), dev() | {"metadata": {"name": "late", "namespace": "shop"}}], "members-shared"),
        ([dev(), override("late", "shop", state="Awake")], "override-endless"),
    ],
)
def test_what_the_operator_would_find_out_is_told_before(bodies: list[dict[str, object]], code: str) -> None:
    found = look(deployment("web", 1, namespace="shop"), *bodies)
    assert [one.rpartition("[")[2] for one in found.warnings] == [f"{code}]"]
    assert f"[{code}]" in text_of(found)
    assert body_of(found, UTC_ZONE)["warnings"] == list(found.warnings)


def test_hours_before_now_are_not_drawn() -> None:
    now = datetime(2026, 11, 23, 9, 30, 20, tzinfo=UTC)
    period = period_of((), now, days=1, since="", timezone="UTC")
    assert (period.begins, period.ends) == (now.replace(second=0), now.replace(second=0) + timedelta(days=1))
    text = text_of(look(dev(), begins=period.begins, length=timedelta(days=1)))
    first, second = [
        line[11:59] for line in text.splitlines() if line.startswith(("Mon 23", "Tue 24")) and "h" in line
    ][:2]
    assert first == " " * 19 + "█" * 17 + "·" * 12
    assert second == "·" * 16 + "█" * 3 + " " * 29


def test_the_past_of_a_cluster_is_not_reckoned() -> None:
    with pytest.raises(ConfigError, match=r"--from: 2026-11-20 is before now.*keda-py explain tells what was"):
        refuse_past(BEGINS - timedelta(days=3), BEGINS, "2026-11-20")
    refuse_past(BEGINS, BEGINS, "")


def test_an_override_that_ended_before_a_period_of_the_past_began_is_refused_and_one_within_it_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.yaml"
    late = override("late", "shop", state="Awake", until="2020-03-03T22:00:00Z", **{"from": "2020-03-03T19:00:00Z"})
    file.write_text(yaml.safe_dump_all([dev(), late]))
    assert main(["preview", str(file)]) == 1
    assert "is over before it begins" in capsys.readouterr().err
    assert main(["preview", "--from", "2020-03-02", "-o", "json", str(file)]) == 0
    changes = json.loads(capsys.readouterr().out)["objects"][0]["changes"]
    assert "2020-03-03T22:00:00Z" in [one["at"] for one in changes]


def test_warnings_go_beside_a_document_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(yaml.safe_dump_all([NIGHT, dev()]))
    assert main(["preview", "-o", "ics", str(file)]) == 0
    assert "warning: CronJob shop/report: " in capsys.readouterr().err


def test_the_same_environment_is_found_for_all_its_members() -> None:
    found = look(app(), deployment("web", 1, namespace="shop"), dev())
    assert {one.member_of for one in found.subjects if one.kind != "Environment"} == {"dev"}
    assert the("Environment/dev", found).member_of == ""
