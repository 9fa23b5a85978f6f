"""The operator of an older version is replaced by this one: nothing scales, and what the older one stored is read."""

import asyncio
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from keda_py.apis.kinds.crds import build_crds
from keda_py.clock import SystemClock
from keda_py.kube.resources import ENVIRONMENTS, Obj
from tests.builders import a_namespace, cron, deployment, environment, override, scaled_object
from tests.documents import read_all
from tests.places import ROOT
from tests.servers import LOOPBACK, free_port
from tests.waiting import eventually
from tests.worlds.world import World, open_world

OLDEST = "2026-11-23T00:00:00Z"
"""While no release is tagged, upgrades start from what the history had then: all kinds, with statuses of that time."""
OPEN = (cron("0 0 * * *", "0 18 * * *", desired=1), cron("0 12 * * *", "0 6 * * *", desired=1))
"""Two windows that overlap: one of them is open at any time."""
DEV = {"kind": "Environment", "name": "dev"}
COUNTS = {("objects", "awake"): 1, ("objects", "asleep"): 0, ("up", "web"): 3, ("night", "web"): 0, ("night", "api"): 0}
START = f"import sys; sys.argv[0] = {'keda-py'!r}; from keda_py.__main__ import main; sys.exit(main())"


def shut() -> Sequence[Obj]:
    """A window that was closed half a year ago and opens in half a year."""
    month = (SystemClock().now().month + 5) % 12 + 1
    return [cron(f"0 0 1 {month} *", f"1 0 1 {month} *")]


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)


def last_release() -> str:
    """The newest tag before this commit, or the commit of OLDEST; this very one in a clone without history."""
    tag = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^")
    commit = git("rev-list", "-1", f"--before={OLDEST}", "HEAD")
    return (tag if tag.returncode == 0 else commit).stdout.decode().strip() or "HEAD"


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The older version's wheel, built from the history and unpacked."""
    source, wheels, packages = (tmp_path_factory.mktemp(name) for name in ("source", "wheels", "packages"))
    archive = git("archive", "--format=tar", last_release())
    assert archive.returncode == 0, archive.stderr
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(source, filter="data")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archived:
        archived.extractall(packages)
    return packages


@dataclass(frozen=True, kw_only=True)
class Release:
    """One version of keda-py, as packages of their own, beside a kubeconfig."""

    packages: Path
    kubeconfig: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(self.packages)!r}); {START}", *arguments]

    def definitions(self) -> list[Obj]:
        done = subprocess.run(self.command("crds"), capture_output=True, text=True, check=True, cwd="/")
        return list(read_all(done.stdout))

    @asynccontextmanager
    async def operating(self) -> AsyncIterator[str]:
        """The operator at work while the block lasts; the address of its metrics."""
        page = f"{LOOPBACK}:{free_port()}"
        flags = ["--secure-port=0", "--webhook-port=0", "--health-probe-bind-address=0", "--state-dir=0"]
        flags += [f"--kubeconfig={self.kubeconfig}", f"--metrics-bind-address={page}"]
        command = self.command("operator", *flags)
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, cwd="/")
        try:
            yield f"http://{page}/metrics"
        finally:
            if process.returncode is None:
                process.terminate()
            _, told = await process.communicate()
        assert process.returncode == 0, told.decode()


async def populate(world: World) -> None:
    """Objects of every state: a ScaledObject and an Environment awake, and one of each that is going to sleep."""
    day = (SystemClock().now().weekday() + 3) % 7
    closed = {"days": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[day], "from": "10:00", "to": "10:01"}
    every_day = {"days": "Mon-Sun", "from": "00:00", "to": "24:00"}
    hours = {
        name: {"calendar": {"timeZone": "UTC", "hours": [one]}} for name, one in (("night", closed), ("up", every_day))
    }
    await world.create(*(a_namespace(name) for name in ("objects", "up", "night")))
    await world.create(
        deployment("awake", 0), scaled_object(*OPEN, name="awake", scaleTargetRef={"name": "awake"}),
        deployment("asleep", 2), scaled_object(*shut(), name="asleep", scaleTargetRef={"name": "asleep"}, cooldownPeriod=1),
        namespace="objects",
    )  # fmt: skip
    await world.create(deployment("web", 3), environment(**hours["up"]), namespace="up")
    await world.create(deployment("web", 3), deployment("api", 1), environment(**hours["night"]), namespace="night")


def counts(world: World) -> dict[tuple[str, str], int]:
    return {(where, name): world.replicas(name, namespace=where) for where, name in COUNTS}


def settled(world: World) -> bool:
    """Everything is where its schedule wants it, and the statuses say so."""
    dev = world.get(ENVIRONMENTS, "dev", "night").get("status") or {}
    return counts(world) == COUNTS and dev.get("phase") == "Asleep" and bool(histories(world)["asleep"])


def histories(world: World) -> dict[str, list[Any]]:
    return {name: world.status(name, "objects").get("kedaPyHistory") or [] for name in ("awake", "asleep")}


async def has_looked_at_everything(page: str) -> bool:
    """The operator's metrics name all objects: it has decided about each."""
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            text = (await client.get(page)).text
    except httpx.TransportError:
        return False
    return all(
        any(name in line and where in line and line.startswith(series) for line in text.splitlines())
        for series, where, name in (
            ("keda_py_awake{", "objects", '"awake"'),
            ("keda_py_awake{", "objects", '"asleep"'),
            ("keda_py_environment_members{", "up", '"dev"'),
            ("keda_py_environment_members{", "night", '"dev"'),
        )
    )


async def test_an_upgrade_scales_nothing_and_wakes_what_the_older_version_put_to_sleep(
    older: Path, tmp_path: Path
) -> None:
    async with open_world(tmp_path, clock=SystemClock()) as world:
        before, after = (Release(packages=path, kubeconfig=world.kubeconfig) for path in (older, ROOT))
        await world.apply(*await asyncio.to_thread(before.definitions))
        await populate(world)
        async with before.operating():
            await eventually(lambda: settled(world), 90)
        told = deepcopy(histories(world))
        await world.apply(*build_crds())
        seen: list[dict[tuple[str, str], int]] = []
        world.listen(lambda _: seen.append(counts(world)))
        async with after.operating() as page:
            await eventually(lambda: has_looked_at_everything(page), 90)
            assert [one for one in seen if one != COUNTS] == []
            assert {name: kept[: len(told[name])] for name, kept in histories(world).items()} == told
            await world.create(override("wake", state="Awake", target=DEV, **{"for": "1h"}), namespace="night")
            await eventually(lambda: world.replicas("web", namespace="night") == 3, 60)
            assert world.replicas("api", namespace="night") == 1
