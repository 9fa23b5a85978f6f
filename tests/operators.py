"""The very operator in this process, as the tests start it that need a whole one."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

from keda_py.clock import Clock, SystemClock
from keda_py.errors import KedaPyError
from keda_py.operator.app import run_operator
from keda_py.operator.assembly import Assembly
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
"""Ports that nobody else has."""


@asynccontextmanager
async def running_operator(
    flags: Mapping[str, str], env: Mapping[str, str] = MappingProxyType({}), clock: Clock | None = None
) -> AsyncIterator[Assembly]:
    """One operator at work while the block lasts, `flags` over the usual ones; it leaves in order."""
    settings = load_settings({flag: [value] for flag, value in {**FLAGS, **flags}.items()}, dict(env))
    stopping, started, failed = asyncio.Event(), asyncio.get_running_loop().create_future(), None
    async with asyncio.TaskGroup() as tasks:
        work = run_operator(settings, clock or SystemClock(), stopping, started.set_result)
        tasks.create_task(work, name="operator")
        try:
            assembly = await started
            await assembly.admission.process.begun.wait()
            yield assembly
        except (AssertionError, LookupError, KedaPyError) as failure:  # to be seen by itself, not as one of a group
            failed = failure
        finally:
            stopping.set()
    if failed is not None:
        raise failed
