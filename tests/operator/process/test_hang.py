"""An event loop that hangs is shown and ended; one that is only late, stopped or short of CPU is not. Virtual ticks."""

import asyncio
import logging
import sys
import threading
from types import FrameType

import pytest

from keda_py.core.quarantine import Mark, Work
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.process.hang import EXIT_CODE, TICK_SECONDS, Hang, ThreadTimes, stack_of, times_of
from keda_py.readings.journal import Journal
from keda_py.readings.journal_bytes import SIZE, read
from tests.waiting import forever

LEASE = 15.0
APP = Work(ObjectKey("ScaledObject", "shop", "app"), 1)


class FullPipe(logging.Handler):
    """A log that takes no line until it is read."""

    def __init__(self, read: threading.Event) -> None:
        super().__init__()
        self._read = read

    def emit(self, record: logging.LogRecord) -> None:
        self._read.wait()


class Watched:
    """A loop that hangs or beats as told, and the process that it is in."""

    def __init__(self) -> None:
        self.memory = bytearray(SIZE)
        self.journal = Journal(memoryview(self.memory))
        self.beats = 0
        self.ended: list[int] = []
        self.times = ThreadTimes(ran=0.0, starved=0.0)
        self.hang = Hang(self.journal, LEASE, lambda: self.times, self.ended.append)

    def ticks(self, seconds: float, starved: float = 0.0, ran: float = 0.0) -> None:
        """`starved` is the share of the time in which the loop's thread gets no CPU, `ran` that in which it has one."""
        for _ in range(round(seconds / TICK_SECONDS)):
            more = ThreadTimes(ran=TICK_SECONDS * ran, starved=TICK_SECONDS * starved)
            self.times = ThreadTimes(ran=self.times.ran + more.ran, starved=self.times.starved + more.starved)
            self.hang.tick(self.beats, self.frame)

    def frame(self) -> FrameType | None:
        return sys._getframe()

    def marks(self) -> dict[str, Mark]:
        return {trace.work.key.name: trace.mark for trace in read(bytes(self.memory))[1]}


@pytest.fixture
def watched() -> Watched:
    return Watched()


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records]


def test_a_loop_that_beats_is_left_alone(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(600):
        watched.beats += 1
        watched.ticks(TICK_SECONDS)
    assert (watched.ended, caplog.records) == ([], [])


def test_a_loop_that_hangs_is_shown_once_and_not_ended_while_the_lease_lasts(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.ticks(LEASE)
    (told,) = caplog.records
    assert (told.levelno, told.message) == (logging.ERROR, "the event loop hangs")
    assert told.seconds == pytest.approx(5, abs=0.2)
    assert any(f"{__file__}:" in line and line.endswith(" frame") for line in told.stack)
    assert not watched.ended


def test_one_that_hangs_for_longer_than_the_lease_is_ended(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.ticks(LEASE + 3 * TICK_SECONDS)
    assert watched.ended[0] == EXIT_CODE
    assert messages(caplog)[1] == "the event loop hangs for longer than the lease, the process ends"


def test_a_beat_just_in_time_saves_it(watched: Watched) -> None:
    for _ in range(3):
        watched.ticks(LEASE)
        watched.beats += 1
    assert not watched.ended


async def test_the_object_that_it_hangs_at_is_named_and_written_down(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    async def hanging() -> None:
        watched.ticks(LEASE + 3 * TICK_SECONDS)
        assert watched.marks() == {"app": Mark.HUNG}

    await watched.journal.run((APP,), hanging())
    assert [record.objects for record in caplog.records[:2]] == [["ScaledObject/shop/app"]] * 2


async def test_a_loop_that_gets_from_step_to_step_is_busy_and_not_hung(watched: Watched) -> None:
    """As one with thousands of objects on a machine that is short of CPU: its timers are late, nothing more."""

    async def step() -> None:
        watched.ticks(LEASE / 3 - 1)

    for _ in range(20):
        await watched.journal.run((APP,), step())
    assert not watched.ended


def test_a_process_that_was_stopped_has_not_ticked_and_goes_on(watched: Watched) -> None:
    watched.ticks(LEASE - 1)
    # Here the machine sleeps for a night; afterwards the watchdog may well be the first to run.
    watched.ticks(TICK_SECONDS)
    watched.beats += 1
    watched.ticks(LEASE - 1)
    assert not watched.ended


def test_a_loop_that_gets_no_cpu_is_given_the_more_time(watched: Watched) -> None:
    watched.ticks(60, starved=0.9, ran=0.1)
    watched.ticks(600, starved=1.2)  # the thread's count is not read at the very tick
    assert not watched.ended
    watched.ticks(LEASE - 5)
    assert watched.ended[0] == EXIT_CODE


def test_cpu_that_is_used_counts_where_the_ticks_are_late(watched: Watched) -> None:
    """On a machine that is short of CPU, the watchdog's thread is, too."""
    watched.ticks(LEASE / 3 + 2 * TICK_SECONDS, starved=3, ran=3)
    assert watched.ended[0] == EXIT_CODE


def test_the_times_of_a_thread_are_asked_of_the_kernel() -> None:
    read = times_of(threading.main_thread())
    before = read()
    while (after := read()).ran == before.ran:
        continue
    assert after.starved >= before.starved >= 0


def test_a_log_that_hangs_as_well_does_not_keep_the_process(watched: Watched) -> None:
    """As where the loop hangs while it writes a line to a pipe that nobody reads."""
    read = threading.Event()
    full = FullPipe(read)
    logging.getLogger().addHandler(full)
    try:
        watched.ticks(LEASE + 2 * TICK_SECONDS)
        assert watched.ended == [EXIT_CODE]
    finally:
        read.set()
        logging.getLogger().removeHandler(full)


def test_a_stack_shows_places_and_no_values() -> None:
    secret = "a-secret-value"
    lines = list(stack_of(sys._getframe()))
    assert lines[0].startswith(f"{__file__}:")
    assert lines[0].endswith(f" {test_a_stack_shows_places_and_no_values.__name__}")
    assert secret not in "".join(lines)
    assert list(stack_of(None)) == []


async def test_work_that_waits_is_not_on_the_cpu_of_a_loop_that_hangs_elsewhere(watched: Watched) -> None:
    async def waiting() -> None:
        await forever()

    async def run() -> None:
        await watched.journal.run((APP,), waiting())

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run())
        await asyncio.sleep(0)
        watched.ticks(LEASE + 3 * TICK_SECONDS)
        assert watched.ended
        assert watched.marks() == {"app": Mark.UNDER_WAY}
        task.cancel()
