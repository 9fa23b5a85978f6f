"""Figures: what a process uses, and what a list of times amounts to."""

import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.bench.lab.processes import process_tree

_TICKS = os.sysconf("SC_CLK_TCK")

Row = Mapping[str, object]
"""One bench's figures, printed as one JSON line."""


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and of all that it has started, those that have ended included."""
    return sum(_cpu(one, ended=True) for one in process_tree(pid).values())


def cpu_by_process(pid: int) -> Mapping[str, float]:
    """The same of each process that lives, by its name."""
    return {name: _cpu(one, ended=False) for name, one in process_tree(pid).items()}


def spent_by_process(pid: int, before: Mapping[str, float], minutes: float = 1.0) -> Row:
    """CPU seconds since `cpu_by_process` said `before`, a minute."""
    return {name: round((now - before.get(name, 0.0)) / minutes, 2) for name, now in cpu_by_process(pid).items()}


def _cpu(pid: int, *, ended: bool) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(one) for one in fields[11 : 15 if ended else 13]) / _TICKS


def memory_by_process(pid: int) -> Row:
    """MiB of each process: resident, and its share of it, where a page that is in use n times counts as an n-th."""
    return {
        name: {"rss_mb": round(_memory(one, "Rss"), 1), "pss_mb": round(_memory(one, "Pss"), 1)}
        for name, one in process_tree(pid).items()
    }


def shared_mb(pid: int) -> float:
    """Memory of a process and of all that it has started, in MiB: pages that they share count once (PSS)."""
    return sum(_memory(one, "Pss") for one in process_tree(pid).values())


def own_mb(pid: int) -> float:
    """The same without pages of files, which come and go."""
    return sum(_memory(one, "Pss_Anon") for one in process_tree(pid).values())


def _memory(pid: int, field: str) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024


def percentile(times: Iterable[float], share: float) -> float:
    """The time that `share` of all do not exceed."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float], digits: int = 2) -> float:
    return round(statistics.median(values), digits)


def machine() -> str:
    """Processor, cores and load, so that a figure can be judged."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    return f"{os.cpu_count()} cores ({model}), load {load}"


def handles(pid: int) -> int:
    """Open files and sockets of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
