"""Advise: seconds and memory of `keda-py advise` over five weeks of 200 workloads in a real Prometheus."""

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from keda_py.clock import SystemClock
from tests.advice.recorded import Counted, monday, recorded
from tests.bench.lab.figures import Row
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import keda_py
from tests.core.advice.habits import Habit, Window

WEEKS, WORKLOADS = 5, 200
HABITS: tuple[tuple[Window, ...], ...] = (
    (("Mon-Fri", "09:00", "18:00"),),
    (("Mon-Fri", "07:00", "20:00"), ("Sun", "02:00", "03:00")),
    (("Mon-Sun", "22:00", "04:00"),),
    (("Sat-Sun", "10:00", "22:00"),),
)


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """One call that proposes hours for all of them; the history is imported before."""
    say(f"a history of {WEEKS} weeks of {WORKLOADS} workloads")
    with tempfile.TemporaryDirectory(prefix="keda-py-") as folder, recorded(Path(folder), list(_counted())) as url:
        say("keda-py advise")
        flags = ("-A", "--weeks", str(WEEKS), "--prometheus", url, "--timezone", "UTC", "-o", "json")
        yield await asyncio.to_thread(_measure, keda_py("advise", *flags), Path(folder) / "advice.json")


def _counted() -> Iterator[Counted]:
    start = monday(WEEKS, SystemClock().now())
    for number in range(WORKLOADS):
        labels = {"exported_namespace": f"team-{number // 10}", "exported_service": f"web-{number}", "status": "200"}
        floor = 0.2 if number % 5 == 0 else 0.0
        windows = HABITS[number % len(HABITS)]
        habit = Habit(windows=windows, start=start, weeks=WEEKS + 1, seed=number, floor=floor)
        yield Counted(metric="nginx_ingress_controller_requests", labels=labels, habit=habit)


def _measure(command: tuple[str, ...], output: Path) -> Row:
    began = time.perf_counter()
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    workloads = json.loads(output.read_bytes())["workloads"]
    return {
        "workloads": len(workloads),
        "proposed": sum(each["proposal"] == "hours" for each in workloads),
        "seconds": round(seconds, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }
