"""A namespace on the embedded cluster, and all that happens to it in a story: people, another controller, and kills.

Two Environments share it: `dev` has what is of team `a`, the newer `twin` takes whatever is left. Every write to the
store is judged when it is made; what was wrong is collected in `problems`.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.queries import moment_of
from keda_py.core.environment.decision.state import Stage
from keda_py.core.environment.overrides import Overrides, OverrideSpec, OverrideState, TargetKey
from keda_py.kube.client import PatchKind
from keda_py.kube.resources import CALENDARS, ENVIRONMENTS, OVERRIDES, Obj
from keda_py.kube.transport import Request
from keda_py.localkube.store.subscriptions import Event
from tests.builders import calendar, cron_job, deployment, environment, metrics_api, override, scaled_object
from tests.core.environment.stories import KEYS, START, WAVES, Story, calendar_of, hours_of
from tests.core.environment.stories import override as spec_of_override
from tests.operator.environments.builders import labelled, starting
from tests.worlds.actor import KINDS
from tests.worlds.world import NOON, World

ARGO, PERSON = "argocd-controller", "kubectl-scale"
NEVER_SECONDS = 10**7
HOUR = timedelta(hours=1)
TEAMS = {"a": "dev", "b": "twin"}
_WAVES = ("data", "services", "rest")
_COUNTED = ("deployments", "statefulsets", "cronjobs")
_MOVE = timedelta(minutes=2)
"""As long a ScaledObject may be remembered by two Environments: a look of each, and a start of the operator."""
_NEVER = datetime.min.replace(tzinfo=UTC)
_ENVIRONMENT, _CRON_JOB = -1, 5
"""Targets of a story's Overrides: a CronJob alone has none."""


@dataclass
class Thing:
    """A member. `owned` is the count that its owner wants of it, awake; `manager` wrote its count last."""

    key: str
    wave: str
    owned: int
    seconds: int
    """Until its pods are ready."""
    team: str = "a"
    moved: datetime = START - timedelta(days=1)
    manager: str = "keda-py"

    @property
    def kind(self) -> str:
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def workload(self) -> str:
        """Kind of what has the count."""
        return "Deployment" if self.kind == "ScaledObject" else self.kind

    @property
    def owner(self) -> str:
        """The Environment that has it."""
        return TEAMS[self.team]


@dataclass
class Life:
    """`live_through` a story in `world`, which has no operator yet."""

    world: World
    story: Story
    kills: frozenset[int]
    """Numbers of stored writes of the operator at which it dies."""
    twins: bool = True
    """Whether there is `twin`, too."""
    things: dict[str, Thing] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    writes: int = 0
    died: int = 0
    lost: bool = False

    def __post_init__(self) -> None:
        self.calendar: Calendar = calendar_of(self.story)
        self.overrides: Sequence[OverrideSpec] = [
            spec_of_override(number, at, minutes, _ENVIRONMENT if who == _CRON_JOB else who, state)
            for number, (at, minutes, who, state) in enumerate(self.story.overrides)
        ]
        for (key, _, wave, count), takes in zip(KEYS, self.story.pods_take, strict=True):
            self.things[key] = Thing(key, _WAVES[wave], count, NEVER_SECONDS if takes is None else takes)
        self._dead, self._ours, self._held = asyncio.Event(), True, AsyncExitStack()
        self._moving: dict[str, datetime] = {}

    @property
    def environments(self) -> list[str]:
        return list(TEAMS.values()) if self.twins else ["dev"]

    @property
    def now(self) -> datetime:
        return self.world.clock.now()

    async def begin(self) -> None:
        """It is the story's first midnight, all is up, and the operator works."""
        world = self.world
        world.clock.step(START - NOON)
        world.jobs(10)
        await world.create(calendar(**hours_of(self.story)))
        await world.create(*(self._body(thing) for thing in self.things.values()))
        trigger = metrics_api(world.url)
        queue = scaled_object(trigger, name="queue", minReplicaCount=1, pollingInterval=86400)
        await world.create(labelled(queue, w="services", team="a"))
        await world.seconds(300)  # pods begin
        shared = {
            "calendarRef": {"name": "office"},
            "waves": WAVES,
            "readyBy": self.story.ready_by,
            "maxParallel": self.story.parallel,
        }
        await world.create(environment("dev", selector={"matchLabels": {"team": "a"}}, **shared))
        if self.twins:
            await world.seconds(1)
            await world.create(environment("twin", **shared))
        await world.operator.start()
        world.listen(self._hear)

    def _body(self, thing: Thing) -> Obj:
        labels = {"w": thing.wave, "team": thing.team}
        if thing.kind == "CronJob":
            body = cron_job(thing.name)
            body["spec"]["schedule"] = "0 0 1 1 *"
            return labelled(body, **labels)
        if thing.kind == "ScaledObject":  # its labels count, not those of what it scales
            return deployment(thing.name, thing.owned)
        return starting(thing.name, thing.owned, thing.seconds, thing.kind, **labels)

    # What happens

    async def reach(self, at: datetime) -> None:
        """Time passes until then; an operator that dies on the way is followed by the next one at that very instant."""
        async with asyncio.TaskGroup() as tasks:
            reviving = tasks.create_task(self._revive())
            await self.world.seconds((at - self.now).total_seconds())
            reviving.cancel()

    async def _revive(self) -> None:
        while True:
            await self._dead.wait()
            self._dead.clear()
            self.died += 1
            await self.world.operator.kill()
            await self.world.operator.begin()
            await self._held.aclose()

    async def scale(self, thing: Thing, count: int) -> None:
        """A person scales it by `kubectl scale`; see `World.person_scales` of the core's test for what that means."""
        remembered = self._remembered(thing.key)
        await self._by_another(thing, PERSON, f"{self._path(thing)}/scale", {"spec": {"replicas": count}})
        if thing.kind == "ScaledObject":
            return
        nothing = remembered.get("replicas", 0) == 0 and remembered.get("stage") != Stage.PINNED
        rising = remembered.get("stage") == Stage.RISING
        if not remembered or nothing or (rising and count > 0):
            thing.owned = count

    async def sync(self, thing: Thing) -> None:
        """Argo CD puts the count of Git back where it differs."""
        if self._remembered(thing.key).get("stage") in (Stage.DOWN, Stage.FALLING) and self.count(thing) != thing.owned:
            body = {**self._body(thing), "spec": {**self._body(thing)["spec"], "replicas": thing.owned}}
            await self._by_another(thing, ARGO, self._path(thing), body, PatchKind.APPLY)

    async def _by_another(
        self, thing: Thing, manager: str, path: str, body: Any, kind: PatchKind = PatchKind.MERGE
    ) -> None:
        query = {"fieldManager": manager} | ({"force": "true"} if kind is PatchKind.APPLY else {})
        headers = {"Content-Type": kind.value}
        request = Request(method="PATCH", path=path, query=query, body=body, headers=headers, resource="scale")
        self._ours, before = False, self.count(thing)
        try:
            await self.world.client.send(request)
        finally:
            self._ours = True
        if self.count(thing) != before:
            thing.manager = manager

    async def move(self, thing: Thing) -> None:
        """To the other team, and so to the other Environment."""
        thing.team = "b" if thing.team == "a" else "a"
        thing.moved = self.now
        await self.world.patch(KINDS[thing.kind], {"metadata": {"labels": {"team": thing.team}}}, thing.name)

    async def create_override(self, number: int) -> None:
        _, minutes, _, _ = self.story.overrides[number]
        spec = self.overrides[number]
        wish = {"replicas": spec.replicas} if spec.state is OverrideState.EXACTLY else {"state": spec.state.value}
        target = {"kind": spec.target.kind, "name": spec.target.name}
        await self.world.create(override(spec.name, target=target, **wish, **{"for": f"{minutes}m"}))

    async def delete_override(self, name: str) -> None:
        """It rules no longer, whenever it would have ended."""
        self.overrides = [each for each in self.overrides if each.name != name]
        await self.world.delete(OVERRIDES, name)

    async def lose_calendar(self) -> None:
        self.lost = True
        await self.world.delete(CALENDARS, "office")

    async def find_calendar(self) -> None:
        await self.world.create(calendar(**hours_of(self.story)))
        self.lost = False

    # What is to be seen

    def _path(self, thing: Thing) -> str:
        return KINDS[thing.workload].named("default", thing.name).path

    def count(self, thing: Thing) -> int:
        """Of a CronJob 1, and 0 while it is suspended."""
        spec = self.world.get(KINDS[thing.workload], thing.name)["spec"]
        return _count(spec)

    def status(self, name: str) -> Obj:
        found: Obj = self.world.get(ENVIRONMENTS, name).get("status") or {}
        return found

    def _remembered(self, key: str) -> Obj:
        return next((found for name in TEAMS.values() if (found := self._members(name).get(key))), {})

    def _members(self, name: str) -> Obj:
        live = self.world.find(ENVIRONMENTS, name) or {}
        found: Obj = (live.get("status") or {}).get("members") or {}
        return found

    def rule(self, *targets: TargetKey) -> OverrideSpec | None:
        """The Override that rules the first of these that has one."""
        known = Overrides([each for each in self.overrides if each.created <= self.now])
        rules = (known.verdict([target], self.now).rules for target in targets)
        return next((each for each in rules if each is not None), None)

    def rule_of(self, thing: Thing, environment: str = "") -> OverrideSpec | None:
        """Of a member."""
        own = TargetKey(thing.kind, thing.name)
        return self.rule(own, TargetKey("Environment", environment or thing.owner))

    # What must hold at every write

    def _hear(self, event: Event) -> None:
        before, after = event.previous, event.object
        if event.resource.plural == "environments":
            self._wrote()
            self._has_one_owner()
        elif before is None or not after or before.get("spec") == after.get("spec"):
            return
        elif event.resource.plural in _COUNTED:
            self._changed(event.name, _count(before["spec"]), _count(after["spec"]))
            self._wrote()

    def _wrote(self) -> None:
        self.writes += self._ours
        if (
            self._ours
            and self.writes in self.kills
            and self.world.operator.process is not None
            and not self._dead.is_set()
        ):
            self._held.enter_context(self.world.clock.busy())
            self.world.operator.cut()
            self._dead.set()

    def _has_one_owner(self) -> None:
        """A ScaledObject that moves while it sleeps is remembered by the new one first, and then no more by the old."""
        both = self._members("dev").keys() & self._members("twin").keys()
        self._moving = {key: self._moving.get(key, self.now) for key in both if key.startswith("ScaledObject/")}
        wrong = {key for key in both if self.now - self._moving.get(key, _NEVER) > _MOVE}
        if wrong:
            self.problems.append(f"{self.now}: {sorted(wrong)} are remembered by both Environments")

    def _changed(self, name: str, before: int, after: int) -> None:
        thing = next(one for one in self.things.values() if one.name == name)
        if not self._ours or before == after:
            return
        thing.manager = "keda-py"
        if after == 0 and not any(self._may_sleep(thing, owner) for owner in self._owners(thing)):
            self.problems.append(f"{self.now}: {thing.key} was put to sleep")

    def _owners(self, thing: Thing) -> Iterator[str]:
        yield thing.owner
        if self.now - thing.moved < HOUR:
            yield from (name for name in TEAMS.values() if name != thing.owner)

    def _may_sleep(self, thing: Thing, owner: str) -> bool:
        rule = self.rule_of(thing, owner)
        closed = rule is None and not self.lost and not moment_of(self.calendar, self.now).open
        return closed or thing.owned == 0 or (rule is not None and rule.state is OverrideState.ASLEEP)


def _count(spec: Obj) -> int:
    if "jobTemplate" in spec:
        return 0 if spec.get("suspend") else 1
    count: int = spec.get("replicas", 1)
    return count
