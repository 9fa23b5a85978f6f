"""`python -m tests.bench.compare OLD NEW`: what a change costs, as ratios of figures of two commits, with their confidence.

Both run the bench of this checkout, by turns, so that what else the machine does meets both alike: OLD NEW NEW OLD and so on.
A ratio is the geometric mean of the pairs'; its interval holds the true one in 95 of 100 cases. Where 1 lies in it, nothing
is known to have changed: more `--runs` make it narrower.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path

from tests.places import ROOT

CODE = ("keda_py", "scalers")
BENCH = ("scale", "--objects", "100", "--steady", "20", "--wakes", "1")
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Quantiles of 97.5 % by degrees of freedom, from 1; of more than ten the last is used, which is wider."""

Figures = Mapping[str, float]


def check_out(commit: str, folder: Path) -> Path:
    """Unpack the code of a commit; what measures it stays that of this checkout."""
    done = subprocess.run(["git", "archive", commit, *CODE], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def measure(code: Path, bench: Sequence[str]) -> Figures:
    """One run. Raises CalledProcessError."""
    path = os.pathsep.join((str(code), str(ROOT)))
    command = [sys.executable, "-m", "tests.bench", *bench]
    done = subprocess.run(
        command, cwd=code, env={**os.environ, "PYTHONPATH": path}, check=True, stdout=subprocess.PIPE, text=True
    )
    return dict(figure for line in done.stdout.splitlines() for figure in figures_of(json.loads(line)))


def figures_of(row: object, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a row, named by the way to it; `phase` begins the names of a row that has one."""
    match row:
        case dict():
            name = name or str(row.get("phase", ""))
            for key, inner in row.items():
                yield from figures_of(inner, f"{name} {key}".strip())
        case bool():
            return
        case int() | float():
            yield name, float(row)


def ratio_of(old: Sequence[float], new: Sequence[float]) -> tuple[float, float, float]:
    """Ratio of the pairs, and the ends of its interval. Of a single pair nothing is known: from 0 to infinity."""
    logs = [math.log(after / before) for before, after in zip(old, new, strict=True)]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), 0.0, math.inf
    wide = STUDENT[min(len(logs) - 1, len(STUDENT)) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - wide), math.exp(mean + wide)


def report(runs: Sequence[tuple[Figures, Figures]]) -> Iterator[str]:
    """A line for each figure that both have in every run, and that is never 0."""
    for name in runs[0][0]:
        old, new = ([side.get(name, 0.0) for side in sides] for sides in zip(*runs, strict=True))
        if min(*old, *new) <= 0 or old == new:
            continue
        ratio, low, high = ratio_of(old, new)
        told = "" if low <= 1 <= high else "  *"
        yield f"{name:50} {statistics.median(old):10.4g} {statistics.median(new):10.4g} {ratio:7.3f} [{low:.3f}, {high:.3f}]{told}"


def main() -> int:
    """Print a table; * marks what has changed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.compare", description=__doc__)
    parser.add_argument("old", help="commit")
    parser.add_argument("new", help="commit")
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs [5]")
    given, bench = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        sides = [check_out(commit, Path(folder, name)) for name, commit in (("old", given.old), ("new", given.new))]
        runs = []
        for number in range(given.runs):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            found = {side: measure(sides[side], bench or BENCH) for side in order}
            runs.append((found[0], found[1]))
    sys.stdout.write(f"{'':50} {given.old[:10]:>10} {given.new[:10]:>10}   ratio [95 %]\n")
    sys.stdout.writelines(f"{line}\n" for line in report(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
