"""Defaults of the installation, the chart's `kedaDefaults`: preview, validate and simulate go by them as the operator."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from keda_py.clock import FakeClock
from keda_py.kube.resources import DEPLOYMENTS, Obj
from keda_py.replay.reading.cluster import ClusterReading
from keda_py.replay.reading.manifests import read_plans
from tests.builders import cron, keda_defaults
from tests.charts.rendering import render
from tests.preview.builders import BEGINS, WEEK, app
from tests.preview.test_command import written
from tests.preview.test_defaults import COOLDOWN, in_shop
from tests.replay.test_cluster import Stored
from tests.worlds.world import World, open_world

AN_HOUR = {"cooldownPeriod": 3600}
REMARK = "cooldownPeriod 3600: from the defaults of this installation"


def values_file(folder: Path, **values: Any) -> str:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump({"watchNamespace": "shop", "kedaDefaults": {"values": values}}))
    return str(path)


def preview_page(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["preview", "--from", "2026-11-23", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("as_file", [False, True], ids=["json", "values.yaml"])
def test_a_preview_of_files_goes_by_them(as_file: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = values_file(tmp_path, **AN_HOUR) if as_file else json.dumps(AN_HOUR)
    page = preview_page(capsys, "--default-values", given, written(tmp_path, in_shop(cron(desired=1))))
    assert REMARK in page
    assert "Mon 23 21:00:00" in page


def test_objects_come_before_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, in_shop(cron(desired=1)), COOLDOWN)
    page = preview_page(capsys, "--default-values", '{"cooldownPeriod": 60, "pollingInterval": 45}', file)
    assert "cooldownPeriod 3600: from KedaDefaults team in this namespace" in page
    assert "pollingInterval 45: from the defaults of this installation" in page


def test_a_difference_goes_by_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explicit = in_shop(cron(desired=1))
    explicit = {**explicit, "spec": {**explicit["spec"], **AN_HOUR}}
    old = written(tmp_path, in_shop(cron(desired=1)), name="old.yaml")
    new = written(tmp_path, explicit, name="new.yaml")
    assert main(["preview", "--default-values", json.dumps(AN_HOUR), "--diff", old, new]) == 0
    assert capsys.readouterr().out == "nothing goes otherwise\n"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nowhere.yaml", "nowhere.yaml cannot be read"),
        ('{"coolDownPeriod": 1}', "coolDownPeriod, which a KedaDefaults has not"),
        ('{"minReplicaCount": 9, "maxReplicaCount": 2}', "--default-values.minReplicaCount: 9 is more than"),
    ],
)
@pytest.mark.parametrize("command", ["preview", "validate"])
def test_wrong_defaults_are_wrong_usage(
    command: str, given: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--default-values", given, written(tmp_path, app())]) == 2
    assert told in capsys.readouterr().err


def test_a_values_file_without_defaults_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("kedaDefaults: {enabled: true}\n")
    assert main(["preview", "--default-values", str(file), written(tmp_path, app())]) == 2
    assert f"{file} holds no kedaDefaults.values" in capsys.readouterr().err


def test_validate_warns_of_what_goes_beyond_their_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, app(cron(desired=1), maxReplicaCount=90))
    assert main(["validate", file]) == 0
    assert "beyond-bounds" not in capsys.readouterr().out
    bounds = values_file(tmp_path, bounds={"maxReplicaCount": {"atMost": 50}})
    assert main(["validate", "--default-values", bounds, file]) == 0
    found = capsys.readouterr().out
    assert "beyond-bounds" in found
    assert "the defaults of this installation" in found


def simulated(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[float, int]]:
    """Second and count of each change of a day of a schedule, 08:00 to 20:00."""
    flags = ("--profile", "steady", "--days", "1", "--processes", "1", "-o", "json")
    assert main(["simulate", *arguments, *flags]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    return [(one["at"], one["replicas"]) for one in result["changes"]]


def test_a_simulation_goes_by_them_and_by_objects_of_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, in_shop(cron(desired=1)))
    plain, given = simulated(capsys, file), simulated(capsys, file, "--default-values", json.dumps(AN_HOUR))
    objects = simulated(capsys, written(tmp_path, in_shop(cron(desired=1)), COOLDOWN, name="both.yaml"))
    assert plain != given
    assert given == objects


# A cluster: the Deployment of the chart's operator says them.


def operator(**values: Any) -> Obj:
    (found,) = (one for one in render(**values) if one["kind"] == "Deployment")
    return found


async def remarks_in(world: World) -> tuple[list[str], list[str]]:
    """What a preview of the namespace says of the only object, and what it could not read."""
    reading = ClusterReading(world.client, "default")
    plans = read_plans(await reading.read(), BEGINS, BEGINS + WEEK)
    return [text for plan in plans for one in plan.objects for text in one.remarks], reading.unread


@pytest.fixture
def in_default() -> Obj:
    body = in_shop(cron(desired=1))
    return {**body, "metadata": {**body["metadata"], "namespace": "default"}}


async def test_a_preview_of_a_cluster_reads_what_its_operator_goes_by(tmp_path: Path, in_default: Obj) -> None:
    async with open_world(tmp_path, clock=FakeClock(BEGINS)) as world:
        deployment = operator(kedaDefaults={"enabled": True, "values": AN_HOUR})
        deployment["metadata"]["namespace"] = "default"
        await world.apply(in_default, deployment)
        assert await remarks_in(world) == ([REMARK], [])
        await world.apply(keda_defaults("team", "KedaDefaults", "default", cooldownPeriod=60))
        assert await remarks_in(world) == (["cooldownPeriod 60: from KedaDefaults team in this namespace"], [])


async def test_objects_that_the_operator_does_not_obey_are_not_previewed(tmp_path: Path, in_default: Obj) -> None:
    async with open_world(tmp_path, clock=FakeClock(BEGINS)) as world:
        deployment = operator()
        deployment["metadata"]["namespace"] = "default"
        team = keda_defaults("team", "KedaDefaults", "default", cooldownPeriod=60)
        await world.apply(in_default, deployment, team)
        assert await remarks_in(world) == ([], [])


async def test_a_variable_gives_them_too_and_one_from_a_secret_is_not_known(tmp_path: Path, in_default: Obj) -> None:
    async with open_world(tmp_path, clock=FakeClock(BEGINS)) as world:
        deployment = operator(env=[{"name": "KEDA_PY_DEFAULT_VALUES", "value": json.dumps(AN_HOUR)}])
        deployment["metadata"]["namespace"] = "default"
        await world.apply(in_default, deployment)
        assert await remarks_in(world) == ([REMARK], [])
        hidden = {"name": "KEDA_PY_DEFAULT_VALUES", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        container["env"] = [one for one in container["env"] if one["name"] != hidden["name"]] + [hidden]
        await world.apply(deployment)
        remarks, (unread,) = await remarks_in(world)
        assert remarks == []
        assert "KEDA_PY_DEFAULT_VALUES comes from another object" in unread


async def test_defaults_that_may_not_be_read_are_told_unless_they_are_given(in_default: Obj) -> None:
    stored = Stored(in_default, forbidden=(DEPLOYMENTS,))
    reading = ClusterReading(stored, "default")
    await reading.read()
    (unread,) = reading.unread
    assert unread.startswith("the defaults of the installation are not known; give --default-values: ")
    given = ClusterReading(stored, "default", defaults=AN_HOUR)
    (plan,) = read_plans(await given.read(), BEGINS, BEGINS + WEEK)
    assert (given.unread, plan.objects[0].remarks) == ([], (REMARK,))
