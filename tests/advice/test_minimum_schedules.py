"""ScalingSchedules for ScaledObjects whose own triggers asked for fewer replicas than their minimum, by hours."""

import random
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from keda_py.advice.command import AdviseOptions, find
from keda_py.advice.proposals.minimum_schedules import Found
from keda_py.advice.proposals.places import PlaceRule
from keda_py.advice.proposals.workload import MinimumSchedule, Observed, WorkloadKey
from keda_py.advice.sources.triggers import add_triggers
from keda_py.cli import main
from keda_py.clock import SystemClock
from keda_py.core.advice.candidates import NoCandidate
from keda_py.core.advice.history import History
from keda_py.core.environment.calendar.days import parse_minute, parse_weekdays
from tests.advice.queues import QueueLoad, asks, found_for, worker
from tests.advice.recorded import Counted, monday, recorded
from tests.advice.traces import advised
from tests.builders import bare_scaled_object, cpu, deployment
from tests.core.advice.habits import Habit, changed, without

UTC = ("--timezone", "UTC")
DAY = 288


def spec_of(found: Found) -> dict[str, Any]:
    assert isinstance(found, MinimumSchedule), found
    spec: dict[str, Any] = found.body["spec"]
    return spec


def because_of(found: Found) -> str:
    assert isinstance(found, NoCandidate), found
    return found.because


async def test_the_minimum_is_lowered_to_what_the_triggers_asked_for_outside_of_the_busy_hours() -> None:
    found = await found_for(worker(), QueueLoad().history())
    assert spec_of(found) == {
        "names": ["worker"],
        "timeZone": "UTC",
        "periods": [
            {
                "name": "at-least-8",
                "hours": [{"days": "Mon-Fri", "from": "09:00", "to": "18:00"}],
                "minReplicas": 8,
            }
        ],
        "otherwise": {"minReplicas": 3},
    }
    assert isinstance(found, MinimumSchedule)
    assert found.saved_a_week == pytest.approx((7 * 24 - 45) * 5, rel=0.01)
    assert found.shortages == ()
    assert found.seconds_short <= 60 * 5 * 6  # at most a minute at the begin of each day, at 09:00 exactly


async def test_a_floor_that_is_too_high_day_and_night_is_lowered_twice() -> None:
    found = await found_for(worker(minimum=12), QueueLoad(busy=60, quiet=20).history())
    spec = spec_of(found)
    assert [(each["name"], each["minReplicas"]) for each in spec["periods"]] == [("at-least-6", 6)]
    assert spec["otherwise"] == {"minReplicas": 2}


async def test_a_minimum_that_is_never_needed_is_lowered_at_all_times() -> None:
    found = await found_for(worker(), QueueLoad(busy=25, quiet=25).history())
    spec = spec_of(found)
    assert [each["minReplicas"] for each in spec["periods"]] == [3]
    assert spec["periods"][0]["hours"] == [{"days": "Mon-Sun", "from": "00:00", "to": "24:00"}]


async def test_the_trigger_that_asks_for_most_decides() -> None:
    """Each alone would be low while the other one is busy."""
    nights = QueueLoad(windows=[("Mon-Sun", "20:00", "22:00")])
    found = await found_for(worker(asks(), asks("other")), QueueLoad().history(), nights.history())
    hours = {(each["days"], each["from"], each["to"]) for each in spec_of(found)["periods"][0]["hours"]}
    assert hours == {("Mon-Fri", "09:00", "18:00"), ("Mon-Sun", "20:00", "22:00")}


async def test_moments_that_needed_more_are_told_and_counted_against_the_limit() -> None:
    odd = changed(QueueLoad().history(), lambda values: _raise(values, 5 * DAY + 240, 6, 95.0))
    found = await found_for(worker(), odd)
    assert isinstance(found, MinimumSchedule), found
    (moment,) = found.shortages
    assert (moment.at.isoformat(), moment.seconds) == ("2026-08-08T20:00:00+00:00", 1800)
    assert (moment.kept, moment.needed) == (3, 10)
    assert found.seconds_short > found.seconds_short_instead >= 0
    assert found.seconds_short < 1800  # the HPA adds replicas as it does at any time
    assert "more than a lower minimum was needed 0.2 times a week" in because_of(
        await found_for(worker(), odd, waits=0.0)
    )


def _raise(values: "array[float]", at: int, count: int, to: float) -> None:
    for number in range(at, at + count):
        values[number] = to


async def test_a_need_at_odd_moments_lowers_nothing() -> None:
    chance = random.Random(7)

    def scatter(values: "array[float]") -> None:
        for at in range(0, len(values), 12):
            _raise(values, min(at + chance.randrange(12), len(values) - 2), 2, chance.choice((25.0, 95.0, 95.0)))

    found = await found_for(worker(), changed(QueueLoad(busy=25).history(), scatter))
    assert "there are no regular hours in which 3 are enough" in because_of(found)


async def test_what_is_missing_lowers_nothing() -> None:
    """At night of the last four weeks nothing was recorded: the two weeks before do not make it low."""
    nights = [(day * DAY, day * DAY + 100) for day in range(14, 42)]
    full, gaps = QueueLoad().history(), without(QueueLoad().history(), *nights)
    assert _low_minutes(spec_of(await found_for(worker(), full))) > _low_minutes(
        spec_of(await found_for(worker(), gaps))
    )
    for each in spec_of(await found_for(worker(), gaps))["periods"][0]["hours"]:
        assert each["from"] == "00:00" or each["to"] == "18:00"
    assert "missing" in because_of(await found_for(worker(), without(full, (0, 25 * DAY))))
    first_days = History(origin=full.origin, step=full.step, values=full.values[: 10 * DAY])
    assert "10 days" in because_of(await found_for(worker(), first_days))


def _low_minutes(spec: dict[str, Any]) -> float:
    hours = spec["periods"][0]["hours"]
    return 7 * 1440 - sum(
        len(parse_weekdays(each["days"], field="days"))
        * ((parse_minute(each["to"], field="to") - parse_minute(each["from"], field="from")) % 1440 or 1440)
        for each in hours
    )


async def test_more_need_never_makes_more_hours_low() -> None:
    less = QueueLoad(windows=[("Mon-Fri", "09:00", "17:00")])
    more = QueueLoad(windows=[("Mon-Fri", "08:00", "19:00")])
    low = [_low_minutes(spec_of(await found_for(worker(), each.history()))) for each in (less, more)]
    assert low[0] > low[1]


async def test_an_idle_count_stays_below_the_lowered_minimum() -> None:
    """With a minimum at or below idleReplicaCount the operator would drop that."""
    found = await found_for(worker(idleReplicaCount=4), QueueLoad().history())
    assert spec_of(found)["otherwise"] == {"minReplicas": 5}


async def test_a_second_schedule_for_one_scaled_object_would_be_a_conflict() -> None:
    periods = [{"name": "day", "hours": [{"from": "08:00", "to": "10:00"}], "minReplicas": 9}]
    there = {
        "apiVersion": "keda-py.dev/v1alpha1",
        "kind": "ScalingSchedule",
        "metadata": {"name": "mine", "namespace": "shop"},
        "spec": {"names": ["worker"], "periods": periods},
    }
    other = {**there, "spec": {"names": ["api"], "periods": periods}}
    assert "ScalingSchedule mine" in because_of(await found_for(worker(), QueueLoad().history(), written=(there,)))
    assert spec_of(await found_for(worker(), QueueLoad().history(), written=(other,)))


def test_queries_of_triggers_are_asked_of_a_real_server_and_become_a_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a trigger that cannot be asked it is said which one; the other workloads are advised all the same."""
    start = monday(4, SystemClock().now())
    counted = [
        Counted(metric="queue_length", labels={"queue": "a"}, habit=QueueLoad(start=start, weeks=5), gauge=True),
        Counted(metric="pair", labels={"queue": "a"}, habit=QueueLoad(start=start, weeks=5), gauge=True),
        Counted(metric="pair", labels={"queue": "b"}, habit=QueueLoad(start=start, weeks=5), gauge=True),
        Counted(
            metric="nginx_ingress_controller_requests",
            labels={"exported_namespace": "shop", "exported_service": "web"},
            habit=Habit(start=start, weeks=5),
        ),
    ]
    bodies = {
        "worker": worker(asks("sum(queue_length) # all")),
        "mixed": worker(asks(), cpu()),
        "pair": worker(asks("pair")),
        "broken": worker(asks("sum(")),
        "value": worker({**asks(), "metricType": "Value"}),
        "gone": worker(asks("no_such_metric")),
    }
    for name, body in bodies.items():
        body["metadata"]["name"] = name
    there = tmp_path / "there.yaml"
    there.write_text(yaml.safe_dump_all(bodies.values()))
    with recorded(tmp_path, counted) as url:
        arguments = (str(there), "-n", "shop", "--weeks", "4", "--prometheus", url, *UTC)
        found = {each["name"]: each for each in advised(capsys, *arguments)["workloads"]}
        assert main(["advise", *arguments, "-o", "manifest"]) == 0
        text = capsys.readouterr().out
        assert main(["advise", *arguments, "--out", str(tmp_path / "out")]) == 0
        capsys.readouterr()
    manifest = found["worker"]["scalingSchedule"]["manifest"]
    assert manifest["spec"]["periods"][0]["hours"] == [{"days": "Mon-Fri", "from": "09:00", "to": "18:15"}]
    assert manifest["spec"]["otherwise"] == {"minReplicas": 3}
    reasons = {name: " ".join(each["evidence"]) for name, each in found.items() if not each["scalingSchedule"]}
    assert set(reasons) == {"mixed", "pair", "broken", "value", "gone", "web"}
    assert "trigger 1 (cpu)" in reasons["mixed"]
    assert "gives 2 series" in reasons["pair"]
    assert "gives 0 series" in reasons["gone"]
    assert "metricType Value" in reasons["value"]
    assert "parse error" in reasons["broken"]
    assert "no lower minimum" not in reasons["web"]
    assert found["web"]["proposal"] == "hours"
    assert yaml.safe_load((tmp_path / "out/shop-worker-minimum.yaml").read_text()) == manifest
    kinds = [each["kind"] for each in yaml.safe_load_all(text) if each]
    assert kinds.count("ScalingSchedule") == 1
    assert (
        "# minReplicaCount 8 is more than its triggers needed: 8 Mon-Fri 09:00-18:15, 3 at other times is enough"
        in text
    )
    assert "# at no moment was more needed than it keeps" in text
    path = tmp_path / "validated.yaml"
    path.write_text(text)
    assert main(["validate", str(path), str(there)]) in (0, 1)
    assert "ScalingSchedule" not in capsys.readouterr().out


def test_of_other_triggers_the_operators_own_record_is_read_and_a_failed_reading_is_not_low(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failed reading leaves the last value of keda_scaler_metrics_value, and counts as an error."""
    start = monday(4, SystemClock().now())
    queue = {"type": "redis", "metadata": {"address": "redis:6379", "listName": "jobs", "listLength": "10"}}
    series = {"namespace": "keda", "exported_namespace": "shop", "metric": "s0-redis-jobs", "scaler": "redisScaler"}
    nights = Habit(start=start, weeks=5, windows=[("Mon-Fri", "01:00", "04:00")])
    counted = []
    for name in ("worker", "failing"):
        labels = {**series, "scaledObject": name}
        load, errors = QueueLoad(start=start, weeks=5), nights if name == "failing" else replace(nights, windows=())
        counted += [
            Counted(metric="keda_scaler_metrics_value", labels=labels, habit=load, gauge=True),
            Counted(metric="keda_scaler_metrics_value", labels={**labels, "metric": "s1-old"}, habit=load, gauge=True),
            Counted(metric="keda_scaler_detail_errors_total", labels=labels, habit=errors),
        ]
    bodies = {name: worker(queue) for name in ("worker", "failing", "unknown")}
    for name, body in bodies.items():
        body["metadata"]["name"] = name
    there = tmp_path / "there.yaml"
    there.write_text(yaml.safe_dump_all(bodies.values()))
    with recorded(tmp_path, counted) as url:
        arguments = (str(there), "-n", "shop", "--weeks", "4", "--prometheus", url, *UTC)
        found = {each["name"]: each for each in advised(capsys, *arguments)["workloads"]}
    hours = {
        name: [(each["days"], each["from"], each["to"]) for each in schedule["manifest"]["spec"]["periods"][0]["hours"]]
        for name in ("worker", "failing")
        if (schedule := found[name]["scalingSchedule"])
    }
    assert hours["worker"] == [("Mon-Fri", "09:00", "18:15")]
    assert set(hours["failing"]) == {("Mon-Fri", "01:00", "04:00"), ("Mon-Fri", "09:00", "18:15")}
    assert "keda_scaler_metrics_value of it gives 0 series here" in " ".join(found["unknown"]["evidence"])


def test_a_scaled_object_whose_triggers_alone_were_asked_leaves_its_environment_as_it_was() -> None:
    """The Deployment that it scales is the whole namespace, so the Environment needs no label on its members."""
    web = Observed(workload=WorkloadKey("shop", "Deployment", "web"), history=Habit().history())
    scaling = bare_scaled_object(asks(), name="web", namespace="shop", minReplicaCount=2)
    key = WorkloadKey("shop", "ScaledObject", "web")
    options = AdviseOptions(places=PlaceRule(own=ZoneInfo("UTC"), zone=ZoneInfo("UTC")))
    observed = add_triggers([web], {key: NoCandidate("not known")}, "its use was not recorded")
    found = find(observed, options, [deployment("web", namespace="shop"), scaling])
    assert [each.whole for each in found.groups] == [True]
    assert [each.observed.workload for each in found.advices] == [web.workload, key]
