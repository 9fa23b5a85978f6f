"""Which files of keda_py a question or a poll passes, in their order."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tests.places import ROOT

KEDA_PY = ROOT / "keda_py"
BEGIN = "external_metrics/server.py"
CALLBACKS = ""
"""The name under which files are noted that the loop enters outside of any task, such as with the bytes of a client."""


class Way:
    """The files as one task entered them, runs of one file once: `files` of the one that serves."""

    def __init__(self) -> None:
        self._tasks: dict[str, list[str]] = {}
        self._seen: dict[int, FrameType] = {}

    @property
    def files(self) -> list[str]:
        """From the metrics server on."""
        entered = next(files for files in self._tasks.values() if BEGIN in files)
        return _runs(entered[entered.index(BEGIN) :])

    def of(self, task_name: str) -> list[str]:
        """Of the task with that name."""
        return _runs(next(files for name, files in self._tasks.items() if name == task_name))

    def has(self, task_name: str) -> bool:
        """Whether there was a task with that name."""
        return task_name in self._tasks

    def through(self, file: str) -> list[str]:
        """Of the task that enters that file, whatever its name."""
        return _runs(next(files for files in self._tasks.values() if file in files))

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        """A profile function: a frame counts where it begins, not where it goes on after a wait."""
        if event != "call" or id(frame) in self._seen:
            return
        file = Path(frame.f_code.co_filename)
        if not file.is_relative_to(KEDA_PY):
            return
        self._seen[id(frame)] = frame
        try:
            task = asyncio.current_task()
        except RuntimeError:
            return
        name = task.get_name() if task is not None else CALLBACKS
        self._tasks.setdefault(name, []).append(file.relative_to(KEDA_PY).as_posix())


def returns(files: list[str]) -> int:
    """How often a file is entered again that had been left."""
    return len(files) - len(set(files))


def _runs(files: list[str]) -> list[str]:
    return [one for one, before in zip(files, ["", *files], strict=False) if one != before]


@contextmanager
def watched_way() -> Iterator[Way]:
    """What is passed meanwhile."""
    way = Way()
    sys.setprofile(way.note)
    try:
        yield way
    finally:
        sys.setprofile(None)
