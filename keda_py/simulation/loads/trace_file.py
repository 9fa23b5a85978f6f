"""A CSV file -> rows, one at a time, whatever its length: `time,queue` and lines like `2026-11-02T08:00:00Z,12`.

The first column is the time: ISO 8601 with a zone, Unix seconds, or seconds from the beginning. The others are
triggers. `error` is a source that does not answer. Nothing is guessed: a row out of order, a gap, a cell that is no
plain number, are refused with their line.
"""

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, TextIO

from keda_py.errors import ConfigError, ScalerError
from keda_py.replay.engine.source import Sample, Source
from keda_py.simulation.loads.load import Need, match_columns
from keda_py.simulation.sources import Column, Row, Rows

FAILED = "error"
Gaps = Literal["refuse", "hold", "fail"]
TimeUnit = Literal["s", "ms", "us", "ns"]
_PER_SECOND: Mapping[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
# Numbers below are seconds from a beginning; Unix seconds above would be beyond the year 5000.
_FIRST_UNIX, _LAST_UNIX = 1e8, 1e11
_TAIL_BYTES = 65_536
_LONGEST_LINE = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRules:
    """Rules for reading a trace: `longest_gap` seconds may lie between two rows; `gaps` says what a longer one means.

    `begin`: the moment of second 0, where times count from the beginning.
    """

    longest_gap: float = 3600.0
    gaps: Gaps = "refuse"
    time_unit: TimeUnit = "s"
    begin: datetime | None = None
    empty: Literal["refuse", "fail"] = "refuse"
    """What a cell without text means: a mistake, or a source that did not answer."""


@dataclass(slots=True, kw_only=True)
class TraceFile:
    """A `Load`. Raises ConfigError when it is made, where header, first or last row cannot be read."""

    path: str
    rules: TraceRules = field(default_factory=TraceRules)
    columns: tuple[str, ...] = field(init=False)
    origin: datetime = field(init=False)
    end: float = field(init=False)
    _first: float = field(init=False)

    def __post_init__(self) -> None:
        _check_lines(self.path)
        with _opened(self.path) as file:
            self.columns = self._header(next(csv.reader(file), None))
        with _opened(self.path) as file:
            lines = csv.reader(file)
            next(lines)
            first = next(lines, None)
        if not first:
            raise ConfigError(f"{self.path}: has no rows below its header; give at least one")
        self._first = self._time(first[0], 2)
        relative = self._first < _FIRST_UNIX
        self.origin = self._origin(relative=relative)
        if relative:
            self._first = 0.0
        self.end = self._last() - self._first

    def bind(self, needs: Sequence[Need]) -> Mapping[int, Source]:
        """Read the file once for all triggers."""
        found = match_columns(self.columns, needs, f"{self.path}:1")
        rows = Rows(self.rows())
        return {index: Column(rows, at) for index, at in found.items()}

    def rows(self) -> Iterator[Row]:
        """Yield seconds after the origin, and a sample for each column. Raises ConfigError that names the line."""
        before, failing = -math.inf, tuple(ScalerError("the trace has no value here") for _ in self.columns)
        with _opened(self.path) as file:
            lines = csv.reader(file)
            next(lines)
            for cells in lines:
                number = lines.line_num
                if not cells:
                    continue
                at, samples = self._row(cells, number)
                if at <= before:
                    problem = f"{self.path}:{number}: this time is not after that of the line before"
                    raise ConfigError(f"{problem}; sort the rows by time and leave one of each")
                if at - before > self.rules.longest_gap and before > -math.inf:
                    self._check_gap(at - before, number)
                    if self.rules.gaps == "fail":
                        yield before + self.rules.longest_gap, failing
                before = at
                yield at, samples

    def _header(self, cells: Sequence[str] | None) -> tuple[str, ...]:
        names = tuple(name.strip() for name in cells or ())
        if len(names) < 2 or _is_number(names[0]) or len(set(names)) < len(names):
            raise ConfigError(f"{self.path}:1: is no header; write `time,NAME` with a name for each trigger's column")
        return names[1:]

    def _origin(self, *, relative: bool) -> datetime:
        if relative:
            if self.rules.begin is None:
                problem = f"{self.path}:2: times count from a beginning that is not given"
                raise ConfigError(f"{problem}; say when that was: --from 2026-11-02T00:00:00Z")
            return self.rules.begin
        return datetime.fromtimestamp(self._first, UTC)

    def _last(self) -> float:
        """Return the time of the last row and one step more: until then it holds."""
        with _opened(self.path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            tail = [line for line in file.read().splitlines() if line.strip()][-2:]
        times = [
            self._time(line.partition(",")[0], 0) for line in tail if not line.startswith(("time,", "\ufefftime,"))
        ]
        if not times:
            raise ConfigError(f"{self.path}: the last rows cannot be read; their lines are too long")
        step = times[-1] - times[0] if len(times) == 2 else 0.0
        return times[-1] + min(max(step, 1.0), self.rules.longest_gap)

    def _row(self, cells: Sequence[str], number: int) -> tuple[float, tuple[Sample, ...]]:
        if len(cells) != len(self.columns) + 1:
            problem = f"{self.path}:{number}: has {len(cells)} cells, and the header has {len(self.columns) + 1}"
            raise ConfigError(f"{problem}; write `{FAILED}` where a source did not answer")
        at = self._time(cells[0], number) - self._first
        try:
            values = tuple(map(float, cells[1:]))
            if all(map(math.isfinite, values)) and not any("_" in cell for cell in cells):
                return at, values
        except ValueError:
            pass
        return at, tuple([self._sample(cell, index, number) for index, cell in enumerate(cells[1:])])

    def _sample(self, cell: str, index: int, number: int) -> Sample:
        """Read a cell of a row that is not all plain numbers."""
        if cell.strip().lower() == FAILED or (self.rules.empty == "fail" and not cell.strip()):
            return ScalerError("the trace says that the source did not answer")
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in cell:
            raise self._refuse(cell, index, number)
        return value

    def _refuse(self, cell: str, index: int, number: int) -> ConfigError:
        place = f'{self.path}:{number}: column "{self.columns[index]}"'
        if not cell.strip():
            return ConfigError(f"{place} is empty; write the value, or `{FAILED}` where the source did not answer")
        remedy = f"write the number in the unit of the trigger's target, or `{FAILED}`"
        return ConfigError(f'{place}: "{cell.strip()[:40]}" is not a plain number; {remedy}')

    def _check_gap(self, seconds: float, number: int) -> None:
        if self.rules.gaps == "refuse":
            problem = f"{self.path}:{number}: {seconds:.0f} s after the line before, a gap"
            remedy = "say what was so meanwhile: --gaps hold (the value stays) or --gaps fail (the source fails)"
            raise ConfigError(f"{problem}; {remedy}, or allow it with --longest-gap")

    def _time(self, text: str, number: int) -> float:
        """Read Unix seconds, or seconds from the beginning."""
        if text[4:5] == "-":
            return self._moment(text, number)
        try:
            at = float(text) / _PER_SECOND[self.rules.time_unit]
        except ValueError:
            return self._moment(text, number)
        if not -_LAST_UNIX < at < _LAST_UNIX:
            problem = f'{self._place(number)}: "{text.strip()[:40]}" is not a time in seconds'
            raise ConfigError(f"{problem}; say its unit: --time-unit ms, us or ns")
        return at

    def _moment(self, text: str, number: int) -> float:
        try:
            at = datetime.fromisoformat(text.strip())
        except ValueError:
            problem = f'{self._place(number)}: "{text[:40]}" is not a time'
            raise ConfigError(f"{problem}; write 2026-11-02T08:00:00Z, or Unix seconds") from None
        if at.tzinfo is None:
            raise ConfigError(f'{self._place(number)}: "{text[:40]}" has no time zone; add Z, or an offset like +09:00')
        return at.timestamp()

    def _place(self, number: int) -> str:
        return f"{self.path}:{number}" if number else f"{self.path}: last line"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _opened(path: str) -> TextIO:
    try:
        return open(path, encoding="utf-8-sig", errors="replace", newline="")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}; check the path") from None


def _check_lines(path: str) -> None:
    """Refuse a line without an end before it fills the memory."""
    number = 1
    with _opened(path) as file:
        while block := file.read(_LONGEST_LINE):
            if len(block) == _LONGEST_LINE and "\n" not in block:
                raise ConfigError(f"{path}:{number}: is longer than {_LONGEST_LINE} characters; this is not a trace")
            number += block.count("\n")
