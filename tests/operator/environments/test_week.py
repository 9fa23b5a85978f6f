"""A week of an environment: three waves, a public holiday, an Override in the evening, and a member that never is ready.

Argo CD is imitated by a client of its name that puts a count back whenever it differs from Git.
"""

from datetime import datetime
from typing import Any

from keda_py.kube.client import PatchKind
from keda_py.kube.resources import DEPLOYMENTS, Obj
from keda_py.kube.transport import Request
from keda_py.localkube.store.subscriptions import Event
from tests.builders import calendar, cron_job, environment, override
from tests.operator.environments.builders import condition, events, is_suspended, starting, status, until
from tests.worlds.world import World

NEVER = 10**6
MEMBERS = {"db": 5, "cache": 5, "queue": 5, "api": 10, "auth": 10, "search": NEVER, "web": 5, "admin": 5, "mail": 5}
WAVES = {"db": "data", "cache": "data", "queue": "data", "api": "core", "auth": "core", "search": "core"}
SPEC: dict[str, Any] = {
    "calendarRef": {"name": "office"},
    "waves": [
        {"name": "data", "selector": {"matchLabels": {"wave": "data"}}},
        {"name": "core", "selector": {"matchLabels": {"wave": "core"}}, "timeout": "2m", "pause": "10s"},
        {"name": "front", "selector": {"matchLabels": {"wave": "front"}}},
    ],
}


def office() -> Obj:
    """Open on weekdays; Thursday the 26th is a holiday."""
    holidays = [{"dates": ["2026-11-26"], "name": "Foundation Day"}]
    return calendar(holidays=holidays)


def members() -> list[Obj]:
    return [starting(name, 2, seconds, wave=WAVES.get(name, "front")) for name, seconds in MEMBERS.items()]


class Heard:
    """When each Deployment's count was changed, and to what."""

    def __init__(self, world: World) -> None:
        self.changes: list[tuple[datetime, str, int]] = []
        self._clock = world.clock
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.resource.plural != "deployments" or event.previous is None:
            return
        count, before = event.object["spec"]["replicas"], event.previous["spec"]["replicas"]
        if count != before:
            self.changes.append((self._clock.now(), event.name, count))

    def first(self, name: str, count: int, since: datetime) -> float:
        """Seconds from then until the Deployment was given that count."""
        return next(
            (at - since).total_seconds() for at, who, to in self.changes if (who, to) == (name, count) and at >= since
        )


def notes(world: World) -> list[str]:
    """What each Event from now on says."""
    told: list[str] = []

    def hear(event: Event) -> None:
        if event.resource.plural == "events" and event.previous is None:
            told.append(event.object.get("message") or event.object.get("note") or "")

    world.listen(hear)
    return told


def all_at(world: World, count: int) -> bool:
    return {world.replicas(name) for name in MEMBERS} == {count}


async def keep_awake_for_an_evening(world: World) -> None:
    """Monday's, until ten."""
    await until(world, 23, "19:00")
    await world.create(
        override(target={"kind": "Environment", "name": "dev"}, state="Awake", until="2026-11-23T22:00:00Z")
    )
    await until(world, 23, "19:05")
    assert all_at(world, 2)
    assert status(world)["override"]["name"] == "evening"
    await until(world, 23, "21:59")
    assert all_at(world, 2)
    await until(world, 23, "22:20")
    assert all_at(world, 0)


async def test_a_week_of_nine_members_in_three_waves(world: World) -> None:
    heard, told = Heard(world), notes(world)
    await world.create(office(), *members(), cron_job(), environment(**SPEC))
    await until(world, 20, "18:20")
    assert all_at(world, 0)
    assert is_suspended(world)
    await until(world, 23, "07:59")
    assert all_at(world, 0)  # the weekend
    opens = world.clock.now().replace(hour=8, minute=0)
    await until(world, 23, "08:01")
    waits = next(one["message"] for one in status(world)["conditions"] if one["type"] == "Ready")
    assert waits == "wave core waits for Deployment/search; hours Mon-Fri 08:00-18:00"
    await until(world, 23, "08:10")
    assert "wave core was not ready in time: Deployment/search; the next one begins" in told
    assert all_at(world, 2)
    assert not is_suspended(world)
    assert heard.first("db", 2, opens) < 1
    assert 5 <= heard.first("api", 2, opens) < 8
    assert 127 <= heard.first("web", 2, opens) < 145  # `search` is not waited for any longer
    assert status(world)["lastWake"].get("ready", "") == ""
    assert condition(world, "Ready") == ("False", "MembersNotReady")
    await until(world, 23, "18:20")
    assert all_at(world, 0)
    await keep_awake_for_an_evening(world)
    await until(world, 25, "12:00")
    assert all_at(world, 2)
    await until(world, 26, "12:00")
    assert all_at(world, 0)
    assert "Foundation Day" in status(world)["because"]
    await until(world, 27, "12:00")
    assert all_at(world, 2)


async def test_another_controller_that_puts_a_count_back_twice_is_left_alone_and_named(world: World) -> None:
    async def put_back() -> None:
        body = starting("web", 2, 1)
        path = DEPLOYMENTS.named("default", "web").path
        query = {"fieldManager": "argocd-controller", "force": "true"}
        headers = {"Content-Type": PatchKind.APPLY.value}
        await world.client.send(
            Request(method="PATCH", path=path, query=query, body=body, headers=headers, resource="deployments")
        )

    told = events(world)
    await put_back()
    await world.create(environment())
    await until(world, 20, "18:01")
    assert world.replicas("web") == 0
    await put_back()
    await world.seconds(30)
    assert world.replicas("web") == 0
    await put_back()
    await world.seconds(30)
    assert world.replicas("web") == 2
    assert condition(world, "Contested") == ("True", "PutBackTwice")
    assert ("Warning", "EnvironmentContested") in told
    await until(world, 22, "12:00")
    assert world.replicas("web") == 2
