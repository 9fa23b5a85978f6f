"""Environments and their members for tests: open on weekdays from 08:00 to 18:00 UTC; it is Friday noon at first."""

from datetime import UTC, datetime
from typing import Any

from keda_py.kube.resources import CRON_JOBS, ENVIRONMENTS, Obj
from keda_py.localkube.store.subscriptions import Event
from tests import builders
from tests.worlds.world import World

LUNCH: dict[str, Any] = {
    "timeZone": "UTC",
    "hours": [{"from": "08:00", "to": "12:04"}, {"from": "12:10", "to": "18:00"}],
}
"""Closed for six minutes soon after a world's noon: each simulated hour of an HPA costs a second of CPU."""


def labelled(body: Obj, **labels: str) -> Obj:
    return {**body, "metadata": {**body["metadata"], "labels": labels}}


def starting(name: str, replicas: int, seconds: int, kind: str = "Deployment", **labels: str) -> Obj:
    """A workload whose pods take so long to be ready."""
    made = builders.workload(kind, name, replicas, annotations=builders.usage(startup_seconds=str(seconds)))
    return labelled(made, **labels)


async def until(world: World, day: int, clock: str) -> None:
    """Let time pass until that time of a day of November 2026."""
    hour, minute = map(int, clock.split(":"))
    at = datetime(2026, 11, day, hour, minute, tzinfo=UTC)
    await world.seconds((at - world.clock.now()).total_seconds())


def status(world: World, name: str = "dev") -> Obj:
    found: Obj = world.get(ENVIRONMENTS, name).get("status") or {}
    return found


def condition(world: World, kind: str, name: str = "dev") -> tuple[str, str]:
    found = {one["type"]: one for one in status(world, name).get("conditions") or ()}
    return found[kind]["status"], found[kind]["reason"]


def is_suspended(world: World, name: str = "report") -> bool:
    return bool(world.get(CRON_JOBS, name)["spec"].get("suspend"))


def events(world: World, kind: str = "Environment") -> list[tuple[str, str]]:
    """Type and reason of each Event about objects of a kind from now on; they live for an hour."""
    told: list[tuple[str, str]] = []

    def hear(event: Event) -> None:
        if event.resource.plural == "events" and event.previous is None:
            about = event.object.get("involvedObject") or event.object.get("regarding") or {}
            if about.get("kind") == kind:
                told.append((event.object["type"], event.object["reason"]))

    world.listen(hear)
    return told


def refusing(group: str, resource: str) -> Obj:
    """A webhook that lets no update of a resource pass."""
    rule = {"apiGroups": [group], "apiVersions": ["*"], "resources": [resource], "operations": ["UPDATE"]}
    hook = {"name": "no.example.com", "rules": [rule], "clientConfig": {"url": "https://127.0.0.1:1/"}}
    hook |= {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return kind | {"metadata": {"name": "no"}, "webhooks": [hook]}
