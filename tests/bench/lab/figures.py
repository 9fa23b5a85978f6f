"""Figures: what a process uses, and what a list of times amounts to."""

import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")

Row = Mapping[str, object]
"""One bench's figures, printed as one JSON line."""


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, its ended children left out."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_mb(pid: int) -> float:
    """Memory of a process in MiB."""
    return _memory(pid, "VmRSS")


def own_mb(pid: int) -> float:
    """The same without pages of files, which come and go."""
    return _memory(pid, "RssAnon")


def _memory(pid: int, field: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


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
