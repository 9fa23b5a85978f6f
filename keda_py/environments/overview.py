"""All Environments, a line each: phase, members that are ready and up, what comes next, and who keeps it so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from keda_py.apis.environments.environment import Environment, EnvironmentStatus
from keda_py.environments.requests import read_environment
from keda_py.environments.words import is_partly_up, next_in_words, phase_of, reasons_of
from keda_py.environments.zones import CalendarZones
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.times import Times

COLUMNS = (
    Column(heading="Name", style="bold", cuts=True),
    Column(heading="Phase"),
    Column(heading="Ready"),
    Column(heading="Up", goes=1),
    Column(heading="Next"),
    Column(heading="Why", wraps=True),
)
_STYLES = {"awake": "green", "asleep": "blue", "waking": "yellow", "falling asleep": "yellow", "broken": "red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentLine:
    """Line about one Environment; `status` is as it is stored."""

    namespace: str
    name: str
    phase: str
    ready: str = ""
    up: str = ""
    next: str = ""
    why: str
    status: EnvironmentStatus = field(default_factory=EnvironmentStatus)

    def fields(self) -> Mapping[str, Any]:
        """Return the line for programs; times are UTC, counts null until the operator has looked at it."""
        document = self.status.model_dump(by_alias=True, exclude_defaults=True)
        known = bool(self.status.phase)
        kept = ("stillUp", "nextChange", "override", "lastWake", "because", "conditions", "wakeOnRequest")
        found = {
            "namespace": self.namespace,
            "name": self.name,
            "phase": self.status.phase,
            "membersReady": self.status.members_ready if known else None,
            "membersUp": self.status.members_up if known else None,
            "membersTotal": self.status.members_total if known else None,
        }
        return found | {name: document[name] for name in kept if name in document}


def line_of_live(live: Obj, times: Times, zones: CalendarZones) -> EnvironmentLine:
    """Build the line of an Environment as it is in the cluster, also of an unreadable one."""
    try:
        environment = read_environment(live)
        return line_of(environment, times.of(zones.of(environment)))
    except ConfigError as error:
        namespace, name = live["metadata"]["namespace"], live["metadata"]["name"]
        return EnvironmentLine(namespace=namespace, name=name, phase="broken", why=str(error))


def line_of(environment: Environment, times: Times) -> EnvironmentLine:
    """Build the line of an Environment that was parsed."""
    meta, status = environment.metadata, environment.status
    return EnvironmentLine(
        namespace=meta.namespace,
        name=meta.name,
        phase=phase_of(status),
        ready=status.ready,
        up=status.up,
        next=next_in_words(status, times),
        why=_why(environment, times),
        status=status,
    )


def _why(environment: Environment, times: Times) -> str:
    if not environment.status.phase:
        return "the operator has not looked at it; does one run here, and does it watch this namespace?"
    return "; ".join(reasons_of(environment, times))


def overview(lines: Sequence[EnvironmentLine], width: int, *, all_namespaces: bool = False) -> Text:
    """Draw the table; names stand with their namespace if several are shown."""
    rows = [
        (
            f"{line.namespace}/{line.name}" if all_namespaces else line.name,
            Text(line.phase, "yellow" if is_partly_up(line.status) else _STYLES.get(line.phase, "")),
            line.ready,
            line.up,
            line.next,
            line.why,
        )
        for line in lines
    ]
    where = "" if all_namespaces else " in this namespace; -A shows all"
    return draw_table(COLUMNS, rows, width) if rows else Text(f"no Environment{where}")
