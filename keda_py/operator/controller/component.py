"""A package's part of the operator: what it runs and when, and what it is notified of. `app.py` loops over these.

`background` runs from the start to the end of the process. Once the caches have synced `prepare` is awaited, before any
object is worked on, and by the leader `announce`, before anything else that it does. Then run, each until cancelled:
`follow` on every active replica, `lead` on the one that does what is done once for the cluster, and `share` for the
objects that this replica owns. These three may end and begin again, as in a new process.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.sharding.tenures import Tenures

Part = Callable[[], Coroutine[object, None, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """`controllers` write their last words when the process ends.

    `on_lead` and `on_share` are called as these begin, `after_lead` when leading has ended and what was done is only
    followed, `on_clock_step` when the wall clock was set.
    """

    background: tuple[Part, ...] = ()
    prepare: tuple[Part, ...] = ()
    announce: tuple[Part, ...] = ()
    follow: tuple[Part, ...] = ()
    lead: tuple[Part, ...] = ()
    share: tuple[Part, ...] = ()
    controllers: tuple[Controller[Any], ...] = ()
    on_clock_step: tuple[Callable[[], None], ...] = ()
    on_lead: tuple[Callable[[], None], ...] = ()
    after_lead: tuple[Callable[[], None], ...] = ()
    on_share: tuple[Callable[[], None], ...] = ()


Package = Callable[[Dependencies, Tenures], Component]
"""What a package of another kind has to give: of the parts that all kinds share, and the objects that are ours, what it
runs. `run_operator` takes more of these."""


async def one_by_one(parts: Iterable[Part]) -> None:
    """Run parts, each once the one before it has ended."""
    for run in parts:
        await run()


async def together(parts: Iterable[Part]) -> None:
    """Run parts at the same time; the first that fails ends the others."""
    async with asyncio.TaskGroup() as tasks:
        for run in parts:
            tasks.create_task(run())


def notify(listeners: Iterable[Iterable[Callable[[], None]]]) -> None:
    """Call the listeners of all components, in the order of the components."""
    for of_component in listeners:
        for tell in of_component:
            tell()
