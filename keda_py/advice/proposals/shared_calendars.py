"""One ClusterCalendar where Environments of several namespaces have the same hours: one place to change them.

An Environment whose hours no other one has keeps them itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keda_py.advice.proposals.environment import API_VERSION
from keda_py.advice.proposals.groups import Group

KIND = "ClusterCalendar"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCalendar:
    """Hours of several Environments, under a name that says its zone."""

    name: str
    spec: Mapping[str, Any]
    environments: tuple[str, ...]
    """NAMESPACE/NAME of each."""

    @property
    def body(self) -> dict[str, Any]:
        """The calendar's manifest."""
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": self.name}, "spec": dict(self.spec)}


def shared_calendars(groups: Sequence[Group]) -> tuple[SharedCalendar, ...]:
    """Those with two Environments or more, in the order of the groups."""
    specs = [group.body["spec"]["calendar"] for group in groups]
    shared = [spec for number, spec in enumerate(specs) if specs.count(spec) > 1 and spec not in specs[:number]]
    zones = Counter(spec["timeZone"] for spec in shared)
    found = []
    for number, spec in enumerate(shared, start=1):
        zone = spec["timeZone"].lower().replace("/", "-").replace("_", "-").replace("+", "-plus-")
        titles = (f"{one.namespace}/{one.name}" for one, of_one in zip(groups, specs, strict=True) if of_one == spec)
        name = f"hours-{zone}" if zones[spec["timeZone"]] == 1 else f"hours-{zone}-{number}"
        found.append(SharedCalendar(name=name, spec=spec, environments=tuple(titles)))
    return tuple(found)


def environment_of(group: Group, calendars: Sequence[SharedCalendar]) -> dict[str, Any]:
    """The Environment's manifest, which names its calendar where that is shared."""
    body = group.body
    spec = body["spec"]
    calendar = next((one for one in calendars if one.spec == spec["calendar"]), None)
    if calendar is not None:
        del spec["calendar"]
        body["spec"] = {"calendarRef": {"kind": KIND, "name": calendar.name}, **spec}
    return body
