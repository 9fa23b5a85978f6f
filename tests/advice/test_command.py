"""`keda-py advise --trace` as it is called: a table, a document, manifests that validate, files of a merge request."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from keda_py.core.advice.history import History
from tests.advice.traces import advised, hours_in, written
from tests.core.advice.habits import Habit, changed, is_right
from tests.core.advice.test_golden_traces import TRACES, history_of

UTC = ("--timezone", "UTC")


@pytest.mark.parametrize("name", TRACES)
def test_each_recorded_trace_is_advised_as_is_true(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = TRACES[name]
    path = written(tmp_path, web=history_of(trace))
    (found,) = advised(capsys, "--trace", path, "--timezone", trace["timeZone"])["workloads"]
    truth = trace["truth"]
    expected = "hours" if truth["hours"] else "asleep" if truth.get("alwaysAsleep") else "nothing"
    assert found["proposal"] == expected
    windows = [(each["days"], each["from"], each["to"]) for each in truth["hours"]]
    assert hours_in(found) == [f"{days} {begins}-{ends}" for days, begins, ends in sorted(windows, key=lambda w: w[1])]
    assert bool(found["because"]) == (expected == "nothing")


def with_odd_use(history: History, *moments: tuple[int, int]) -> History:
    """Half an hour of use on each (day, hour)."""

    def use(values: Any) -> None:
        for day, hour in moments:
            for at in range((day * 24 + hour) * 12, (day * 24 + hour) * 12 + 6):
                values[at] = 4.0

    return changed(history, use)


def test_use_that_would_have_met_it_asleep_is_told_with_its_moment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, web=with_odd_use(Habit().history(), (9, 22), (19, 5)))
    (found,) = advised(capsys, "--trace", path, *UTC)["workloads"]
    assert hours_in(found) == ["Mon-Fri 09:00-18:00"]
    proof = found["proof"]
    assert proof["waits"] == [
        {"at": "2026-08-12T22:00:00Z", "usedSeconds": 1800.0, "requests": 7200.0, "waitSeconds": 11 * 3600},
        {"at": "2026-08-22T05:00:00Z", "usedSeconds": 1800.0, "requests": 7200.0, "waitSeconds": 52 * 3600},
    ]
    assert proof["waitsAWeek"] == pytest.approx(2 / 6, abs=1e-3)
    assert proof["savedReplicaHoursAWeek"] == pytest.approx(168 - 45)


def test_requests_at_odd_hours_wake_the_environment_that_is_proposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = with_odd_use(Habit().history(), (9, 22), (19, 5))
    path = written(tmp_path, shop__web=odd, dev__web=Habit(windows=[("Mon-Fri", "07:00", "16:00")]).history())
    assert main(["advise", "--trace", path, *UTC, "-o", "manifest"]) == 0
    dev, shop = capsys.readouterr().out.split("---\n")[1:]
    assert "wakeOnRequest" not in dev
    assert yaml.safe_load(shop)["spec"]["wakeOnRequest"] == {"for": "1h"}
    assert "# Requests came 2 times at odd hours, so a request wakes it for 1h" in shop
    assert "without wakers it sleeps on" in shop


def test_manifests_do_not_speak_of_requests_where_cores_were_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, web=with_odd_use(Habit().history(), (9, 22)))
    assert main(["advise", "--trace", path, *UTC, "--unit", "cores", "-o", "manifest"]) == 0
    assert "wakeOnRequest" not in capsys.readouterr().out


def test_hours_that_would_deny_too_much_are_narrowed_and_the_shorter_ones_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = [(week * 7 + 1, 21) for week in (0,)]
    path = written(tmp_path, web=with_odd_use(Habit(weeks=4).history(), *late))
    (before,) = advised(capsys, "--trace", path, *UTC)["workloads"]
    assert hours_in(before) == ["Mon-Fri 09:00-18:00"]
    (after,) = advised(capsys, "--trace", path, *UTC, "--at-most-waits", "0/week")["workloads"]
    assert after["proposal"] == "nothing"
    assert "use would have met it asleep 0.2 times a week" in after["because"]


def test_a_window_of_half_the_weeks_is_added_where_nothing_may_be_denied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuesdays = [(week * 7 + 1, 21) for week in (0, 1)]
    path = written(tmp_path, web=with_odd_use(Habit(weeks=8).history(), *tuesdays))
    (before,) = advised(capsys, "--trace", path, *UTC)["workloads"]
    assert hours_in(before) == ["Mon-Fri 09:00-18:00"]
    assert before["proof"]["waitsAWeek"] == 0.25


def workload(name: str, namespace: str, kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    version = "batch/v1" if kind == "CronJob" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def scaled_object(target: str, namespace: str) -> dict[str, Any]:
    spec = {"scaleTargetRef": {"name": target}, "minReplicaCount": 3, "triggers": []}
    return workload("scaler", namespace, "ScaledObject", **spec) | {"apiVersion": "keda.sh/v1alpha1"}


@pytest.mark.parametrize(
    ("there", "whole"),
    [
        ([], False),
        ([workload("web", "default")], True),
        ([workload("web", "default"), workload("db", "elsewhere")], True),
        ([workload("web", "default"), scaled_object("web", "default")], True),
        ([scaled_object("web", "default")], False),
        ([workload("db", "default", "StatefulSet")], False),
        ([workload("web", "default"), workload("db", "default", "StatefulSet")], False),
        ([workload("web", "default"), workload("report", "default", "CronJob")], False),
    ],
    ids=["nothing", "it", "another namespace", "scaled", "its object alone", "another", "one more", "a job"],
)
def test_a_namespace_sleeps_as_a_whole_only_where_all_of_it_was_seen_unused(
    there: list[dict[str, Any]], whole: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, web=Habit(weeks=4).history())
    manifests = tmp_path / "there.yaml"
    manifests.write_text(yaml.safe_dump_all(there))
    (environment,) = advised(capsys, *([str(manifests)] if there else []), "--trace", path, *UTC)["environments"]
    assert ("selector" not in environment["spec"]) is whole


def test_counts_and_requests_are_those_of_the_manifests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, web=Habit(weeks=4).history())
    containers = [{"name": "web", "image": "web", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]
    body = workload("web", "default", replicas=2, template={"spec": {"containers": containers}})
    manifests = tmp_path / "there.yaml"
    prices = ("--price-per-core-hour", "0.1", "--price-per-gib-hour", "0.01")
    for bodies, replicas in (([body], 2), ([body, scaled_object("web", "default")], 3)):
        manifests.write_text(yaml.safe_dump_all(bodies))
        (found,) = advised(capsys, str(manifests), "--trace", path, *UTC, *prices)["workloads"]
        assert found["proof"]["savedReplicaHoursAWeek"] == pytest.approx(123 * replicas)
        assert found["proof"]["moneyAWeek"] == pytest.approx(123 * replicas * (0.05 + 0.01))


def test_manifests_validate_and_have_their_evidence_as_comments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unused = Habit(windows=()).history()
    path = written(
        tmp_path,
        shop__web=Habit().history(),
        shop__old=unused,
        dev__web=Habit(windows=[("Mon-Fri", "07:30", "19:00")]).history(),
    )
    there = tmp_path / "there.yaml"
    there.write_text(yaml.safe_dump_all([workload("web", "dev"), workload("web", "shop")]))
    assert main(["advise", str(there), "--trace", path, *UTC, "-o", "manifest"]) == 0
    text = capsys.readouterr().out
    hours = tmp_path / "hours.yaml"
    hours.write_text(text)
    assert main(["validate", str(hours)]) == 0, capsys.readouterr()
    assert "# shop/old was never used." in text
    assert "#   Mon-Fri 09:00-18:00: used on 30 of 30 days (100%), usually 09:00-18:00" in text
    assert "#   kubectl label deployment/web --namespace shop keda-py.dev/hours=hours" in text
    bodies = {(one["kind"], one["metadata"]["namespace"]): one for one in yaml.safe_load_all(text)}
    assert set(bodies) == {("Environment", "dev"), ("Environment", "shop"), ("Override", "shop")}
    assert bodies["Environment", "dev"]["spec"] == {
        "calendar": {"timeZone": "UTC", "hours": [{"days": "Mon-Fri", "from": "07:30", "to": "19:00"}]},
        "readyBy": True,
    }
    assert bodies["Environment", "shop"]["spec"]["selector"] == {"matchLabels": {"keda-py.dev/hours": "hours"}}


def test_files_of_a_merge_request_have_a_patch_for_each_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night = Habit(windows=[("Mon-Sun", "22:00", "04:00")]).history()
    path = written(tmp_path, web=Habit().history(), default__statefulset__batch=night)
    folder = tmp_path / "out"
    assert main(["advise", "--trace", path, *UTC, "--out", str(folder)]) == 0
    assert sorted(str(one.relative_to(folder)) for one in folder.rglob("*.yaml")) == [
        "default-hours-1.yaml",
        "default-hours-2.yaml",
        "patches/default-deployment-web.yaml",
        "patches/default-statefulset-batch.yaml",
    ]
    patch = yaml.safe_load((folder / "patches/default-statefulset-batch.yaml").read_text())
    name = patch["metadata"]["labels"]["keda-py.dev/hours"]
    environment = yaml.safe_load((folder / f"default-{name}.yaml").read_text())
    assert environment["spec"]["selector"]["matchLabels"] == {"keda-py.dev/hours": name}
    assert environment["spec"]["calendar"]["hours"] == [{"days": "Mon-Sun", "from": "22:00", "to": "04:00"}]


def test_a_table_has_each_proposal_and_why_there_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steady = Habit(windows=(), floor=0.2).history()
    path = written(tmp_path, web=Habit().history(), checks=steady)
    assert main(["advise", "--trace", path, *UTC, "--price-per-replica-hour", "0.1"]) == 0
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if line.startswith("default/web "))
    assert row.split() == ["default/web", "Mon-Fri", "09:00-18:00", "UTC", "123.0", "12.30", "0.0"]
    assert "default/checks: there is a steady 0.2 day and night and nothing above it" in text


def test_holidays_are_those_of_the_country_and_closed_where_they_were_unused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    easter = (date(2026, 4, 3), date(2026, 4, 6))
    habit = Habit(zone="Europe/Berlin", start=date(2026, 3, 2), off=easter)
    path = written(tmp_path, web=habit.history())
    found = advised(capsys, "--trace", path, "--timezone", "Europe/Berlin")
    assert found["workloads"][0]["holidays"] == {"country": "DE", "closed": True}
    assert found["environments"][0]["spec"]["calendar"]["holidays"] == [{"country": "DE"}]
    assert found["workloads"][0]["proof"]["waits"] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--at-most-waits", "often"], '"often" is not a limit; write 2/week, 1/day or 3/month'),
        (["--country", "XX"], "--country: 'XX' is unknown"),
        (["--subdivision", "BY"], "--subdivision: goes with --country; add it"),
        (["--timezone", "Mars"], "--timezone"),
    ],
)
def test_wrong_flags_are_refused_with_a_remedy(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, web=Habit(weeks=1).history())
    try:
        code = main(["advise", "--trace", path, *arguments])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("time,web\n", "has no rows below its header"),
        ("time,a/b/c\n2026-01-01T00:00:00Z,1\n2026-01-01T00:05:00Z,1\n", 'trace.csv:1: "a/b/c" names no workload'),
        ("time,web\n2026-01-01T00:00:00Z,1\n2026-01-02T00:00:00Z,1\n", "the samples are 1440 min apart"),
        ("time,web\n2026-01-01T00:00:00Z,1\n2026-01-01T00:00:00Z,1\n", "trace.csv:3: this time is not after"),
        ("time,web\n2026-01-01T00:00:00Z,much\n2026-01-01T00:05:00Z,1\n", '"much" is not a plain number'),
    ],
)
def test_a_trace_that_cannot_be_read_is_refused_with_its_place(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    assert main(["advise", "--trace", str(path)]) == 2
    assert told in capsys.readouterr().err


def test_samples_of_another_distance_give_the_same_hours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = Habit(weeks=4).history()
    rows = [
        f"{history.origin.timestamp() + number * 300 + half:.0f},{value:.3f}"
        for number, value in enumerate(history.values)
        for half in (0, 150)
    ]
    path = tmp_path / "trace.csv"
    for chosen in (rows, rows[::6]):
        path.write_text("\n".join(["time,web", *chosen]) + "\n")
        (found,) = advised(capsys, "--trace", str(path), *UTC)["workloads"]
        assert is_right_in(found)


def is_right_in(found: dict[str, Any]) -> bool:
    from keda_py.core.advice.hours import AwakeHours
    from keda_py.core.environment.calendar.days import parse_weekdays
    from tests.core.advice.habits import minutes_of

    hours = [
        AwakeHours(*minutes_of(each["from"], each["to"]), parse_weekdays(each["days"], field="days"))
        for each in found["hours"]
    ]
    return is_right(hours, [("Mon-Fri", "09:00", "18:00")])


def test_json_of_a_call_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, web=Habit(weeks=1).history())
    assert main(["advise", "--trace", path, "-o", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["environments"] == []
    assert body["workloads"][0]["because"] == "there are 7 days of data, and a weekly habit needs 21"


def test_a_call_that_names_no_source_and_no_namespace_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["advise"])
    assert "-n NS or -A alone tell what the operator itself has recorded" in capsys.readouterr().err
