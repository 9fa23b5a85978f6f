"""The very operator in this process, as the tests start it that need a whole one."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType

from keda_py.clock import Clock, SystemClock
from keda_py.errors import KedaPyError
from keda_py.operator.app import run_operator
from keda_py.operator.assembly import Assembly
from keda_py.operator.controller.component import Package
from keda_py.operator.process.operator_process import OwnProcess
from keda_py.settings.settings import load_settings

FLAGS = MappingProxyType(
    {
        "bind-address": "127.0.0.1",
        "secure-port": "0",
        "webhook-port": "0",
        "metrics-bind-address": "0",
        "health-probe-bind-address": "0",
        "register": "https://127.0.0.1",
    }
)
"""Ports that nothing else has."""
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator as a task of this process."""

    task: asyncio.Task[None]
    stopping: asyncio.Event
    """Set, it is SIGTERM."""
    leading: asyncio.Future[Assembly]
    """Its parts, once it works."""

    async def begun(self) -> Assembly:
        """Wait until it works and its webhook process has begun."""
        assembly = await self.leading
        await assembly.admission.process.begun.wait()
        return assembly

    async def stop(self) -> None:
        """SIGTERM, and wait until it has left."""
        self.stopping.set()
        await self.task


def launch(
    tasks: asyncio.TaskGroup,
    flags: Mapping[str, str],
    env: Mapping[str, str] = NOTHING,
    clock: Clock | None = None,
    process: OwnProcess | None = None,
    packages: Sequence[Package] = (),
) -> Operator:
    """Start an operator with exactly these flags; it is not waited for."""
    settings = load_settings({flag: [value] for flag, value in flags.items()}, dict(env))
    stopping, leading = asyncio.Event(), asyncio.get_running_loop().create_future()

    def note(assembly: Assembly) -> None:
        if not leading.done():  # it may lead again later
            leading.set_result(assembly)

    work = run_operator(settings, clock or SystemClock(), stopping, note, process, packages)
    return Operator(task=tasks.create_task(work, name="operator"), stopping=stopping, leading=leading)


@asynccontextmanager
async def running_operator(
    flags: Mapping[str, str], env: Mapping[str, str] = NOTHING, clock: Clock | None = None
) -> AsyncIterator[Assembly]:
    """One operator at work while the block lasts, `flags` over the usual ones; it leaves in order."""
    failed = None
    async with asyncio.TaskGroup() as tasks:
        operator = launch(tasks, {**FLAGS, **flags}, env, clock)
        try:
            yield await operator.begun()
        except (AssertionError, LookupError, KedaPyError) as failure:  # to be seen by itself, not as one of a group
            failed = failure
        finally:
            operator.stopping.set()
    if failed is not None:
        raise failed
