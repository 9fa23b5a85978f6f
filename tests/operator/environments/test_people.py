"""What the commands ask for, an operator does; and what `release` gives back, it leaves alone."""

from datetime import timedelta
from typing import Any

import pytest

from keda_py.core.environment.overrides import OverrideState
from keda_py.environments.overriding import Wish, request
from keda_py.environments.release import find, release_all
from keda_py.environments.requests import read_environment
from keda_py.environments.words import ruled_by
from keda_py.errors import ConfigError
from keda_py.explanation.night import night_lines, night_of
from keda_py.explanation.overview import line_of
from keda_py.explanation.page import print_explanation
from keda_py.explanation.requests import ask_insight, named
from keda_py.explanation.rulers import NONE
from keda_py.kube.resources import ENVIRONMENTS, OVERRIDES, SCALED_OBJECTS
from keda_py.telemetry.page import MetricsPage
from keda_py.terminal.times import Times
from tests.builders import (
    calendar,
    cpu,
    cron_job,
    deployment,
    environment,
    metrics_api,
    scaled_object,
    scaling_schedule,
)
from tests.operator.environments.builders import is_suspended, starting, until
from tests.worlds.world import World

HOURS = [{"from": "08:00", "to": "12:30"}, {"from": "13:30", "to": "14:00"}]
BREAK = {"timeZone": "UTC", "hours": HOURS}


async def ask(world: World, state: OverrideState, **wish: Any) -> list[str]:
    times = Times(now=world.clock.now())
    sentences, _ = await request(world.client, "default", Wish(state=state, **wish), times)
    return sentences


async def test_a_lunch_break_is_kept_up_by_a_user_put_to_sleep_again_and_given_back_by_hand(world: World) -> None:
    await world.create(deployment("web", 2), cron_job(), environment(calendar=BREAK))
    await until(world, 20, "12:15")
    told = await ask(world, OverrideState.AWAKE, until="13:00", reason="release")
    assert told[:2] == [
        "dev stays awake until 13:00 UTC, for 45 min from now",
        "without this Override it sleeps at 12:30 UTC, in 15 min",
    ]
    await until(world, 20, "12:59")
    assert world.replicas("web") == 2
    (made,) = world.all(OVERRIDES, "default")
    assert made["status"]["phase"] == "Active"
    await until(world, 20, "13:03")
    assert world.replicas("web") == 0
    rules = ruled_by(read_environment(world.get(ENVIRONMENTS, "dev")), Times(now=world.clock.now()))
    assert rules == "asleep by environment dev until 13:30 UTC (its own hours)"
    done = await release_all(world.client, await find(world.client, "default", "dev"))
    assert [one.outcome for one in done] == ["runs again", "0 -> 2"]
    await until(world, 20, "13:29")
    assert (world.replicas("web"), is_suspended(world)) == (2, False)
    await until(world, 20, "14:03")
    assert (world.replicas("web"), is_suspended(world)) == (0, True)


async def test_explain_and_the_status_name_what_rules_a_scaled_object(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.jobs(10)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=600))
    await world.create(calendar(**BREAK), environment(calendarRef={"name": "office"}))
    await until(world, 20, "12:33")
    ruler = "asleep by environment dev until 2026-11-20T13:30:00Z (Calendar office)"
    assert world.status()["kedaPy"] == {
        "reason": "Paused",
        "since": "2026-11-20T12:30:00Z",
        "nextChange": "2026-11-20T13:30:00Z",
        "ruledBy": ruler,
    }
    assert world.message("Paused") == f"ScaledObject is paused: {ruler}"
    insight = await ask_insight(world.client, named("default/app", ""))
    assert insight["ruledBy"] == ruler
    assert [(one["reason"], one["replicas"]) for one in insight["changes"]][-1:] == [
        ("Paused", {"before": 2, "after": 0})
    ]
    (slept,) = [one for one in world.status()["kedaPyHistory"] if one["reason"] == "Paused"]
    assert (slept["replicas"], slept["notes"]) == ({"before": 2, "after": 0}, [ruler])  # this outlives the process
    night = night_of(
        [world.get(SCALED_OBJECTS)], world.clock.now() - timedelta(hours=1), Times(now=world.clock.now()), NONE
    )
    assert any(ruler.partition(" until")[0] in line for line in night_lines(night))
    print_explanation(insight)
    page = capsys.readouterr().out
    assert page.startswith("default/app: asleep by environment dev until 13:30 UTC (Calendar office);")
    assert "annotation" not in page
    text = (await MetricsPage(world.operator.assembly.parts.shared.instruments).render()).decode()
    assert 'keda_scaled_object_paused{namespace="default",scaledObject="app"} 0.0' in text
    line = line_of(world.get(SCALED_OBJECTS), Times(now=world.clock.now()))
    assert (line.state, line.why) == (
        "asleep",
        "asleep by environment dev until 13:30 UTC (Calendar office)",
    )
    await until(world, 20, "13:32")
    assert "ruledBy" not in world.status()["kedaPy"]


async def test_explain_says_that_it_woke_with_its_environment_and_the_status_keeps_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    app = scaled_object(cpu(), pollingInterval=10)
    await world.create(deployment(replicas=2), app, environment(calendar=BREAK))
    await until(world, 20, "13:32")
    assert world.replicas() > 0
    insight = await ask_insight(world.client, named("default/app", ""))
    woke = [one for one in insight["changes"] if one["reason"] == "Activated"][-1]
    assert woke["because"] == "with environment dev: hours every day 13:30-14:00"
    kept = [one for one in world.status()["kedaPyHistory"] if one["reason"] == "Activated"][-1]
    assert kept["notes"] == [woke["because"]]
    print_explanation(insight)
    page = capsys.readouterr().out
    assert "woke with environment dev: hours every day 13:30-14:00" in page
    assert "annotation" not in page
    night = night_of(
        [world.get(SCALED_OBJECTS)], world.clock.now() - timedelta(hours=1), Times(now=world.clock.now()), NONE
    )
    assert any("woke with environment dev" in line for line in night_lines(night))


async def test_explain_names_the_schedule_whose_bounds_hold(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    night = [{"name": "lunch", "hours": [{"from": "12:00", "to": "13:00"}], "minReplicas": 2}]
    schedule = scaling_schedule("busy", names=["app"], periods=night)
    world.jobs(10)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=60))
    await world.seconds(10)
    await world.create(schedule)
    await world.seconds(60)
    told = "ruled by schedule busy until 2026-11-20T13:00:00Z (period lunch)"
    assert world.status()["kedaPy"]["ruledBy"] == told
    insight = await ask_insight(world.client, named("default/app", ""))
    assert insight["last"]["notes"][0] == told
    print_explanation(insight)
    assert "ruled by schedule busy until 13:00 UTC (period lunch)" in capsys.readouterr().out
    await until(world, 20, "13:02")
    assert "ruledBy" not in world.status()["kedaPy"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("environment/dev", ("Environment", "default", "dev")),
        ("env/shop/dev", ("Environment", "shop", "dev")),
        ("Override/shop/evening", ("Override", "shop", "evening")),
        ("sched/nights", ("ScalingSchedule", "default", "nights")),
        ("deploy/shop/web", ("Deployment", "shop", "web")),
        ("sts/db", ("StatefulSet", "default", "db")),
        ("app", ("ScaledObject", "default", "app")),
        ("shop/app", ("ScaledObject", "shop", "app")),
        ("scaledjob/shop/dev", ("ScaledJob", "shop", "dev")),
    ],
)
def test_explain_is_asked_for_objects_by_their_kind(text: str, found: tuple[str, str, str]) -> None:
    about = named(text, "default")
    assert (about.resource.kind, about.namespace, about.name) == found


@pytest.mark.parametrize("text", ["environment/", "environment/a/b/c", "/", "a/"])
def test_what_names_no_object_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="write NAMESPACE/NAME, or KIND/NAMESPACE/NAME"):
        named(text, "default")


def test_a_kind_that_cannot_be_explained_is_refused_with_those_that_can() -> None:
    with pytest.raises(
        ConfigError, match="kind 'pod' cannot be explained; write one of scaledobject, scaledjob, environment"
    ):
        named("pod/shop/web", "default")


async def test_a_night_is_told_in_numbers(world: World) -> None:
    registry = world.operator.assembly.parts.shared.instruments.registry
    labels = {"namespace": "default", "environment": "dev"}
    saved = {"namespace": "default", "kind": "Deployment", "name": "web"}

    def shown(name: str, **more: str) -> float | None:
        return registry.get_sample_value(f"keda_py_environment_{name}", {**labels, **more})

    await world.create(starting("web", 2, 20), cron_job(), environment(calendar=BREAK))
    await until(world, 20, "12:29")
    assert (shown("phase", phase="Awake"), shown("phase", phase="Asleep"), shown("due")) == (1, 0, 1)
    assert (shown("members_ready"), shown("members"), shown("wake_seconds")) == (2, 2, None)
    await until(world, 20, "13:00")
    assert (shown("phase", phase="Awake"), shown("phase", phase="Asleep"), shown("due")) == (0, 1, 0)
    assert (shown("members_ready"), shown("members"), shown("override_active"), shown("contested")) == (0, 2, 0, 0)
    await until(world, 20, "13:35")
    assert shown("wake_seconds") == pytest.approx(20, abs=2)
    slept = registry.get_sample_value("keda_py_saved_replica_seconds", saved)
    assert slept == pytest.approx(2 * 3600, rel=0.01)
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(30)
    assert (shown("members"), registry.get_sample_value("keda_py_saved_replica_seconds", saved)) == (None, None)
