"""A real Prometheus with weeks of history, imported from OpenMetrics by promtool."""

import subprocess
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
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


def _each(values: "array[float]") -> Iterator[float]:
    """The rate of each scrape."""
    for number in range(len(values) * STEP // SCRAPE):
        yield values[number * SCRAPE // STEP]


def monday(weeks: int, now: datetime) -> date:
    """The Monday with which so many whole weeks before this one begin."""
    return (now - timedelta(days=now.weekday(), weeks=weeks)).date()


@contextmanager
def recorded(folder: Path, counted: Sequence[Counted]) -> Iterator[str]:
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
