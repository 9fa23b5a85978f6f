"""A real Prometheus with weeks of history, imported from OpenMetrics by promtool."""

import subprocess
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from keda_py.clock import SystemClock
from tests.core.advice.habits import STEP, Habit
from tests.servers import binary, free_port, prometheus_command, running, wait_ready

SCRAPE = 120
"""Seconds between two samples of a counter."""
BLOCK = "1000h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A counter with these labels, whose rate follows a habit. `lost`: [first, last) steps without samples.

    It begins at 0 again every `restarts` seconds; a `gauge` has the value of the habit itself.
    """

    metric: str
    labels: Mapping[str, str]
    habit: Habit
    lost: Sequence[tuple[int, int]] = field(default=())
    restarts: int = 0
    gauge: bool = False

    def lines(self, ends: datetime) -> Iterator[str]:
        """Its samples up to that instant."""
        history = self.habit.history()
        labels = ",".join(f'{key}="{value}"' for key, value in self.labels.items())
        total, at = 0.0, history.origin.timestamp()
        for number, sample in enumerate(_each(history.values)):
            restarted = self.gauge or (self.restarts and number * SCRAPE % self.restarts == 0)
            total = (0.0 if restarted else total) + (sample if self.gauge else sample * SCRAPE)
            step = number * SCRAPE // STEP
            moment = at + (number + 1) * SCRAPE
            if moment > ends.timestamp():
                return
            if not any(first <= step < last for first, last in self.lost):
                yield f"{self.metric}{{{labels}}} {total:.3f} {moment:.0f}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class MorningStart:
    """A gauge that is 0 at night, or not there, and has these values from seconds after nine o'clock (UTC) on.

    It has a sample each 30 s around nine o'clock, and otherwise each four minutes.
    """

    metric: str
    labels: Mapping[str, str]
    start: date
    values: Mapping[int, float]
    at_night: float | None = 0.0

    def lines(self, ends: datetime) -> Iterator[str]:
        """Its samples up to that instant, on working days."""
        labels = ",".join(f'{key}="{value}"' for key, value in self.labels.items())
        at = datetime.combine(self.start, time(), UTC)
        while at <= ends:
            value = self._value(at)
            if value is not None:
                yield f"{self.metric}{{{labels}}} {value:g} {at.timestamp():.0f}\n"
            around = timedelta(hours=8, minutes=48) <= at - at.replace(hour=0, minute=0) < timedelta(hours=9.5)
            at += timedelta(seconds=30 if around else 240)

    def _value(self, at: datetime) -> float | None:
        """The value at that instant; None: the series is not there."""
        if at.weekday() > 4 or not 9 <= at.hour < 18:
            return self.at_night
        passed = (at.hour - 9) * 3600 + at.minute * 60 + at.second
        return next((value for begins, value in reversed(self.values.items()) if passed >= begins), self.at_night)


def _each(values: "array[float]") -> Iterator[float]:
    """The rate of each scrape."""
    for number in range(len(values) * STEP // SCRAPE):
        yield values[number * SCRAPE // STEP]


def monday(weeks: int, now: datetime) -> date:
    """The Monday with which so many whole weeks before this one begin."""
    return (now - timedelta(days=now.weekday(), weeks=weeks)).date()


@contextmanager
def recorded(folder: Path, counted: Sequence[Counted | MorningStart]) -> Iterator[str]:
    """The address of a server that has counted this until now."""
    ends = SystemClock().now()
    text, data = folder / "history.txt", folder / "data"
    data.mkdir(parents=True)
    with text.open("w") as file:
        for each in sorted(counted, key=lambda one: one.metric):
            file.writelines(each.lines(ends))
        file.write("# EOF\n")
    promtool = binary("promtool", "prometheus")
    command = [promtool, "tsdb", "create-blocks-from", f"--max-block-duration={BLOCK}", "openmetrics", "--quiet"]
    subprocess.run([*command, str(text), str(data)], check=True, capture_output=True)
    text.unlink()
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    port = free_port()
    command = [*prometheus_command(port, folder), "--storage.tsdb.retention.time=400d"]
    with running(command, port, folder / "log"):
        wait_ready(f"http://127.0.0.1:{port}/-/ready")
        yield f"http://127.0.0.1:{port}"
