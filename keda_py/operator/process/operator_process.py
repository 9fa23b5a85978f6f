"""The process of an operator: a journal that outlives it, and permission to end it when the loop hangs."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.operator.process.hang import Hang
from keda_py.readings.journal import Journal
from keda_py.readings.journal_file import open_journal
from keda_py.settings.settings import Settings


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProcess:
    """`hang` gets each tick of the watchdog; None if other code shares the process, which is then never ended.

    `rearm` is called about once a second while the event loop turns.
    """

    journal: Journal
    hang: Hang | None = None
    rearm: Callable[[], None] = _nothing

    @property
    def alone(self) -> bool:
        """Whether the operator has the process to itself."""
        return self.hang is not None


def stop_on_signals() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set from now on, in place of ending the process."""
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    return stopping


def own_journal(settings: Settings, clock: Clock) -> AbstractContextManager[Journal]:
    """Open the journal of an operator with these settings, which finds it again after a restart in the same pod."""
    cluster, lease = settings.cluster, settings.leadership.lease_name
    name = "\n".join((cluster.pod_namespace, lease, cluster.pod_name, cluster.kubeconfig))
    return open_journal(settings.process.state_dir, name, int(clock.now().timestamp()))
