"""All Environments, a line each: phase, members that are ready and up, what comes next, and who keeps it so.

ClusterEnvironments have a line each with the sums of their namespaces, and one for each namespace that needs a person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from keda_py.apis.environments.environment import Environment, EnvironmentStatus
from keda_py.apis.foreign import map_at, maps_at, name_of, text_at, value_at
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
        kept = ("stillUp", "nextChange", "override", "lastWake", "deletion", "because", "conditions", "wakeOnRequest")
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


COUNTED = ("covered", "awake", "asleep", "waking", "fallingAsleep", "contested", "failed", "pending", "own", "older")
_POLICY_COLUMNS = (
    Column(heading="Name", style="bold", cuts=True),
    *(Column(heading=name) for name in ("Covered", "Awake", "Asleep", "Waking", "Contested", "Failed")),
    Column(heading="Own", goes=1),
    Column(heading="Why", wraps=True),
)
_SAID = ("Valid", "Protected", "Conflict", "OwnEnvironments")
"""Conditions whose messages are shown beside the counts."""


def fields_of_policy(live: Obj) -> Mapping[str, Any]:
    """Return the line of a ClusterEnvironment for programs; counts are null until the operator has looked at it."""
    counts = _counts(live)
    return {
        "name": name_of(live),
        "namespaces": counts,
        **{name: found for name in ("groups", "needsPerson", "own", "conditions") if (found := _status(live, name))},
    }


def _status(live: Obj, name: str) -> Any:
    return value_at(live, "status", name)


def _counts(live: Obj) -> dict[str, int | None]:
    """Counts by name; null if the operator has written none, since a count of 0 is not written."""
    known = any(text_at(one, "type") == "Healthy" for one in maps_at(live, "status", "conditions"))
    found = map_at(live, "status", "namespaces")
    numbers = {name: found.get(name, 0) for name in COUNTED}
    return {name: number if known and isinstance(number, int) else None for name, number in numbers.items()}


def draw_policies(lives: Sequence[Obj], width: int) -> Text:
    """Draw ClusterEnvironments, and below each the namespaces that need a person."""
    rows: list[tuple[str | Text, ...]] = []
    for live in lives:
        counts = _counts(live)
        shown = ("covered", "awake", "asleep", "waking", "contested", "failed", "own")
        numbers = ["?" if counts[name] is None else str(counts[name]) for name in shown]
        rows.append(
            (
                name_of(live),
                *numbers,
                _said(live) or ("" if counts["covered"] is not None else _NOT_LOOKED),
            )
        )
        for trouble in maps_at(live, "status", "needsPerson"):
            why = f"{text_at(trouble, 'reason')}: {text_at(trouble, 'message')}"
            rows.append((f"  {text_at(trouble, 'namespace')}", *[""] * len(shown), Text(why, "red")))
    return draw_table(_POLICY_COLUMNS, rows, width) if rows else Text("no ClusterEnvironment")


_NOT_LOOKED = "the operator has not looked at it; does one run here, with --cluster-environments?"


def _said(live: Obj) -> str:
    return "; ".join(said_of_policy(live))


def said_of_policy(live: Obj) -> list[str]:
    """Return what its conditions say is wrong."""
    conditions = maps_at(live, "status", "conditions")
    return [text for one in conditions if text_at(one, "type") in _SAID and (text := text_at(one, "message"))]
