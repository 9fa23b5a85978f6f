"""What the image is for works with the operator's layer of the lock alone: no rich, no completion, no test tools."""

import asyncio
from pathlib import Path

import orjson

from keda_py.clock import SystemClock
from keda_py.kube.resources import ENVIRONMENTS
from tests.builders import cron, deployment, environment, scaled_object
from tests.http_server import http_server
from tests.packaging.locks import command_with, run_with
from tests.servers import LOOPBACK
from tests.waiting import eventually
from tests.worlds.world import open_world

ALWAYS = (cron("0 0 * * *", "0 18 * * *"), cron("0 12 * * *", "0 6 * * *"))
"""Two windows that overlap: one of them is open at any time."""
HELD = {"kind": "ScaledObject", "namespace": "shop", "name": "app", "matter": "active", "since": "2026-11-20T18:00:00Z"}
REPORT = {
    "since": "2026-11-20T18:00:00Z",
    "compared": 1,
    "holding": [HELD | {"ours": {"does": "up", "why": "work"}, "theirs": {"does": "down", "why": ""}}],
    "ended": [],
    "notCompared": [],
}


async def test_the_operator_scales_a_workload(tmp_path: Path) -> None:
    async with open_world(tmp_path, clock=SystemClock()) as world:
        await world.create(deployment(), scaled_object(*ALWAYS))
        ports = (f"--{name}=0" for name in ("secure-port", "webhook-port"))
        quiet = ("--metrics-bind-address=0", "--health-probe-bind-address=0", f"--state-dir={tmp_path / 'state'}")
        command = command_with("operator", "operator", f"--kubeconfig={world.kubeconfig}", *ports, *quiet)
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        try:
            await eventually(lambda: world.replicas() == 1, 30)
        finally:
            process.terminate()
            _, told = await process.communicate()
        assert process.returncode == 0, told


async def test_before_an_uninstall_counts_are_given_back_and_told_in_words(tmp_path: Path) -> None:
    async with open_world(tmp_path, clock=SystemClock()) as world:
        await world.create(deployment("web"), environment())
        member = {"stage": "Down", "replicas": 2, "since": "2026-11-20T18:00:00Z"}
        status = {"status": {"phase": "Asleep", "members": {"Deployment/web": member}}}
        await world.client.patch(ENVIRONMENTS.named(world.namespace, "dev", "status"), status)
        done = await asyncio.to_thread(run_with, "operator", "release", "--all", f"--kubeconfig={world.kubeconfig}")
        assert (done.returncode, done.stderr) == (0, "")
        assert world.replicas("web") == 2
    heading, row, *_ = done.stdout.splitlines()
    assert heading.split() == ["Environment", "Member", "Result"]
    assert "Deployment/web" in row


async def test_the_report_of_a_shadow_is_told_in_words() -> None:
    async with http_server() as server:
        server.answers["/report"] = orjson.dumps(REPORT).decode()
        address = f"{LOOPBACK}:{server.port}"
        done = await asyncio.to_thread(run_with, "operator", "shadow", "report", f"--address={address}")
    assert (done.returncode, done.stderr) == (1, "")  # there is a disagreement
    assert "disagreements that hold: 1" in done.stdout
    assert "shop/app" in done.stdout
    assert "up: work" in done.stdout


def test_a_command_for_people_says_where_it_can_be_called() -> None:
    done = run_with("operator", "scalers")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "keda-py scalers: this command needs the package rich: the operator's image leaves it out" in done.stderr
    assert run_with("all", "scalers").returncode == 0
