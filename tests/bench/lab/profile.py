"""A flame graph of the operator during a phase, by py-spy, which needs no change in the process that it looks at."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.bench.lab.options import Options

RATE = 200
"""Samples a second."""


@asynccontextmanager
async def profiled(options: Options, pid: int, phase: str) -> AsyncIterator[None]:
    """Nothing without `options.profile`. Raises RuntimeError where py-spy is not installed."""
    if options.profile is None:
        yield
        return
    program = Path(sys.executable).with_name("py-spy")
    if not program.exists():
        raise RuntimeError("py-spy is not installed (pip: py-spy)")
    options.profile.mkdir(parents=True, exist_ok=True)
    picture = options.profile / f"{phase}.svg"
    flags = ("--pid", str(pid), "--rate", str(RATE), "--output", str(picture), "--nonblocking")
    process = await asyncio.create_subprocess_exec(
        program, "record", *flags, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.wait()
