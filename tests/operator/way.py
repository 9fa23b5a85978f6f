"""Which files of keda_py one question passes, in their order."""

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


class Way:
    """`files` as they were entered by the task that serves, runs of one file once."""

    def __init__(self) -> None:
        self._tasks: dict[object, list[str]] = {}
        self._seen: dict[int, FrameType] = {}

    @property
    def files(self) -> list[str]:
        """From the metrics server on."""
        entered = next(files for files in self._tasks.values() if BEGIN in files)
        entered = entered[entered.index(BEGIN) :]
        return [one for one, before in zip(entered, ["", *entered], strict=False) if one != before]

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
        self._tasks.setdefault(task, []).append(file.relative_to(KEDA_PY).as_posix())


@contextmanager
def way_of_questions() -> Iterator[Way]:
    """What is passed meanwhile."""
    way = Way()
    sys.setprofile(way.note)
    try:
        yield way
    finally:
        sys.setprofile(None)
