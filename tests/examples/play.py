"""An example, applied with kubectl to the embedded cluster while the operator runs, on virtual time.

It begins on a Friday at 12:00 UTC unless told otherwise. The README's terminal sessions are part of the play: `shows`
runs the next one and compares its answers.
"""

import shlex
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from redis.asyncio import Redis

from keda_py.clock import FakeClock
from keda_py.localkube.cluster import ClusterOptions
from keda_py.schema.resources import Obj
from tests.examples.pages import EXAMPLES, Command, readme, sessions
from tests.http_server import http_server
from tests.localkube.kubectl import Kubectl
from tests.worlds.world import NAMESPACE, NOON, World, open_world

REDIS = "redis.default.svc:6379"


@dataclass
class Play:
    """`folder` is a copy of the example; `left` are the sessions not shown yet."""

    world: World
    kubectl: Kubectl
    folder: Path
    left: list[list[Command]] = field(default_factory=list)

    async def apply(self, below: str = "") -> None:
        """As the README says, all manifests of the folder (or one below it) at once; pods are up five seconds later."""
        await self.kubectl.run("apply", "-f", str(self.folder / below))
        await self.seconds(5)

    async def shows(self) -> None:
        """The README's next terminal session, to the letter."""
        for command in self.left.pop(0):
            assert await self.answer(command.line) == command.answer, f"$ {command.line}"

    async def answer(self, line: str) -> str:
        """What kubectl prints."""
        outcome = await self.kubectl.try_run(*shlex.split(line)[1:])
        await self.world.clock.settle()
        return (outcome.out + outcome.err).rstrip("\n")

    async def seconds(self, seconds: float) -> None:
        await self.world.seconds(seconds)

    async def until(self, moment: datetime) -> None:
        await self.seconds((moment - self.world.clock.now()).total_seconds())

    def get(self, kind: str, name: str, namespace: str = NAMESPACE, api_version: str = "apps/v1") -> Obj:
        store = self.world.cluster.store
        found = store.find(store.resources.get(api_version, kind), namespace, name)
        assert found is not None, f"no {kind} {namespace}/{name}"
        return found

    def replicas(self, name: str, kind: str = "Deployment", namespace: str = NAMESPACE) -> int:
        count: int = self.get(kind, name, namespace)["spec"]["replicas"]
        return count


@asynccontextmanager
async def play(
    directory: Path,
    name: str,
    elsewhere: Mapping[str, str] | None = None,
    options: ClusterOptions | None = None,
    *,
    begins: datetime = NOON,
    flags: Mapping[str, str] | None = None,
) -> AsyncIterator[Play]:
    """A cluster, an operator, and the example NAME, not applied yet; `elsewhere`: address in its manifests -> one here,
    `flags` are those of the operator.

    Every session of its README has to be shown before the end.
    """
    folder = directory / name
    shutil.copytree(EXAMPLES / name, folder)
    for written, real in (elsewhere or {}).items():
        redirect(folder, written, real)
    async with (
        http_server() as server,
        open_world(directory, server, options=options, clock=FakeClock(begins)) as world,
    ):
        world.operator.flags |= flags or {}
        await world.operator.start()
        kubectl = Kubectl(kubeconfig=world.kubeconfig, cache=directory / "cache")
        played = Play(world=world, kubectl=kubectl, folder=folder, left=sessions(readme(EXAMPLES / name)))
        yield played
        assert played.left == [], "the README shows more than was played"


def redirect(folder: Path, written: str, real: str) -> None:
    """Replace an address in the manifests of a folder."""
    files = [file for file in folder.glob("*.yaml") if written in file.read_text(encoding="utf-8")]
    assert files, f"{written} is in no manifest of {folder.name}"
    for file in files:
        file.write_text(file.read_text(encoding="utf-8").replace(written, real), encoding="utf-8")


def here(redis: Redis) -> str:
    """Its address."""
    return f"127.0.0.1:{redis.connection_pool.connection_kwargs['port']}"
