"""Processes that live as long as a bench, and waiting for what they become."""

import asyncio
import os
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0
_BYTECODE = {
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "keda-py-bench-bytecode"),
}
"""The image has compiled code. Without any, a process compiles what it imports: half of its start, and memory that it
keeps. So each bench finds what the one before it has compiled."""


def keda_py(*arguments: str) -> tuple[str, ...]:
    """The command line of this very checkout."""
    return (sys.executable, "-m", "keda_py", *arguments)


async def start_process(stack: AsyncExitStack, log: Path, *command: str) -> int:
    """Run until the stack ends, output into `log`; its pid."""
    output = stack.enter_context(log.open("wb"))
    process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output, env=os.environ | _BYTECODE)

    async def stop() -> None:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()

    stack.push_async_callback(stop)
    return process.pid


def process_tree(pid: int) -> dict[str, int]:
    """The living processes of an operator by name: itself, and each that it has started, however deep."""
    return {name: one for one, name in _descendants(pid, "operator")}


def _descendants(pid: int, name: str) -> Iterator[tuple[int, str]]:
    yield pid, name
    seen: Counter[str] = Counter()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text().split():
            told = _name_of(int(child))
            seen[told] += 1
            yield from _descendants(int(child), told if seen[told] == 1 else f"{told}-{seen[told]}")


def _name_of(pid: int) -> str:
    """The last part of the module that it runs: `webhook` for `python -m keda_py.operator.admission.webhook`."""
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else Path(words[0]).name
    return module.rpartition(".")[2]


async def until(
    holds: Callable[[], Awaitable[bool]], what: str, seconds: float = START_SECONDS, pause: float = 0.1
) -> None:
    """Wait for a condition. Raises RuntimeError that names what did not come.

    To ask takes a fifth of the time at most: a list of ten thousand objects every half second would be half of what is
    measured.
    """
    try:
        async with asyncio.timeout(seconds):
            while True:
                began = time.perf_counter()
                if await holds():
                    return
                await asyncio.sleep(max(pause, 4 * (time.perf_counter() - began)))
    except TimeoutError:
        raise RuntimeError(f"{what} was not ready within {seconds:g} s") from None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


async def said(log: Path, text: str) -> bool:
    """Whether a process has written `text`."""
    return text in await asyncio.to_thread(log.read_text, errors="replace")
