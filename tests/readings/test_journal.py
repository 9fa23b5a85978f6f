"""The journal of what is under way, in memory that outlives the process."""

import asyncio
import os
import stat
import subprocess
import sys
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.quarantine import Hold, Mark, Trace, Work
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.journal import Journal
from keda_py.readings.journal_bytes import HEADER, MAGIC, SIZE, SLOT, SLOTS, pack, read
from keda_py.readings.journal_file import NO_FOLDER, open_journal
from tests.waiting import forever

ANOTHER_PROCESS = """
import sys
from keda_py.readings.journal_file import open_journal
with open_journal(sys.argv[1], "keda", int(sys.argv[2])) as journal:
    print(len(journal.inherited), flush=True)
    sys.stdin.read()
"""
NOW = 1_800_000_000
APP, OTHER = Work(ObjectKey("ScaledObject", "shop", "app"), 7), Work(ObjectKey("ScaledJob", "bank", "other"), 8)


@types.coroutine
def pause() -> Generator[None, None, None]:
    """Wait for ever, without a loop."""
    yield


def begin(journal: Journal, work: Coroutine[Any, Any, None] | None = None) -> Coroutine[Any, Any, None]:
    """Work on APP whose first step is done; it waits until it is closed."""

    async def wait() -> None:
        await pause()

    async def run() -> None:
        await journal.run((APP,), work or wait())

    begun = run()
    begun.send(None)
    return begun


class Left:
    """A journal, and what a next process would find in its memory at any moment."""

    def __init__(self) -> None:
        self.memory = bytearray(SIZE)
        self.journal = Journal(memoryview(self.memory), NOW)

    def traces(self) -> dict[str, Mark]:
        return {trace.work.key.name: trace.mark for trace in read(bytes(self.memory))[1]}

    def on_cpu(self) -> list[str]:
        group, traces = read(bytes(self.memory))
        return sorted(trace.work.key.name for trace in traces if group and trace.group == group)


@pytest.fixture
def left() -> Left:
    return Left()


async def test_work_is_written_down_while_it_is_under_way(left: Left) -> None:
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


async def test_who_is_on_the_cpu_is_written_down_for_each_step(left: Left) -> None:
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


async def test_the_members_of_a_common_question_share_their_steps(left: Left) -> None:
    async def work() -> list[str]:
        return left.on_cpu()

    assert await left.journal.run((APP, OTHER), work()) == ["app", "other"]


async def test_what_work_raises_goes_on_and_nothing_stays_under_way(left: Left) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        await left.journal.run((APP,), work())
    assert (left.traces(), left.on_cpu()) == ({}, [])


async def test_a_cancellation_reaches_the_work_which_may_put_things_in_order(left: Left) -> None:
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


async def test_time_outs_inside_work_behave_as_without_a_journal(left: Left) -> None:
    async def work() -> str:
        try:
            async with asyncio.timeout(0.01):
                await forever()
        except TimeoutError:
            return "late"
        return "in time"

    assert await left.journal.run((APP,), work()) == "late"


def test_work_that_is_thrown_away_is_closed(left: Left) -> None:
    closed = []

    async def work() -> None:
        try:
            await pause()
        except GeneratorExit:
            closed.append(True)
            raise

    begin(left.journal, work()).close()
    assert (closed, left.traces()) == ([True], {})


async def test_a_step_that_goes_on_is_seen_as_the_same_and_can_be_accused(left: Left) -> None:
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


async def test_a_trial_is_marked_as_one(left: Left) -> None:
    async def work() -> dict[str, Mark]:
        return left.traces()

    left.journal.trials.add(APP.key)
    assert await left.journal.run((APP, OTHER), work()) == {"app": Mark.TRIAL, "other": Mark.UNDER_WAY}


async def test_the_next_process_finds_what_this_one_died_of(left: Left) -> None:
    copies = []

    async def work() -> None:
        copies.append(bytearray(left.memory))

    await left.journal.run((APP,), work())
    following = Journal(memoryview(copies[0]), NOW)
    assert following.inherited == (Hold(work=APP, deaths=1, died=NOW, seconds=30),)
    # It may die at once, too.
    assert Journal(memoryview(bytearray(copies[0])), NOW + 1).inherited == following.inherited


def test_a_hold_is_kept_until_it_is_dropped(left: Left) -> None:
    hold = Hold(work=APP, deaths=2, died=NOW, seconds=300)
    left.journal.keep(hold)
    left.journal.keep(Hold(work=APP, deaths=3, died=NOW, seconds=600))
    assert [trace.deaths for trace in read(bytes(left.memory))[1]] == [3]
    left.journal.drop(APP.key)
    left.journal.drop(OTHER.key)
    assert left.traces() == {}


def test_what_is_remembered_of_the_innocent_leaves_half_of_the_slots(left: Left) -> None:
    for number in range(SLOTS):
        work = Work(ObjectKey("ScaledObject", "shop", f"app{number}"), 1)
        left.journal.keep(Hold(work=work, deaths=0, died=NOW, seconds=30))
    assert len(left.traces()) == SLOTS // 2
    left.journal.keep(Hold(work=OTHER, deaths=1, died=NOW, seconds=30))
    assert "other" in left.traces()


async def test_what_has_no_slot_is_worked_on_all_the_same_and_that_is_told_once(
    left: Left, caplog: pytest.LogCaptureFixture
) -> None:
    works = [Work(ObjectKey("ScaledObject", "shop", f"app{number}"), 1) for number in range(SLOTS + 2)]

    async def count() -> int:
        return len(left.traces())

    assert await left.journal.run(works, count()) == SLOTS
    assert await left.journal.run((Work(ObjectKey("Pod", "shop", "app"), 1),), count()) == 0
    assert await left.journal.run((Work(ObjectKey("ScaledObject", "n" * 64, "app"), 1),), count()) == 0
    assert await left.journal.run(works[:3], count()) == 3
    assert [record.message for record in caplog.records] == [
        "the journal is full, not all that is under way is written down"
    ]


NAMES = st.text("abc-.0", min_size=1, max_size=253)


@given(namespace=st.text("abc-0", min_size=1, max_size=63), name=NAMES, edition=st.integers(0, 2**32 - 1))
def test_an_entry_is_read_as_it_was_written(namespace: str, name: str, edition: int) -> None:
    work = Work(ObjectKey("ScaledJob", namespace, name), edition)
    content = MAGIC.ljust(HEADER, b"\0") + bytes([Mark.HELD, 0, 0, 0, 5, 0, 0, 0]) + pack(work, 3, NOW, 600)
    assert read(content) == (0, (Trace(work=work, mark=Mark.HELD, group=5, deaths=3, died=NOW, seconds=600),))


@given(content=st.binary(max_size=HEADER + 3 * SLOT))
def test_any_bytes_are_read_without_an_error(content: bytes) -> None:
    read(content)
    read(MAGIC + content)


@given(at=st.integers(0, HEADER + 2 * SLOT - 1), value=st.integers(0, 255), length=st.integers(0, HEADER + 2 * SLOT))
def test_a_journal_that_was_damaged_gives_no_other_object_than_was_written(at: int, value: int, length: int) -> None:
    entry = bytes([Mark.UNDER_WAY, 0, 0, 0, 1, 0, 0, 0])
    content = bytearray(MAGIC.ljust(HEADER, b"\0") + entry + pack(APP) + entry + pack(OTHER))
    content[at] = value
    assert {trace.work for trace in read(bytes(content[:length]))[1]} <= {APP, OTHER}


@given(content=st.binary(max_size=3 * SLOT))
def test_a_journal_of_any_bytes_can_be_gone_on_with(content: bytes) -> None:
    memory = bytearray((MAGIC + content).ljust(SIZE, b"\0"))
    journal = Journal(memoryview(memory), NOW)
    assert all(hold.until <= NOW + 3600 for hold in journal.inherited)
    assert len(read(bytes(memory))[1]) == len(journal.inherited)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_a_process_that_is_killed_leaves_its_file_and_one_that_ends_empties_it(folder: Path) -> None:
    with open_journal(str(folder), "keda", NOW) as journal:
        waiting = begin(journal)
        (file,) = folder.iterdir()
        copied = file.read_bytes()
        waiting.close()
    assert file.stat().st_size == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_bytes(copied)
    with open_journal(str(folder), "keda", NOW) as journal:
        assert [hold.work for hold in journal.inherited] == [APP]
    with open_journal(str(folder), "keda", NOW) as journal:
        assert [hold.work for hold in journal.inherited] == [APP], "what is held back stays so after an orderly end"
    with open_journal(str(folder), "another", NOW) as journal:
        assert journal.inherited == ()


def test_what_was_left_is_told_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_journal(str(folder), "keda", NOW) as journal:
        journal.keep(Hold(work=APP, deaths=2, died=NOW, seconds=300))
    with open_journal(str(folder), "keda", NOW):
        (told,) = caplog.records
        assert (told.levelname, told.count, told.objects) == ("ERROR", 1, ["ScaledObject/shop/app"])


def test_operators_of_one_name_have_a_journal_each(folder: Path) -> None:
    """Those of other processes; the locks are the process'."""
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(folder), str(NOW)]
    with open_journal(str(folder), "keda", NOW) as journal:
        journal.keep(Hold(work=APP, deaths=2, died=NOW, seconds=300))
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "0\n"
            assert len(list(folder.iterdir())) == 2
        assert second.returncode == 0
    with open_journal(str(folder), "keda", NOW) as journal:
        assert [hold.work for hold in journal.inherited] == [APP]


def link(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(b"precious")
    path.symlink_to(target)


def hard_link(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(b"precious")
    path.hardlink_to(target)


WRONG_FILES: dict[str, Callable[[Path], object]] = {
    "a symbolic link": link,
    "a hard link": hard_link,
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("make", WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_file_that_is_not_ours_costs_one_warning_and_is_left_alone(
    folder: Path, make: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    with open_journal(str(folder), "keda", NOW):
        pass
    (file,) = folder.iterdir()
    file.unlink()
    make(file)
    with open_journal(str(folder), "keda", NOW) as journal:
        assert journal.inherited == ()
        begin(journal).close()
    (told,) = caplog.records
    assert told.message.startswith("no journal is kept: ")
    target = folder / "target"
    assert not target.exists() or target.read_bytes() == b"precious"


@pytest.mark.parametrize("content", [b"", b"x" * 10, b"x" * SIZE, bytes(SIZE), bytes(SIZE + 9)])
def test_a_file_with_anything_in_it_is_gone_on_with(
    folder: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with open_journal(str(folder), "keda", NOW):
        pass
    (file,) = folder.iterdir()
    file.write_bytes(content)
    with open_journal(str(folder), "keda", NOW) as journal:
        assert journal.inherited == ()
        waiting = begin(journal)
        assert [trace.work for trace in read(file.read_bytes())[1]] == [APP]
        waiting.close()
    assert not caplog.records


@pytest.mark.parametrize("place", ["/dev/null/state", "/proc/keda-py", "/dev/full"])
def test_a_folder_that_cannot_be_had_costs_one_warning(place: str, caplog: pytest.LogCaptureFixture) -> None:
    with open_journal(place, "keda", NOW) as journal:
        begin(journal).close()
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_without_a_folder_nothing_is_kept_and_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with open_journal(NO_FOLDER, "keda", NOW) as journal:
        begin(journal).close()
    assert not caplog.records


def test_the_usual_folder_is_this_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with open_journal("", "keda", NOW):
        pass
    ours = tmp_path / "keda-py"
    assert stat.S_IMODE(ours.stat().st_mode) == 0o700
    assert not caplog.records
    ours.chmod(0o777)
    with open_journal("", "keda", NOW):
        pass
    (told,) = caplog.records
    assert "is open to others" in told.error
    caplog.clear()
    ours.chmod(0o700)
    moved = ours.rename(tmp_path / "moved")
    ours.symlink_to(moved)
    with open_journal("", "keda", NOW):
        pass
    assert [record.levelname for record in caplog.records] == ["WARNING"]
