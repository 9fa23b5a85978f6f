"""Objects that a process died of are held back, tried again alone and late, and free again. Virtual time.

A death is shown by a copy of the journal's memory, as the kernel keeps it, taken at that very moment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

import pytest
from aiohttp import web

from keda_py.core.evaluation import MetricValue
from keda_py.core.quarantine import HOLD_SECONDS, NAMESPACE_DEATHS, Hold
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import KubeError
from keda_py.explanation.page import print_explanation
from keda_py.external_metrics.query import QueryError
from keda_py.kube.client import Request
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS, Obj, Resource
from keda_py.operator.process.quarantine import Quarantine, work_on
from keda_py.operator.process.questions import GuardedQuestions
from keda_py.readings.journal import Journal
from keda_py.readings.journal_bytes import SIZE
from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.test_metrics_page import read as read_page
from tests.sweeps import size
from tests.worlds.world import World

NOBODY_ON_THE_CPU = slice(12, 16)
HELD = ("False", "ScaledObjectHeldBack")
READY = ("True", "ScaledObjectReady")


class Lives:
    """One process after another, each with the journal that the one before has left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.memory = bytearray(SIZE)

    @property
    def now(self) -> int:
        return int(self.world.clock.now().timestamp())

    def left(self) -> bytearray:
        """What a process leaves that dies now."""
        return bytearray(self.memory)

    async def begin(self, left: bytearray | None = None) -> None:
        """The next process, which finds that."""
        self.memory = left or bytearray(SIZE)
        self.world.operator.journal = Journal(memoryview(self.memory), self.now)
        await self.world.operator.start()

    async def died(self, culprit: str = "", innocents: Sequence[str] = (), resource: Resource = SCALED_OBJECTS) -> None:
        """The one before has died inside a step of work on `culprit`, while work on `innocents` was under way."""
        journal = Journal(memoryview(self.memory), self.now)

        async def dying() -> bytearray:
            return self.left()

        work: Any = dying()
        for name in (culprit, *innocents) if culprit else innocents:
            work = _worked_on(journal, self.world.get(resource, name), work)
        left = await work
        if not culprit:
            left[NOBODY_ON_THE_CPU] = bytes(4)
        await self.begin(left)


async def _worked_on(journal: Journal, live: Obj, work: Any) -> Any:
    return await journal.run((work_on(ObjectKey.of(live["kind"], live), live),), work)


@pytest.fixture
def lives(quiet_world: World) -> Lives:
    return Lives(quiet_world)


class Alike:
    """Questions that have one answer; the first is to be a trial."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._asked = journal, 0

    def known(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        return ()

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        self._asked += 1
        assert bool(self._journal.trials) == (self._asked == 1)
        return ()


class Sources:
    """A source for each object; who was asked, and how many at once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.asked: list[str] = []
        self.most = self._now = 0
        self.on_question: dict[str, Callable[[], Awaitable[None]]] = {}

    def url(self, name: str, value: int = 1) -> str:
        async def answer(_: web.Request) -> web.StreamResponse:
            self.asked.append(name)
            self._now += 1
            self.most = max(self.most, self._now)
            try:
                if name in self.on_question:
                    await self.on_question[name]()
                return web.json_response({"value": value})
            finally:
                self._now -= 1

        self._world.server.answers[f"/{name}"] = answer
        return f"{self._world.server.url}/{name}"


@pytest.fixture
def sources(quiet_world: World) -> Sources:
    return Sources(quiet_world)


async def create(world: World, sources: Sources, *names: str, **spec: Any) -> None:
    """An object that each wants to wake."""
    wanted = {"pollingInterval": 10, "cooldownPeriod": 60, **spec}
    for name in names:
        await world.create(deployment(name), scaled_object(metrics_api(sources.url(name)), name=name, **wanted))


def own(world: World, name: str = "app") -> Obj:
    return dict(world.status(name).get("kedaPy") or {})


async def question(world: World, name: str) -> None:
    """The HPA's. Raises KubeError."""
    path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/s0-metric-api-value"
    query = {"labelSelector": f"scaledobject.keda.sh/name={name}"}
    await world.client.send(Request(method="GET", path=path, query=query, resource="externalmetrics"))


async def test_what_a_process_died_of_is_held_back_and_everything_else_goes_on(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison", "ordinary")
    await lives.died("poison")
    await world.seconds(29)
    assert (world.replicas("ordinary"), world.condition("Ready", "ordinary")) == (1, READY)
    assert (world.replicas("poison"), world.condition("Ready", "poison")) == (0, HELD)
    assert set(sources.asked) == {"ordinary"}
    message = world.message("Ready", "poison")
    assert message.startswith("held back: work on it has ended the operator's process once. It is tried again, alone, ")
    assert [note for reason, note in world.notes("poison") if reason == HELD[1]] == [message]
    held = own(world, "poison")
    assert (held["reason"], held["heldBack"]["deaths"], held["heldBack"]["generation"]) == ("HeldBack", 1, 1)
    again = datetime.fromisoformat(held["nextChange"]).timestamp()
    assert again - lives.now == 1
    assert (await read_page(world))['keda_py_objects_held_back{type="scaledobject"}'] == 1
    await world.seconds(3)
    assert (world.replicas("poison"), world.condition("Ready", "poison")) == (1, READY)
    assert own(world, "poison")["reason"] == "Activated"
    assert "heldBack" not in own(world, "poison")
    assert (await read_page(world))['keda_py_objects_held_back{type="scaledobject"}'] == 0


async def test_the_hpa_gets_an_error_that_says_why(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "poison", "ordinary")
    await lives.died("poison")
    await lives.world.seconds(5)
    with pytest.raises(KubeError, match="held back: work on it has ended the operator's process once"):
        await question(lives.world, "poison")
    await question(lives.world, "ordinary")
    assert "poison" not in sources.asked


async def test_keda_py_explain_tells_the_same(
    lives: Lives, sources: Sources, capsys: pytest.CaptureFixture[str]
) -> None:
    await create(lives.world, sources, "poison")
    await lives.died("poison")
    await lives.world.seconds(5)
    path = "/apis/insight.keda-py.dev/v1alpha1/namespaces/default/scaledobjects/poison"
    print_explanation(await lives.world.client.send(Request(method="GET", path=path)))
    told = capsys.readouterr().out
    assert told.startswith("default/poison: not scaled: held back: work on it has ended the operator's process once.")


async def test_a_question_that_comes_when_it_is_due_is_a_trial(lives: Lives, sources: Sources) -> None:
    """On a replica that does not lead there is no other."""
    world = lives.world
    await create(world, sources, "app")
    await lives.begin()
    await world.seconds(5)
    await world.operator.stop()
    live = world.get(SCALED_OBJECTS, "app")
    work = work_on(ObjectKey.of("ScaledObject", live), live)
    journal = Journal(memoryview(bytearray(SIZE)), lives.now)
    journal.inherited = (Hold(work=work, deaths=0, died=lives.now, seconds=30),)
    quarantine = Quarantine(world.clock, journal)
    questions = GuardedQuestions(Alike(journal), quarantine, lambda *_: live)
    with pytest.raises(QueryError, match="held back"):
        await questions.answer("default", "s0-metric-api-value", "app")
    assert questions.known("default", "s0-metric-api-value", "app") is None
    await world.seconds(30)
    assert await questions.answer("default", "s0-metric-api-value", "app") == ()
    assert (quarantine.count("ScaledObject"), journal.trials) == (0, set())
    assert await questions.answer("default", "s0-metric-api-value", "app") == ()
    assert questions.known("default", "s0-metric-api-value", "app") == ()


async def test_a_status_that_says_it_is_written_once(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "poison")
    await lives.died("poison")
    versions = lives.world.writes_of(SCALED_OBJECTS, "poison")
    await lives.world.seconds(25)
    assert versions == []


async def test_a_change_of_its_spec_ends_it_at_once(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison")
    await lives.died("poison")
    await world.seconds(5)
    mended = metrics_api(sources.url("mended"))
    await world.patch(SCALED_OBJECTS, {"spec": {"triggers": [mended]}}, "poison")
    await world.seconds(1)
    assert (world.replicas("poison"), world.condition("Ready", "poison")) == (1, READY)
    assert set(sources.asked) == {"mended"}


async def test_an_annotation_does_not_end_it(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "poison")
    await lives.died("poison")
    await lives.world.annotate({"touched": "yes"}, "poison")
    await lives.world.seconds(5)
    assert (lives.world.condition("Ready", "poison"), sources.asked) == (HELD, [])


async def test_what_is_held_back_can_be_deleted(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "poison", advanced={"restoreToOriginalReplicaCount": True})
    await lives.begin()
    await lives.world.seconds(5)
    await lives.world.operator.kill()
    await lives.died("poison")
    await lives.world.delete(SCALED_OBJECTS, "poison")
    await lives.world.seconds(5)
    assert lives.world.find(SCALED_OBJECTS, "poison") is None


async def test_what_is_held_back_and_waits_for_a_foreign_finalizer_costs_nothing(
    lives: Lives, sources: Sources
) -> None:
    world = lives.world
    await create(world, sources, "poison")
    await lives.died("poison")
    await world.patch(SCALED_OBJECTS, {"metadata": {"finalizers": ["example.com/slow"]}}, "poison")
    await world.delete(SCALED_OBJECTS, "poison")
    async with asyncio.timeout(20):  # work that is due at once, again and again, would never let the clock step
        await world.seconds(2 * HOLD_SECONDS[0])
    assert world.get(SCALED_OBJECTS, "poison")["metadata"]["finalizers"] == ["example.com/slow"]


async def test_dying_again_at_it_holds_it_for_longer_each_time(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison", "ordinary", pollingInterval=300)
    await lives.died("poison")
    lengths = []
    for _ in range(5):
        began, left = lives.now, asyncio.get_running_loop().create_future()

        async def die(left: asyncio.Future[bytearray] = left) -> None:
            left.set_result(lives.left())
            world.operator.cut()

        sources.on_question["poison"] = die
        while not left.done():
            await world.seconds(10)
        lengths.append(lives.now - began)
        await world.operator.kill()
        await lives.begin(left.result())
        await world.seconds(1)
        assert world.condition("Ready", "poison") == HELD
        assert (world.replicas("poison"), world.replicas("ordinary")) == (0, 1)
    assert own(world, "poison")["heldBack"]["deaths"] == 6
    # To the ten seconds of our look, and one for each second look of another.
    assert [round(length / 100) * 100 for length in lengths] == [0, 300, 600, 1200, 2400]
    assert "6 times" in world.message("Ready", "poison")


async def test_another_replica_keeps_to_what_the_status_says(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison", "ordinary")
    await lives.died("poison")
    await world.seconds(2)
    await world.operator.kill()
    sources.asked.clear()
    await lives.begin()
    await world.seconds(20)
    assert (world.condition("Ready", "poison"), set(sources.asked)) == (HELD, {"ordinary"})
    with pytest.raises(KubeError, match="held back"):
        await question(world, "poison")
    await world.seconds(15)
    assert world.condition("Ready", "poison") == READY


async def test_where_nobody_was_on_the_cpu_all_that_was_under_way_waits(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "one", "two", "ordinary")
    await lives.died(innocents=("one", "two"))
    await lives.world.seconds(29)
    assert set(sources.asked) == {"ordinary"}
    assert "perhaps for another reason" in lives.world.message("Ready", "one")
    await lives.world.seconds(3)
    assert (lives.world.replicas("one"), lives.world.replicas("two")) == (1, 1)


async def test_innocents_are_back_soon_and_are_tried_one_at_a_time(lives: Lives, sources: Sources) -> None:
    world, names = lives.world, [f"app{number}" for number in range(40)]
    await create(world, sources, "poison", *names, pollingInterval=3600)
    await lives.died("poison", names)
    await world.seconds(4)
    assert sources.asked == []
    await world.seconds(3)
    assert sorted(sources.asked) == sorted(names)
    assert sources.most == 1
    assert {world.condition("Ready", name) for name in names} == {READY}
    assert world.condition("Ready", "poison") == HELD


async def test_a_source_that_hangs_holds_the_others_up_for_a_second(lives: Lives, sources: Sources) -> None:
    """In real time; virtual time stands still while anything is asked."""
    world, others = lives.world, asyncio.Event()
    await create(world, sources, "slow", "app", pollingInterval=3600)

    async def wait() -> None:
        await others.wait()

    async def note() -> None:
        others.set()

    sources.on_question |= {"slow": wait, "app": note}
    world.operator.source_seconds = 60
    async with asyncio.timeout(30):
        await lives.died(innocents=("slow", "app"))
        await world.seconds(32)
    assert (world.replicas("slow"), world.replicas("app")) == (1, 1)


async def test_a_namespace_of_many_deaths_waits_as_a_whole_also_what_is_new_in_it(
    lives: Lives, sources: Sources
) -> None:
    world = lives.world
    await create(world, sources, "poison", "neighbour")
    journal = Journal(memoryview(lives.memory), lives.now)
    live = world.get(SCALED_OBJECTS, "poison")
    poison = work_on(ObjectKey.of("ScaledObject", live), live)
    journal.keep(Hold(work=poison, deaths=NAMESPACE_DEATHS, died=lives.now, seconds=2400))
    await lives.begin(lives.left())
    await create(world, sources, "new")
    await world.patch(SCALED_OBJECTS, {"spec": {"maxReplicaCount": 9}}, "poison")
    await world.seconds(290)
    assert sources.asked == []
    for name in ("poison", "neighbour", "new"):
        assert world.condition("Ready", name) == HELD
        assert "objects of this namespace has ended the operator's process 5 times" in world.message("Ready", name)
    await world.seconds(15)
    assert {world.replicas(name) for name in ("poison", "neighbour", "new")} == {1}
    assert sources.most == 1


async def test_what_was_active_keeps_its_replicas_and_then_its_whole_cooldown(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "app")
    await lives.begin()
    await world.seconds(size(600, 120))
    assert world.replicas("app") == 1
    await world.operator.kill()
    sources.url("app", 0)
    await lives.died("app")
    await world.seconds(28)
    assert (world.condition("Ready", "app"), world.replicas("app")) == (HELD, 1)
    await world.seconds(55)
    assert (world.condition("Ready", "app"), world.replicas("app")) == (READY, 1)
    await world.seconds(15)
    assert world.replicas("app") == 0


async def test_an_object_that_is_gone_by_now_is_forgotten(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison")
    live = world.get(SCALED_OBJECTS, "poison")
    await world.delete(SCALED_OBJECTS, "poison")
    journal = Journal(memoryview(lives.memory), lives.now)
    journal.keep(Hold(work=work_on(ObjectKey.of("ScaledObject", live), live), deaths=1, died=lives.now, seconds=3600))
    await lives.begin(lives.left())
    assert (await read_page(world))['keda_py_objects_held_back{type="scaledobject"}'] == 0


async def test_a_scaled_job_is_held_back_as_well(lives: Lives, sources: Sources) -> None:
    world = lives.world
    template = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
    spec = {
        "jobTargetRef": {"template": template},
        "pollingInterval": 10,
        "triggers": [metrics_api(sources.url("jobs"))],
    }
    meta = {"name": "work", "namespace": "default"}
    await world.client.create(SCALED_JOBS, {"metadata": meta, "spec": spec})
    await lives.died("work", resource=SCALED_JOBS)
    await world.seconds(28)

    def ready() -> tuple[str, str]:
        listed = world.get(SCALED_JOBS, "work")["status"]["conditions"]
        return next((one["status"], one["reason"]) for one in listed if one["type"] == "Ready")

    assert (ready(), sources.asked) == (("False", "ScaledJobHeldBack"), [])
    assert world.get(SCALED_JOBS, "work")["status"]["kedaPy"]["heldBack"]["deaths"] == 1
    await world.seconds(5)
    assert ready() == ("True", "ScaledJobReady")
    assert "kedaPy" not in world.get(SCALED_JOBS, "work")["status"]
    assert sources.asked


async def test_what_was_held_back_is_not_read_together_with_others_for_an_hour(lives: Lives, sources: Sources) -> None:
    """So that the next death shows which of them it was; metrics-api has no common question, so the key is looked at."""
    world = lives.world
    await create(world, sources, "app", pollingInterval=300)
    await lives.died("app")
    await world.seconds(35)
    assert world.operator.assembly is not None
    built = world.operator.assembly.parts.readings.built(ObjectKey("ScaledObject", "default", "app"))
    assert built is not None
    assert built.stands_apart
    await world.seconds(3700)
    assert not built.stands_apart
