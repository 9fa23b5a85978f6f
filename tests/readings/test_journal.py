"""The journal of the work under way, in memory that outlives the process."""

import asyncio
from contextlib import suppress

import pytest

from keda_py.core.quarantine import Hold, Mark, Work
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.journal import Journal
from keda_py.readings.journal_bytes import SIZE, SLOTS, SLOTS_OF_NAMESPACE, SPARE_SLOTS, read
from tests.readings.journals import APP, NOW, OTHER, begin, pause
from tests.waiting import forever


class InspectedJournal:
    """Journal, with what a next process would find in its memory at any moment."""

    def __init__(self) -> None:
        self.memory = bytearray(SIZE)
        self.journal = Journal(memoryview(self.memory), NOW)

    def traces(self) -> dict[str, Mark]:
        return {trace.work.key.name: trace.mark for trace in read(bytes(self.memory))[1]}

    def on_cpu(self) -> list[str]:
        group, traces = read(bytes(self.memory))
        return sorted(trace.work.key.name for trace in traces if group and trace.group == group)


@pytest.fixture
def left() -> InspectedJournal:
    return InspectedJournal()


async def test_work_is_written_down_while_it_is_under_way(left: InspectedJournal) -> None:
    ready, go = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        ready.set()
        await go.wait()
        return "done"

    async def run() -> str:
        return await left.journal.run((APP,), work())

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run())
        await ready.wait()
        assert (left.traces(), left.on_cpu()) == ({"app": Mark.UNDER_WAY}, [])
        go.set()
    assert task.result() == "done"
    assert left.traces() == {}


async def test_who_is_on_the_cpu_is_written_down_for_each_step(left: InspectedJournal) -> None:
    seen = []

    async def inner() -> None:
        seen.append(left.on_cpu())
        await asyncio.sleep(0)
        seen.append(left.on_cpu())

    async def work() -> None:
        seen.append(left.on_cpu())
        await left.journal.run((OTHER,), inner())
        seen.append(left.on_cpu())

    await left.journal.run((APP,), work())
    assert seen == [["app"], ["other"], ["other"], ["app"]]
    assert left.on_cpu() == []


async def test_the_members_of_a_common_question_share_their_steps(left: InspectedJournal) -> None:
    async def work() -> list[str]:
        return left.on_cpu()

    assert await left.journal.run((APP, OTHER), work()) == ["app", "other"]


async def test_what_work_raises_goes_on_and_nothing_stays_under_way(left: InspectedJournal) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        await left.journal.run((APP,), work())
    assert (left.traces(), left.on_cpu()) == ({}, [])


async def test_a_cancellation_reaches_the_work_which_may_put_things_in_order(left: InspectedJournal) -> None:
    tidied = []

    async def work() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0)
            tidied.append(left.traces())

    async def run() -> None:
        await left.journal.run((APP,), work())

    with suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            await run()
    assert tidied == [{"app": Mark.UNDER_WAY}]
    assert left.traces() == {}


async def test_time_outs_inside_work_behave_as_without_a_journal(left: InspectedJournal) -> None:
    async def work() -> str:
        try:
            async with asyncio.timeout(0.01):
                await forever()
        except TimeoutError:
            return "late"
        return "in time"

    assert await left.journal.run((APP,), work()) == "late"


def test_work_that_is_thrown_away_is_closed(left: InspectedJournal) -> None:
    closed = []

    async def work() -> None:
        try:
            await pause()
        except GeneratorExit:
            closed.append(True)
            raise

    begin(left.journal, work()).close()
    assert (closed, left.traces()) == ([True], {})


async def test_a_step_that_goes_on_is_seen_as_the_same_and_can_be_accused(left: InspectedJournal) -> None:
    async def work() -> None:
        steps = left.journal.steps
        assert left.journal.on_cpu == (APP,)
        left.journal.accuse()
        assert left.journal.steps == steps
        assert left.traces() == {"app": Mark.HUNG}
        await asyncio.sleep(0)
        assert left.journal.steps == steps + 1

    await left.journal.run((APP,), work())
    left.journal.accuse()
    assert left.traces() == {}


async def test_a_trial_is_marked_as_one(left: InspectedJournal) -> None:
    async def work() -> dict[str, Mark]:
        return left.traces()

    left.journal.trials.add(APP.key)
    assert await left.journal.run((APP, OTHER), work()) == {"app": Mark.TRIAL, "other": Mark.UNDER_WAY}


async def test_the_next_process_finds_what_this_one_died_of(left: InspectedJournal) -> None:
    copies = []

    async def work() -> None:
        copies.append(bytearray(left.memory))

    await left.journal.run((APP,), work())
    following = Journal(memoryview(copies[0]), NOW)
    assert following.inherited == (Hold(work=APP, deaths=1, died=NOW, seconds=30),)
    # It may also die at once.
    assert Journal(memoryview(bytearray(copies[0])), NOW + 1).inherited == following.inherited


def test_a_hold_is_kept_until_it_is_dropped(left: InspectedJournal) -> None:
    hold = Hold(work=APP, deaths=2, died=NOW, seconds=300)
    left.journal.keep(hold)
    left.journal.keep(Hold(work=APP, deaths=3, died=NOW, seconds=600))
    assert [trace.deaths for trace in read(bytes(left.memory))[1]] == [3]
    left.journal.drop(APP.key)
    left.journal.drop(OTHER.key)
    assert left.traces() == {}


def app(number: int, namespace: str = "") -> Work:
    """Return the key of one of very many objects, of 17 namespaces by default."""
    return Work(ObjectKey("ScaledObject", namespace or f"shop-{number % 17}", f"app{number}"), 1)


def test_what_is_remembered_of_the_innocent_leaves_half_of_the_slots(left: InspectedJournal) -> None:
    for number in range(SLOTS):
        left.journal.keep(Hold(work=app(number), deaths=0, died=NOW, seconds=30))
    assert len(left.traces()) == SLOTS // 2
    left.journal.keep(Hold(work=OTHER, deaths=1, died=NOW, seconds=30))
    assert "other" in left.traces()


async def test_what_has_no_slot_is_worked_on_all_the_same_and_that_is_told_once(
    left: InspectedJournal, caplog: pytest.LogCaptureFixture
) -> None:
    works = [app(number) for number in range(SLOTS + 2)]

    async def count() -> int:
        return len(left.traces())

    assert await left.journal.run(works, count()) == SLOTS
    assert await left.journal.run((Work(ObjectKey("Pod", "shop", "app"), 1),), count()) == 0
    assert await left.journal.run((Work(ObjectKey("ScaledObject", "n" * 64, "app"), 1),), count()) == 0
    assert await left.journal.run(works[:3], count()) == 3
    assert [record.message for record in caplog.records] == ["the journal is full, some work under way is not recorded"]


async def test_one_namespace_leaves_slots_to_all_others(left: InspectedJournal) -> None:
    crowd = [app(number, "evil") for number in range(SLOTS)]

    async def both() -> int:
        return await left.journal.run((APP,), here())

    async def here() -> int:
        assert "app" in left.traces()
        return len(left.traces())

    assert await left.journal.run(crowd, both()) == SLOTS_OF_NAMESPACE + SPARE_SLOTS + 1
    assert left.traces() == {}


async def test_an_object_without_a_slot_is_found_all_the_same_if_the_process_dies_of_it(left: InspectedJournal) -> None:
    """Beside it as many objects of its namespace wait as may have slots."""
    culprit, copies = app(SLOTS, "evil"), list[bytearray]()

    async def die() -> None:
        copies.append(bytearray(left.memory))
        left.journal.accuse()
        copies.append(bytearray(left.memory))

    async def crowd() -> None:
        await left.journal.run((culprit,), die())

    waiting = [app(number, "evil") for number in range(SLOTS_OF_NAMESPACE)]
    await left.journal.run(waiting, crowd())
    for copied in copies:
        inherited = Journal(memoryview(copied), NOW).inherited
        assert [hold.work for hold in inherited if hold.deaths] == [culprit]


def test_of_a_crowd_that_was_under_way_what_the_process_died_of_is_remembered_first(left: InspectedJournal) -> None:
    for number in range(SLOTS_OF_NAMESPACE - 1):
        left.journal.keep(Hold(work=app(number, "evil"), deaths=int(number == 77), died=NOW, seconds=30))
    again = Journal(memoryview(bytearray(left.memory)), NOW)
    later = Journal(memoryview(bytearray(left.memory)), NOW)
    assert {hold.work.key.name for hold in again.inherited if hold.deaths} == {"app77"}
    assert {hold.work.key.name for hold in later.inherited if hold.deaths} == {"app77"}
