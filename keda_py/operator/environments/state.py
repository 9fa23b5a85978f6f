"""What the operator remembers of one Environment between two looks; what must survive a restart is in its status."""

from collections.abc import Container
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from keda_py.apis.environments.environment import Environment
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.operator.controller.state import Remembered
from keda_py.operator.environments.job_warnings import JudgedJobs

LONGEST_RETRY: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """An Environment as it is written and as decisions know it.

    `written` None: it is being deleted, so that no calendar is asked.
    """

    written: Environment | None
    spec: EnvironmentSpec
    polling_interval: timedelta = LONGEST_RETRY


@dataclass(frozen=True, slots=True)
class Written:
    """Our last write of a member's count: until the cache shows that version, this is its count."""

    version: int
    count: int


@dataclass(slots=True)
class EnvironmentMemory(Remembered):
    """`written` by member; `laid` are the ScaledObjects that something was decided of.

    `foreign` are members that another Environment has, whose counts are not asked for. `looked` is when the last look
    began (monotonic), and `pause` the seconds from then to the next one that a change asks for (`known/changes.py`).
    `write_error` is why a member's count was not written at the last try; `held_up` what was told of a deletion, `lost`
    what was told of a status that cannot be read. `accounts`: this process has noted what sleep saves since its start.
    """

    spec: Read | None = None
    written: dict[str, Written] = field(default_factory=dict)
    laid: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    looked: float = 0.0
    pause: float = 0.0
    write_error: str = ""
    held_up: str = ""
    accounts: bool = False
    lost: tuple[str, ...] = ()
    jobs: JudgedJobs = field(default_factory=JudgedJobs)

    def forget_all_but(self, members: Container[str]) -> None:
        """Our writes of members that are gone: names come and go."""
        for key in [key for key in self.written if key not in members]:
            del self.written[key]
