"""What an operator has that is alone in its process: a journal that outlives it."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.readings.journal import Journal
from keda_py.readings.journal_file import open_journal
from keda_py.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProcess:
    """The process of one operator."""

    journal: Journal


def own_journal(settings: Settings, clock: Clock) -> AbstractContextManager[Journal]:
    """That of the operator with these settings: started again, in its pod or on its machine, it finds it."""
    cluster, lease = settings.cluster, settings.leadership.lease_name
    name = "\n".join((cluster.pod_namespace, lease, cluster.pod_name, cluster.kubeconfig))
    return open_journal(settings.process.state_dir, name, int(clock.now().timestamp()))
