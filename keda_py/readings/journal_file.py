"""File of the journal: of one size, in a folder of ours, mapped into memory and locked.

The pages belong to the kernel, so that stores survive the death of the process; they need not reach a disk, and a
folder in memory (the chart's emptyDir) is best. An operator that exits in order leaves it empty except for held-back
objects. If the file cannot be used, the operator logs one warning and runs without a journal.
"""

import logging
import mmap
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from keda_py.readings.journal import Journal, owners_of
from keda_py.readings.journal_bytes import SIZE

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

NO_FOLDER = "0"
"""Value of --state-dir that disables the journal's file."""
PROCESSES = 8
"""Operators of one name that can have a journal at the same time."""
MOST_LOGGED = 10

log = logging.getLogger(__name__)


@contextmanager
def open_journal(folder: str, name: str, now: int) -> Iterator[Journal]:
    """Open the journal of the operator `name`, in `folder`; "": a folder of this user; NO_FOLDER: in memory only.

    `now` is seconds since 1970. Operators of one name have a journal each; a starting one takes the first that no
    living process has.
    """
    with ExitStack() as stack:
        file, mapped = -1, None
        if folder != NO_FOLDER:
            try:
                file = _open_file(stack, _open_folder(stack, folder), name)
                mapped = _map(stack, file)
            except (OSError, ValueError) as error:
                consequence = "no journal is kept: if this process dies, the next one cannot know the cause"
                log.warning(consequence, extra={"error": str(error)})
        journal = Journal(memoryview(mapped), now) if mapped is not None else Journal.in_memory()
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            with suppress(OSError):  # it fails for locked memory, which then stays mapped
                mapped.madvise(mmap.MADV_DONTNEED)  # unmap the pages of unused slots from this process
        _report(journal)
        try:
            yield journal
        finally:
            if not journal.close() and mapped is not None:
                stack.callback(os.ftruncate, file, 0)  # before the file is closed, after the map is


def _open_folder(stack: ExitStack, folder: str) -> int:
    """Open the folder. Raises OSError, also if other users could put a file into our own folder."""
    if fcntl is None:
        raise OSError("this system has no locks on files")
    path = Path(folder) if folder else _own_folder()
    with suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=bool(folder))
    # A folder named by --state-dir is not checked: a mounted volume belongs to root and is open to all.
    found = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if folder else os.O_NOFOLLOW))
    stack.callback(os.close, found)
    about = os.fstat(found)
    if not folder and (about.st_uid != os.geteuid() or about.st_mode & 0o077):
        raise OSError(f"{path} belongs to another user or is open to others; remove it, or say --state-dir")
    return found


def _own_folder() -> Path:
    """Return a folder of this user alone: in $XDG_RUNTIME_DIR, else in the temporary directory."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(runtime) / "keda-py" if runtime else Path(tempfile.gettempdir()) / f"keda-py-{os.geteuid()}"


def _open_file(stack: ExitStack, folder: int, name: str) -> int:
    """Open and lock the first file of that name that no other process has. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    digest = blake2b(name.encode(), digest_size=8).hexdigest()
    for number in range(PROCESSES):
        # Hashed, so that a name of any length and content makes a file name.
        path = f"{digest}-{number}.journal"
        file = os.open(path, flags, 0o600, dir_fd=folder)
        stack.callback(os.close, file)
        about = os.fstat(file)
        # A volume may be open to others: their link or pipe under our name would have us write into a file of their
        # choice.
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_nlink != 1:
            raise OSError(f"{path} is not a regular file of this user; remove it")
        try:
            # A lock of the process, not of the descriptor: a child that outlives us does not keep it.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            continue
        return file
    raise OSError(f"{PROCESSES} other operators of this name are running")


def _map(stack: ExitStack, file: int) -> mmap.mmap:
    """Map the file. Raises OSError without enough space, which a store would otherwise report by SIGBUS."""
    if os.fstat(file).st_size != SIZE:
        os.ftruncate(file, 0)
        if os.pwrite(file, bytes(SIZE), 0) != SIZE:
            os.ftruncate(file, 0)
            raise OSError(f"not enough space for {SIZE} bytes")
    return stack.enter_context(mmap.mmap(file, SIZE))


def _report(journal: Journal) -> None:
    held = [hold for hold in journal.inherited if hold.held]
    if held:
        worst = sorted(held, key=lambda hold: -hold.deaths)[:MOST_LOGGED]
        log.error(
            "the process before this one died at work, objects are held back",
            extra={"count": len(held), "objects": owners_of(hold.work for hold in worst)},
        )
