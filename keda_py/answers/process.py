"""Worker process that parses large text, from the operator's side: one job at a time, killed at any moment.

`worker.py` runs in it. Every cause of its end becomes an error in plain words; its output is trusted to be a short
piece of JSON and no more.
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass

from keda_py.answers.worker import ANSWER, BROKEN, LAST, OUT_OF_MEMORY, QUESTION, REFUSED
from keda_py.errors import AnswerTooCostly, ScalerError

_LONGEST = 64 * 1024
# Variables that the worker gets: some Pythons do not start without this one, and the rest may hold secrets.
_FROM_ENVIRONMENT = ("LD_LIBRARY_PATH",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """Limits of one job: seconds of CPU, bytes of memory."""

    cpu_seconds: float
    memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseJob:
    """Job: a module-level function ("module:name"), its further arguments (plain values), and the text to parse."""

    function: str
    arguments: tuple[object, ...]
    text: bytes | str


class WorkerProcess:
    """Running worker, made by `start`. If `usable` is false after an `ask`, cancelled or not, end it with `kill`."""

    def __init__(self, process: Process, limits: ParseLimits) -> None:
        self._process, self._limits = process, limits
        self._leaving = False

    @classmethod
    async def start(cls, limits: ParseLimits, bytecode_folder: str | None) -> "WorkerProcess":
        """Start a worker. Raises ScalerError if the system refuses."""
        script = (
            f"import sys; sys.path[:] = {_search_path()!r}; from keda_py.answers.worker import serve; "
            f"serve({limits.cpu_seconds!r}, {limits.memory!r})"
        )
        environment = {name: os.environ[name] for name in _FROM_ENVIRONMENT if name in os.environ}
        # -I hides PYTHONPYCACHEPREFIX; without the prefix every start would compile the modules again.
        bytecode = ("-X", f"pycache_prefix={bytecode_folder}") if bytecode_folder else ()
        options = ("-I", "-B", "-X", "utf8", *bytecode, "-c", script)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *options, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, cwd="/"
            )
        except OSError as error:
            text = f"the answer is large, and the process that reads such answers cannot start: {error.strerror}"
            raise ScalerError(text) from None
        return cls(process, limits)

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    @property
    def usable(self) -> bool:
        """Return whether it accepts another job."""
        return self.running and not self._leaving

    async def ask(self, question: ParseJob) -> object:
        """Run a job and return its value. Raises ScalerError: the function's own, or the reason for its failure."""
        self._leaving = True  # after any failure or cancellation its pipes are out of step
        try:
            what, payload = await self._exchange(question)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.wait()
            raise self._why_it_ended(self._process.returncode or 0) from None
        self._leaving = bool(what & LAST)
        if what & ~LAST == REFUSED:
            raise ScalerError(payload.decode(errors="replace"))
        if what & ~LAST == BROKEN:
            raise ScalerError(f"the answer cannot be read: unexpected {payload.decode(errors='replace')}")
        try:
            return json.loads(payload)
        except (ValueError, RecursionError):
            raise ScalerError("the answer cannot be read: the result of parsing it is not JSON") from None

    async def _exchange(self, question: ParseJob) -> tuple[int, bytes]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # both are pipes
        assert stdout is not None
        is_text = isinstance(question.text, str)
        call = json.dumps([question.function, is_text, question.arguments]).encode()
        text = question.text.encode() if isinstance(question.text, str) else question.text
        stdin.write(QUESTION.pack(len(call), len(text)) + call)
        stdin.write(text)
        await stdin.drain()
        what, size = ANSWER.unpack(await stdout.readexactly(ANSWER.size))
        # The worker runs a plug-in's code on a tenant's text, so even its answer's length is checked.
        if size > _LONGEST:
            raise ScalerError(f"the answer cannot be read: it becomes a value of more than {_LONGEST} bytes")
        return what, await stdout.readexactly(size)

    def _why_it_ended(self, code: int) -> ScalerError:
        if code in (-signal.SIGPROF, -signal.SIGXCPU):
            return AnswerTooCostly(f"the answer took more than {self._limits.cpu_seconds:g} s of CPU to read")
        if code == OUT_OF_MEMORY:
            return AnswerTooCostly(f"the answer took more than {self._limits.memory // 2**20} MiB of memory to read")
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return ScalerError(f"the answer cannot be read: the process that read it ended ({how})")

    def kill(self) -> None:
        """End the process now; `wait` returns when it has ended."""
        self._leaving = True
        if self.running:
            # SIGKILL: the worker runs foreign code on a tenant's text, and has nothing to tidy up.
            self._process.kill()

    async def wait(self) -> None:
        """Wait until it has ended and its pipes are closed, which asyncio does only once they are read to the end."""
        await self._process.communicate()


def _search_path() -> list[str]:
    """Return this process's import path as absolute paths: the worker starts in another folder."""
    return [os.path.abspath(folder) for folder in sys.path]
