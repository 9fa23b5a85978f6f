"""The journal's file: its owner, its content at exit, and operation without it."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keda_py.core.quarantine import Hold
from keda_py.readings.journal_bytes import SIZE, read
from keda_py.readings.journal_file import NO_FOLDER, open_journal
from tests.readings.journals import APP, NOW, begin

ANOTHER_PROCESS = """
import sys
from keda_py.readings.journal_file import open_journal
with open_journal(sys.argv[1], "keda", int(sys.argv[2])) as journal:
    print(len(journal.inherited), flush=True)
    sys.stdin.read()
"""


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
    """The operators are other processes, because the locks are per process."""
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
