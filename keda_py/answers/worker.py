"""What runs in the process that reads large text: one question after another, within limits, until its input ends.

`process.py` starts it. A question is a module-level function by name, plain arguments, and a text; the answer is a
plain value as JSON, never a pickle. It may be ended at any moment: it opens nothing, keeps nothing and writes to its
pipe only. CPU time is bounded by a timer for each question, since RLIMIT_CPU counts whole seconds of a whole life.
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
"""Bytes of the call, a JSON array [function, is text, arguments], and of the text; both follow."""
ANSWER = struct.Struct("!BI")
"""What it is, and bytes of it, which follow."""
VALUE, REFUSED, BROKEN = range(3)
LAST = 0x80
"""Added to what it is: the process holds much memory now and takes no more questions."""
OUT_OF_MEMORY = 77
"""Exit code."""

_NICENESS = 5
_KEEPS = 64 * 2**20
"""A process that goes on to hold more bytes than this makes room for a new one."""


def serve(cpu_seconds: float, memory: int) -> None:
    """Answer until the input ends; `memory` in bytes, on top of what Python itself takes."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a plug-in prints is no answer
    _limit(memory)
    try:
        while len(head := sys.stdin.buffer.read(QUESTION.size)) == QUESTION.size:
            call, text = map(sys.stdin.buffer.read, QUESTION.unpack(head))
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)  # its signal ends the process
            what, said = _answer(call, text)
            signal.setitimer(signal.ITIMER_PROF, 0)
            last = LAST if _memory()[1] > _KEEPS else 0
            answers.write(ANSWER.pack(what | last, len(said)) + said)
            answers.flush()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _limit(memory: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the operator, and this process ends with it
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # only Linux has these; elsewhere the limit on time remains
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    if used := _memory()[0]:
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))


def _memory() -> tuple[int, int]:
    """Bytes of address space, and of memory in use; 0 where the system does not tell."""
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
