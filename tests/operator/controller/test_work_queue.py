"""Keys become due; a key is never worked on twice at once, and nothing that made it due is lost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from keda_py.clock import FakeClock
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.controller.work_queue import A_TURN, DueQueue
from tests.costs import bytes_kept_by
from tests.waiting import eventually, turns

A, B = ObjectKey("ScaledObject", "shop", "a"), ObjectKey("ScaledObject", "shop", "b")


@dataclass
class Looks:
    """Work that waits for what it reads, in which some is passed over."""

    waits: dict[ObjectKey, asyncio.Future[None]] = field(default_factory=dict)
    done: list[ObjectKey] = field(default_factory=list)
    passed: list[ObjectKey] = field(default_factory=list)
    passes: set[ObjectKey] = field(default_factory=set)
    asks: bool = True
    clock: FakeClock = field(default_factory=lambda: FakeClock(datetime(2026, 11, 20, tzinfo=UTC)))

    def read_ahead(self, key: ObjectKey) -> asyncio.Future[None] | None:
        if not self.asks:
            return None
        self.waits[key] = asyncio.get_running_loop().create_future()
        return self.waits[key]

    def pass_over(self, key: ObjectKey) -> tuple[float, float] | None:
        """What is passed over is due again in ten seconds."""
        if key not in self.passes:
            return None
        self.passed.append(key)
        return self.clock.monotonic() + 10, self.clock.monotonic()

    async def work(self, key: ObjectKey) -> None:
        self.done.append(key)


@asynccontextmanager
async def running(
    work: Callable[[ObjectKey], Awaitable[None]], crowded: Collection[str] = (), looks: Looks | None = None
) -> AsyncIterator[tuple[DueQueue, FakeClock]]:
    clock = looks.clock if looks else FakeClock(datetime(2026, 11, 20, tzinfo=UTC))
    hooks = {"read_ahead": looks.read_ahead, "pass_over": looks.pass_over} if looks else {}
    queue = DueQueue(clock, work, is_crowded=lambda namespace: namespace in crowded, **hooks)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(queue.run())
        yield queue, clock
        task.cancel()


async def test_a_key_is_worked_on_when_its_time_has_come_and_not_before() -> None:
    worked: list[ObjectKey] = []

    async def work(key: ObjectKey) -> None:
        worked.append(key)

    async with running(work) as (queue, clock):
        queue.add(A, 10)
        await clock.advance(9)
        assert worked == []
        await clock.advance(1)
        assert worked == [A]


async def test_the_earliest_of_several_due_times_counts() -> None:
    times: list[float] = []

    async with running(lambda _: _note(times, clock.monotonic())) as (queue, clock):
        queue.add(A, 10)
        queue.add(A, 3)
        queue.add(A, 7)
        await clock.advance(20)
    assert times == [3.0]


async def test_what_comes_while_a_key_is_worked_on_runs_it_once_more() -> None:
    gate, runs = asyncio.Event(), 0

    async def work(_: ObjectKey) -> None:
        nonlocal runs
        runs += 1
        await gate.wait()

    async with running(work) as (queue, _):
        queue.add(A)
        await asyncio.sleep(0)
        for _ in range(5):
            queue.add(A)
        gate.set()
        await eventually(lambda: queue.depth == 0)
    assert runs == 2


async def test_a_key_that_hangs_does_not_delay_another() -> None:
    gate, done = asyncio.Event(), asyncio.Event()

    async def work(key: ObjectKey) -> None:
        if key == A:
            await gate.wait()
        else:
            done.set()

    async with running(work) as (queue, _):
        queue.add(A)
        queue.add(B)
        await asyncio.wait_for(done.wait(), 5)
        gate.set()


async def test_virtual_time_stands_still_while_a_key_is_worked_on() -> None:
    gate = asyncio.Event()
    async with running(lambda _: _wait(gate)) as (queue, clock):
        queue.add(A)
        async with asyncio.TaskGroup() as tasks:
            moving = tasks.create_task(clock.advance(60))
            await turns(200)
            assert clock.monotonic() == 0.0
            gate.set()
            await moving
        assert clock.monotonic() == 60.0


async def test_a_discarded_key_is_not_worked_on() -> None:
    worked: list[float] = []
    async with running(lambda _: _note(worked, 0.0)) as (queue, clock):
        queue.add(A, 5)
        queue.discard(A)
        await clock.advance(10)
    assert worked == []


async def _note(times: list[float], value: float) -> None:
    times.append(value)


async def _wait(gate: asyncio.Event) -> None:
    await gate.wait()


async def test_a_queue_that_was_stopped_holds_time_no_longer() -> None:
    async def work(key: ObjectKey) -> None:
        await asyncio.get_running_loop().create_future()

    async with running(work) as (queue, clock):
        queue.add(A)
        await turns(2)
        queue.add(B)
        queue.add(A, 5)
    queue.add(B)
    await asyncio.wait_for(clock.advance(10), 5)
    assert clock.monotonic() == 10


@given(
    asked=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 20), st.booleans()), max_size=30),
)
async def test_whatever_is_asked_for_and_forgotten_each_key_is_worked_on_at_its_earliest_time(
    asked: list[tuple[str, int, bool]],
) -> None:
    due, worked = dict[str, int](), dict[str, float]()

    async with running(lambda key: _note_first(worked, key.name, clock.monotonic())) as (queue, clock):
        for name, delay, forget in asked:
            if forget:
                queue.discard(ObjectKey("ScaledObject", "shop", name))
                due.pop(name, None)
            else:
                queue.add(ObjectKey("ScaledObject", "shop", name), delay)
                due[name] = min(due.get(name, delay), delay)
        await clock.advance(21)
    assert worked == due


async def test_a_crowded_namespace_with_many_begins_nothing_until_it_has_room_and_keeps_no_other_from_it() -> None:
    crowded, worked = {"shop"}, list[ObjectKey]()

    async def work(key: ObjectKey) -> None:
        worked.append(key)

    other = ObjectKey("ScaledObject", "office", "c")
    many = [ObjectKey("ScaledObject", "shop", f"d{number}") for number in range(A_TURN + 1)]
    async with running(work, crowded) as (queue, _):
        for key in (*many, other):
            queue.add(key)
        await eventually(lambda: worked == [other])
        await turns(20)
        assert queue.depth == len(many)
        crowded.clear()
        await eventually(lambda: worked == [other, *many])


async def test_the_few_that_are_due_in_a_crowded_namespace_begin() -> None:
    worked: list[ObjectKey] = []

    async def work(key: ObjectKey) -> None:
        worked.append(key)

    async with running(work, {"shop"}) as (queue, _):
        queue.add(A)
        queue.add(B)
        await eventually(lambda: worked == [A, B])


async def test_of_many_that_are_due_at_once_a_few_begin_and_are_seen_to_crowd_their_namespace() -> None:
    crowded, begun, gate = set[str](), list[ObjectKey](), asyncio.Event()

    async def work(key: ObjectKey) -> None:
        begun.append(key)
        crowded.add("shop")
        await gate.wait()

    keys = [ObjectKey("ScaledObject", "shop", f"d{number}") for number in range(5000)]
    async with running(work, crowded) as (queue, _):
        for key in keys:
            queue.add(key)
        await eventually(lambda: bool(begun))
        await turns(20)
        assert begun == keys[:A_TURN]
        gate.set()
        await eventually(lambda: queue.depth == len(keys) - A_TURN)
        crowded.clear()
        await eventually(lambda: len(begun) > A_TURN)
        assert begun == keys[: len(begun)]


async def test_what_is_due_and_has_not_begun_when_work_ends_holds_time_no_longer() -> None:
    async with running(lambda _: asyncio.sleep(0), {"shop"}) as (queue, clock):
        for number in range(2 * A_TURN):
            queue.add(ObjectKey("ScaledObject", "shop", f"d{number}"))
        await turns(20)
        assert queue.depth == 2 * A_TURN
    await clock.advance(1)
    assert clock.monotonic() == 1


def test_a_flood_of_changes_of_what_is_due_in_a_day_leaves_nothing_behind() -> None:
    async def flood() -> DueQueue:
        clock = FakeClock(datetime(2026, 11, 20, tzinfo=UTC))
        queue = DueQueue(clock, lambda _: asyncio.sleep(0))
        queue.add(A, 1)  # so that the clock, which forgets no timer before its time, is asked for one alone
        for number in range(20_000):
            queue.discard(B)
            queue.add(B, 86_400 - number / 1_000_000)
        return queue

    assert bytes_kept_by(lambda: asyncio.run(flood())) < 1_000_000


async def _note_first(times: dict[str, float], name: str, now: float) -> None:
    times.setdefault(name, now)


async def test_what_waits_for_its_readings_takes_no_task_until_they_are_there() -> None:
    looks = Looks()
    async with running(looks.work, looks=looks) as (queue, clock):
        queue.add(A)
        queue.add(B)
        await eventually(lambda: set(looks.waits) == {A, B})
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("work ")]
        assert queue.depth == 2
        looks.waits[B].set_result(None)
        await eventually(lambda: looks.done == [B])
        looks.waits[A].set_result(None)
        await eventually(lambda: looks.done == [B, A])
        assert queue.depth == 0
        await clock.advance(1)


async def test_what_is_passed_over_is_finished_and_comes_again_where_it_was_due_meanwhile() -> None:
    looks = Looks(passes={A})
    async with running(looks.work, looks=looks) as (queue, _):
        queue.add(A)
        await eventually(lambda: A in looks.waits)
        first = looks.waits[A]
        queue.add(A)
        first.set_result(None)
        await eventually(lambda: looks.passed == [A])
        await eventually(lambda: looks.waits[A] is not first)
        looks.passes.clear()
        looks.waits[A].set_result(None)
        await eventually(lambda: looks.done == [A])
        assert (queue.depth, looks.passed) == (0, [A])


async def test_what_is_passed_over_comes_again_when_it_is_due_and_the_clock_goes_on_until_then() -> None:
    looks = Looks(passes={A}, asks=False)
    async with running(looks.work, looks=looks) as (queue, clock):
        queue.add(A)
        await clock.advance(9)
        assert looks.passed == [A]
        await clock.advance(1)
        assert looks.passed == [A, A]


async def test_what_still_waits_for_its_readings_when_work_ends_holds_time_no_longer_and_never_begins() -> None:
    looks = Looks()
    async with running(looks.work, looks=looks) as (queue, clock):
        queue.add(A)
        await eventually(lambda: A in looks.waits)
    looks.waits[A].set_result(None)
    await clock.advance(1)
    assert (clock.monotonic(), looks.done) == (1, [])
