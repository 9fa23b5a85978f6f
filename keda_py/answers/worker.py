"""Main loop of the process that parses large text: one job after another, within limits, until its input ends.

`process.py` starts it. A job is a module-level function by name, plain arguments, and a text; the answer is a plain
value as JSON, never a pickle. It may be killed at any moment: it opens nothing, keeps nothing and writes only to its
pipe. CPU time is bounded by a timer per job, since RLIMIT_CPU counts whole seconds of the process's life.
"""

import importlib
import json
import os
import resource
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path

from keda_py.errors import ScalerError

QUESTION = struct.Struct("!II")
"""Lengths of the call, a JSON array [function, is text, arguments], and of the text; both follow."""
ANSWER = struct.Struct("!BI")
"""Outcome, and length of the answer, which follows."""
VALUE, REFUSED, BROKEN = range(3)
LAST = 0x80
"""Flag of the outcome: the process holds much memory now and takes no more jobs."""
OUT_OF_MEMORY = 77
"""Exit code of a worker that ran out of memory."""

_NICENESS = 5
# Bytes; a process that keeps more resident memory than this after a job is replaced.
_KEEPS = 64 * 2**20


def serve(cpu_seconds: float, memory: int) -> None:
    """Run jobs until the input ends; `memory` in bytes, in addition to what Python itself takes."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a plug-in's print must not end up in the answers
    _limit(memory)
    try:
        while len(head := sys.stdin.buffer.read(QUESTION.size)) == QUESTION.size:
            call, text = map(sys.stdin.buffer.read, QUESTION.unpack(head))
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)  # its signal ends the process
            what, payload = _answer(call, text)
            signal.setitimer(signal.ITIMER_PROF, 0)
            last = LAST if _memory()[1] > _KEEPS else 0
            answers.write(ANSWER.pack(what | last, len(payload)) + payload)
            answers.flush()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _limit(memory: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the operator, which ends this process
    os.nice(_NICENESS)
    # A core dump of this process would contain a tenant's text.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # only Linux has these; elsewhere the limit on time remains
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    if used := _memory()[0]:
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))


def _memory() -> tuple[int, int]:
    """Return the bytes of address space, and of resident memory; 0 if the system has no /proc."""
    try:
        total, resident, *_ = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0, 0
    return int(total) * resource.getpagesize(), int(resident) * resource.getpagesize()


def _answer(call: bytes, text: bytes) -> tuple[int, bytes]:
    try:
        name, is_text, arguments = json.loads(call)
        module, _, function = name.partition(":")
        value = getattr(importlib.import_module(module), function)(text.decode() if is_text else text, *arguments)
        return VALUE, json.dumps(value).encode()
    except ScalerError as error:
        return REFUSED, str(error).encode()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a plug-in's function may raise anything; its text may repeat a secret
        return BROKEN, type(error).__name__.encode()
