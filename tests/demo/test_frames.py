"""The demo on small and on large terminals, frame by frame: nothing is cut, the newest change is always in sight."""

import re  # noqa: TID251 - constant patterns over our own output
import sys
from pathlib import Path

import pytest

from keda_py.demo import command, week
from keda_py.demo.evening import PERSON
from tests.sweeps import chosen
from tests.terminal.pty_runs import CLEARING, frames, run_on_terminal

CHANGE = re.compile(r"^(\w{3} \d\d:\d\d:\d\d)  (\S+) ")
METRICS = ("  s0-", "  memory ")
"""What names of metrics begin with; which comes first depends on the time of day at which the demo begins."""
STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
WEEK = ("--environments",)
RUNS = chosen(
    {
        "days on 80 x 24": ((), 80, 24),
        "days on 120 x 40": ((), 120, 40),
        "environments on 80 x 24": (WEEK, 80, 24),
        "environments on 120 x 40": (WEEK, 120, 40),
    },
    {"environments on 80 x 24", "environments on 120 x 40"},
)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the end of a terminal as Linux tells it")
@pytest.mark.parametrize(("flags", "columns", "lines"), RUNS.values(), ids=RUNS)
def test_every_frame_of_the_demo_fits_the_terminal(
    flags: tuple[str, ...], columns: int, lines: int, tmp_path: Path
) -> None:
    names = (*week.NAMES, week.UNDER_POLICY, week.ENVIRONMENT, PERSON) if flags else command.NAMES
    code, output = run_on_terminal(["demo", "--days", "1", *flags], columns=columns, lines=lines, folder=tmp_path)
    seen = frames(output, columns=columns, lines=lines)
    assert code == 0, "\n".join(seen[-1])
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
    left = [line.rstrip() for line in output.split(CLEARING)[-1].decode().splitlines()]
    rows = [match for line in left if (match := CHANGE.match(STYLES.sub("", line)))]
    assert len(rows) >= len(set(newest)), "rows that had moved out of sight are lost"
    assert {match[1] for match in rows} >= set(newest)
