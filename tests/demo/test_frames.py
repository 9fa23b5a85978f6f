"""The demo on small and on large terminals, frame by frame: nothing is cut, the newest change is always in sight."""

import re  # noqa: TID251 - constant patterns over our own output
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from keda_py.demo import command, week
from keda_py.demo.evening import PERSON
from tests.sweeps import swept
from tests.terminal.pty_runs import CLEARING, frames, run_on_terminal

CHANGE = re.compile(r"^(\w{3} \d\d:\d\d:\d\d)  (\S+) ")
METRICS = ("  s0-", "  memory ")
"""What names of metrics begin with; which comes first depends on the time of day at which the demo begins."""
STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
WEEK = ("--environments",)
ALL_RUNS: dict[str, tuple[tuple[str, ...], int, int]] = {
    "days on 80 x 24": ((), 80, 24),
    "days on 120 x 40": ((), 120, 40),
    "environments on 80 x 24": (WEEK, 80, 24),
    "environments on 120 x 40": (WEEK, 120, 40),
}
RUNS = swept(
    ALL_RUNS,
    {"days on 80 x 24", "environments on 120 x 40"},
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the end of a terminal as Linux tells it")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a demo has shown on a terminal, and what it has left in its folder."""

    code: int
    output: bytes
    folder: Path

    @property
    def left(self) -> list[str]:
        """The lines that stay on the terminal, without styles."""
        lines = self.output.split(CLEARING)[-1].decode().splitlines()
        return [STYLES.sub("", line).rstrip() for line in lines]


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Run a demo once, however many tests look at it."""

    @cache
    def run(name: str) -> Run:
        flags, columns, lines = ALL_RUNS[name]
        folder = tmp_path_factory.mktemp("demo")
        words = ["demo", "--days", "1", *flags]
        code, output = run_on_terminal(words, columns=columns, lines=lines, folder=folder)
        return Run(code=code, output=output, folder=folder)

    return run


@pytest.mark.parametrize("name", RUNS)
def test_every_frame_of_the_demo_fits_the_terminal(name: str, run_of: Callable[[str], Run]) -> None:
    flags, columns, lines = ALL_RUNS[name]
    ran = run_of(name)
    names = (*week.NAMES, week.UNDER_POLICY, week.ENVIRONMENT, PERSON) if flags else command.NAMES
    seen = frames(ran.output, columns=columns, lines=lines)
    assert ran.code == 0, "\n".join(seen[-1])
    live = [frame for frame in seen if any(line.startswith("virtual time in Seoul: ") for line in frame)]
    assert len(live) > 5
    newest: list[str] = []
    has_metric = False
    for frame in live:
        begin = next(number for number, line in enumerate(frame) if line.startswith("virtual time in Seoul: "))
        heading, *table = (line for line in frame[begin + 1 :] if line)
        assert heading.split()[:2] == ["time", "workload"], frame
        assert heading.endswith("decision and reason"), frame
        assert "…" not in "".join(frame)
        changes = [match for line in table if (match := CHANGE.match(line))]
        shown = {match[2] for match in changes}
        assert shown <= set(names), frame
        shows_metric = any(metric in line for line in table for metric in METRICS)
        has_metric |= shows_metric
        assert "metric" not in heading or has_metric, frame  # of an empty column nothing is shown
        assert "metric" in heading or not shows_metric, frame
        newest += [match[1] for match in changes[-1:]]
    assert len(set(newest)) > 3
    assert newest == sorted(newest, key=list(dict.fromkeys(newest)).index), "an older change stood at the bottom"
    assert f"  kubectl --kubeconfig demo.kubeconfig get {'environments' if flags else 'deploy'} -A -w" in live[0]
    rows = [match for line in ran.left if (match := CHANGE.match(line))]
    assert len(rows) >= len(set(newest)), "rows that had moved out of sight are lost"
    assert {match[1] for match in rows} >= set(newest)


def test_a_day_of_the_demo_wakes_and_sleeps_on_time_and_leaves_a_picture(run_of: Callable[[str], Run]) -> None:
    ran = run_of("days on 80 x 24")
    shown = "\n".join(ran.left)
    assert ran.code == 0, shown
    # A busy machine may show the change two virtual seconds late: what the demo itself tolerates.
    assert re.search(r"19:35:0[0-2]  some-application-develop  \d -> 0", shown), shown
    assert re.search(r"08:30:0[0-2]  some-application-develop  0 -> 1", shown), shown
    assert "every change happened at the expected time" in ran.left
    assert (ran.folder / "demo.svg").read_text().startswith("<svg")
    assert (ran.folder / "demo.kubeconfig").stat().st_mode & 0o077 == 0
