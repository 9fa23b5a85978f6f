"""Before charts/keda-py is uninstalled: its Job stops the operator and gives counts back, with its own rights alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from keda_py.cli.environments.release import run
from keda_py.clock import SystemClock
from keda_py.core.hpa.conditions import ZeroMark
from keda_py.core.hpa.wire import read_zero_mark
from keda_py.environments.release import Scope, release
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.resources import CRON_JOBS, DEPLOYMENTS, ENVIRONMENTS, HORIZONTAL_POD_AUTOSCALERS, STATEFUL_SETS
from keda_py.localkube.access.identity import service_account
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from tests import builders
from tests.builders import a_namespace, cron, cron_job, deployment, environment, scaled_object
from tests.charts.rendering import Obj, is_hook, only, render
from tests.charts.rights import given, noted
from tests.kubeconfigs import token_kubeconfig
from tests.worlds.world import World, open_world

SHOP, ACCOUNT = "shop", service_account("keda", "keda-operator-release")
WAYS: dict[str, dict[str, Any]] = {
    "everywhere": {"rbac": {"enabledCustomScaledRefKinds": False}},
    "one namespace": {"watchNamespace": SHOP, "rbac": {"enabledCustomScaledRefKinds": False}},
}
HELD = {"status": "False", "reason": "HeldAsleep"}
DOWN = {"stage": "Down", "replicas": 2, "since": "2026-11-20T18:00:00Z"}
MEMBERS = {
    "Deployment/web": DOWN,
    "StatefulSet/db": DOWN,
    "ScaledObject/app": DOWN,
    "CronJob/report": DOWN | {"replicas": 1},
}


def hooks(**values: Any) -> list[Obj]:
    return [one for one in render(**values) if is_hook(one)]


def told(objects: list[Obj]) -> Scope:
    """What the Job's arguments ask for."""
    (container,) = only(objects, "Job", "keda-operator-release", "keda")["spec"]["template"]["spec"]["containers"]
    flags = dict(one.removeprefix("--").split("=") for one in container["args"][2:])
    assert container["args"][:2] == ["release", "--all"]
    return Scope(everything=True, namespace=flags.get("namespace", ""), stop=flags["stop-operator"])


@asynccontextmanager
async def a_night(folder: Path, objects: list[Obj], **members: Any) -> AsyncIterator[World]:
    """An Environment asleep, as an operator of one pod left it; `job` is the kubeconfig of the hook's Job."""
    async with open_world(folder, clock=SystemClock(), options=ClusterOptions(enforce_rbac=True)) as world:
        world.namespace = SHOP
        await world.apply(a_namespace("keda"), a_namespace(SHOP))
        await world.apply(*(one for one in objects if one["kind"] != "Job"))
        job, dev = cron_job(), environment()
        job["spec"]["suspend"] = True
        dev["metadata"]["finalizers"] = ["finalizer.keda.sh"]
        await world.create(deployment("web"), deployment(), builders.workload("StatefulSet", "db", 0), job, dev)
        await world.create(scaled_object(cron("0 8 * * *", "0 20 * * *")), builders.hpa("web", "web"))
        path = HORIZONTAL_POD_AUTOSCALERS.named(SHOP, "web", "status")
        await world.client.patch(path, {"status": {"conditions": [{"type": "ScaledToZero", **HELD}]}})
        await world.create(deployment("keda-operator", 1, namespace="keda"))
        status = {"status": {"phase": "Asleep", "members": MEMBERS | members}}
        await world.client.patch(ENVIRONMENTS.named(SHOP, "dev", "status"), status)
        (folder / "job").write_text(token_kubeconfig(world.cluster, ACCOUNT))
        yield world


@pytest.mark.parametrize("way", WAYS)
async def test_the_hook_stops_the_operator_and_gives_back_with_no_right_to_spare(way: str, tmp_path: Path) -> None:
    objects = hooks(**WAYS[way])
    async with a_night(tmp_path, objects) as world:
        with noted(ACCOUNT.name) as used:
            await release(str(tmp_path / "job"), told(objects))
        assert [world.replicas("web"), world.replicas(), world.replicas("db", STATEFUL_SETS)] == [2, 2, 2]
        assert world.get(CRON_JOBS, "report")["spec"]["suspend"] is False
        assert read_zero_mark(world.get(HORIZONTAL_POD_AUTOSCALERS, "web")) is ZeroMark.SET
        assert world.get(DEPLOYMENTS, "keda-operator", "keda")["spec"]["replicas"] == 0
        assert not world.get(ENVIRONMENTS, "dev")["metadata"].get("finalizers")
    assert given(objects, "keda-operator-release") - used == set()


async def test_where_a_count_cannot_be_given_back_the_uninstall_stops_and_the_operator_is_back(tmp_path: Path) -> None:
    objects = hooks(**WAYS["everywhere"])
    box = {"stage": "Down", "replicas": 2, "since": "2026-11-20T18:00:00Z"}
    async with a_night(tmp_path, objects, **{"Box/lost": box}) as world:
        with pytest.raises(KubeError, match="1 of 5 members have not got their counts back: Box/lost"):
            await release(str(tmp_path / "job"), told(objects))
        assert world.replicas("web") == 2
        assert world.get(DEPLOYMENTS, "keda-operator", "keda")["spec"]["replicas"] == 1
        assert world.get(ENVIRONMENTS, "dev")["metadata"]["finalizers"]


async def test_where_there_are_no_environments_an_uninstall_goes_on(tmp_path: Path) -> None:
    async with LocalCluster() as cluster:
        (tmp_path / "admin").write_text(token_kubeconfig(cluster))
        await release(str(tmp_path / "admin"), Scope(everything=True, stop="keda/keda-operator"))


@pytest.mark.parametrize(
    "values",
    [
        {"environments": {"releaseOnUninstall": False}},
        {"environments": {"enabled": False}},
        {"shadow": {"enabled": True}},
        {"rbac": {"create": False}},
        {"clusterScoped": {"create": False}},
    ],
)
def test_there_is_no_hook_where_it_is_not_wanted_or_could_do_nothing(values: dict[str, Any]) -> None:
    assert hooks(**values) == []


def test_the_hook_ends_before_helm_stops_waiting_and_no_service_leads_to_it() -> None:
    job = only(hooks(), "Job", "keda-operator-release", "keda")
    assert job["spec"]["activeDeadlineSeconds"] < 300
    assert job["spec"]["template"]["metadata"]["labels"]["app"] != "keda-operator"
    rights = [one for one in hooks() if one["kind"] != "Job"]
    assert max(int(one["metadata"]["annotations"]["helm.sh/hook-weight"]) for one in rights) < 0  # before the Job


@pytest.mark.parametrize(
    "arguments", [["dev", "--stop-operator", "a/b"], ["--all", "--dry-run", "--stop-operator", "a/b"]]
)
def test_stopping_the_operator_goes_with_all_alone(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(arguments)
    assert "--stop-operator goes with --all alone" in capsys.readouterr().err


async def test_an_operator_must_be_named_with_its_namespace(tmp_path: Path) -> None:
    async with LocalCluster() as cluster:
        (tmp_path / "admin").write_text(token_kubeconfig(cluster))
        with pytest.raises(ConfigError, match="--stop-operator: 'keda' does not name a Deployment"):
            await release(str(tmp_path / "admin"), Scope(everything=True, stop="keda"))
