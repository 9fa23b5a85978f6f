"""Descriptions of our own kinds in `kubectl explain`."""

from collections.abc import Iterator
from typing import Any

from tests.definitions import DEFINITIONS


def described(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, field in (schema.get("properties") or {}).items():
        at = f"{path}.{name}".removeprefix(".")
        yield at, field.get("description", "")
        yield from described(field, at)
        yield from described(field.get("items") or {}, f"{at}[]")


def descriptions(kind: str) -> dict[str, str]:
    crd = next(one for one in DEFINITIONS if one["spec"]["names"]["kind"] == kind)
    return dict(described(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))


def test_selectors_of_environments_and_schedules_say_whose_labels_they_are_about() -> None:
    environment, schedule = descriptions("Environment"), descriptions("ScalingSchedule")
    told = [environment[f"spec.{name}"] for name in ("selector", "exclude", "waves[].selector")]
    told.append(schedule["spec.selector"])
    assert all("labels" in text and "Job" not in text for text in told)
    inside = [name for name in environment if ".selector.match" in name or ".exclude.match" in name]
    assert inside
    assert [name for name in inside if not environment[name]] == []


def test_an_overrides_states_are_told_one_by_one() -> None:
    state = descriptions("Override")["spec.state"]
    assert [word for word in ("Awake:", "Asleep:", "Hold:") if word not in state] == []
