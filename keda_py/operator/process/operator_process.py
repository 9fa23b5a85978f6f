"""What an operator has that is alone in its process: a journal that outlives it, and leave to end it."""

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
    """`hang` is told of each tick of the watchdog, None: it only reports. `rearm` is called about once a second while
    the event loop turns."""

    journal: Journal
    hang: Hang | None = None
    rearm: Callable[[], None] = _nothing

    @property
    def alone(self) -> bool:
        """Whether no other shares the process."""
        return self.hang is not None


def own_journal(settings: Settings, clock: Clock) -> AbstractContextManager[Journal]:
    """That of the operator with these settings: started again, in its pod or on its machine, it finds it."""
    cluster, lease = settings.cluster, settings.leadership.lease_name
    name = "\n".join((cluster.pod_namespace, lease, cluster.pod_name, cluster.kubeconfig))
    return open_journal(settings.process.state_dir, name, int(clock.now().timestamp()))
