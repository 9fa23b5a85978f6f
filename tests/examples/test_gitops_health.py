"""gitops: health of ScaledObjects and Environments for Argo CD (Lua) and Flux (CEL), by statuses of a real operator."""

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import ENVIRONMENTS, SCALED_OBJECTS, Obj
from keda_py.schema.cel import compile_rule
from tests.builders import cron, deployment, environment, metrics_api, scaled_object
from tests.documents import read_file
from tests.operator.environments.builders import LUNCH, starting, until
from tests.places import ROOT
from tests.servers import binary
from tests.worlds.world import World, open_world

FOLDER = ROOT / "examples" / "gitops"
SCRIPTS: dict[str, str] = read_file(FOLDER / "argo-cd/argocd-cm.yaml")["data"]
GROUPS = {"ScaledObject": "keda.sh", "Environment": "keda-py.dev"}


def as_lua(value: Any) -> str:
    """The value as a table of Lua, in which there is no null."""
    if isinstance(value, dict):
        return "{{{}}}".format(",".join(f"[{json.dumps(k)}]={as_lua(v)}" for k, v in value.items() if v is not None))
    if isinstance(value, list):
        return "{{{}}}".format(",".join(as_lua(one) for one in value))
    return json.dumps(value, ensure_ascii=False)


def argo(live: Obj) -> tuple[str, str]:
    """Health and message by the script for that kind, as Argo CD runs it."""
    script = SCRIPTS[f"resource.customizations.health.{GROUPS[live['kind']]}_{live['kind']}"]
    program = f"local obj = {as_lua(live)}\nlocal function health()\n{script}\nend\nlocal found = health()\n"
    program += 'print(found.status)\nprint(found.message or "")'
    done = subprocess.run([binary("lua5.1", "lua5.1"), "-"], input=program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    status, message = done.stdout.splitlines()
    return status, message


def flux(live: Obj) -> str:
    """What Flux makes of the expressions for that kind, in its order."""
    listed = read_file(FOLDER / "flux/health.yaml")["spec"]["healthCheckExprs"]
    (given,) = (one for one in listed if one["kind"] == live["kind"])
    for name in ("inProgress", "failed", "current"):
        if name in given and compile_rule(given[name])({"status": live["status"], "metadata": live["metadata"]}):
            return name
    return "inProgress"


def with_condition(live: Obj, **condition: Any) -> Obj:
    """The object, one of its conditions another."""
    changed = copy.deepcopy(live)
    others = [one for one in changed["status"]["conditions"] if one["type"] != condition["type"]]
    changed["status"]["conditions"] = [*others, condition]
    return changed


async def asleep(world: World) -> None:
    await world.create(starting("web", 2, 1), environment(calendar=LUNCH))
    await world.operator.start()
    await until(world, 20, "12:06")


async def test_an_environment_that_sleeps_is_healthy_and_one_that_wakes_is_on_its_way(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await asleep(world)
        assert world.replicas("web") == 0
        status, message = argo(world.get(ENVIRONMENTS, "dev"))
        assert (status, flux(world.get(ENVIRONMENTS, "dev"))) == ("Healthy", "current")
        assert message.startswith("Asleep: ")
        seen = world.writes_of(ENVIRONMENTS, "dev")
        await until(world, 20, "12:12")
        assert world.replicas("web") == 2
        waking = [one for one in seen if one["status"]["phase"] == "Waking"]
        assert waking
        assert {(argo(one)[0], flux(one)) for one in waking} == {("Progressing", "inProgress")}
        assert (argo(seen[-1])[0], flux(seen[-1])) == ("Healthy", "current")


@pytest.mark.parametrize("kind", ["Conflict", "Contested"])
async def test_an_environment_that_fights_or_overlaps_is_degraded(kind: str, tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await asleep(world)
        changed = with_condition(world.get(ENVIRONMENTS, "dev"), type=kind, status="True", reason="Why", message="web")
        assert (argo(changed), flux(changed)) == (("Degraded", "web"), "failed")


async def test_a_scaled_object_at_zero_is_healthy_and_one_whose_source_fails_is_degraded(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        closed = cron("0 14 * * *", "0 15 * * *")
        await world.create(deployment(), scaled_object(closed))
        await world.create(deployment("deaf"), scaled_object(metrics_api("http://127.0.0.1:9/"), name="deaf"))
        await world.operator.start()
        await world.seconds(20)
        assert world.replicas() == 0
        healthy, failing = (world.get(SCALED_OBJECTS, name) for name in ("app", "deaf"))
        assert (argo(healthy), flux(healthy)) == (("Healthy", "not active"), "current")
        assert (argo(failing)[0], flux(failing)) == ("Degraded", "failed")
        await world.annotate({"autoscaling.keda.sh/paused": "true"})
        await world.seconds(20)
        assert argo(world.get(SCALED_OBJECTS))[0] == "Suspended"


def test_an_object_without_a_status_is_on_its_way() -> None:
    for kind, group in GROUPS.items():
        assert argo({"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": {"name": "a"}})[0] == "Progressing"
