"""One process that reads large text, as the operator sees it: asked one question at a time, and ended at any moment.

`worker.py` is what runs there. Whatever ends it is an error in plain words; nothing that it says is trusted to be more
than a short piece of JSON.
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
_FROM_ENVIRONMENT = ("LD_LIBRARY_PATH",)
"""Some Pythons do not start without it; nothing else of the operator's environment is anybody's business there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one question may take: seconds of CPU, bytes of memory."""

    cpu_seconds: float
    memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A module-level function ("module:name"), its further arguments (plain values), and the text it reads."""

    function: str
    arguments: tuple[object, ...]
    text: bytes | str


class WorkerProcess:
    """Made by `start`. Where `usable` is false after an `ask`, cancelled or not, end it with `kill`."""

    def __init__(self, process: Process, limits: Limits) -> None:
        self._process, self._limits = process, limits
        self._leaving = False

    @classmethod
    async def start(cls, limits: Limits, bytecode_folder: str | None) -> "WorkerProcess":
        """Raises ScalerError where the system does not let us."""
        script = (
            f"import sys; sys.path[:] = {_search_path()!r}; from keda_py.answers.worker import serve; "
            f"serve({limits.cpu_seconds!r}, {limits.memory!r})"
        )
        environment = {name: os.environ[name] for name in _FROM_ENVIRONMENT if name in os.environ}
        # -I hides PYTHONPYCACHEPREFIX: without it, what the operator has compiled is compiled anew at each start.
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
        """It has not ended yet."""
        return self._process.returncode is None

    @property
    def usable(self) -> bool:
        """It takes another question."""
        return self.running and not self._leaving

    async def ask(self, question: Question) -> object:
        """The function's value. Raises ScalerError: the function's own, or why it gave no answer."""
        self._leaving = True  # whatever happens on the way ends it
        try:
            what, said = await self._exchange(question)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.wait()
            raise self._why_it_ended(self._process.returncode or 0) from None
        self._leaving = bool(what & LAST)
        if what & ~LAST == REFUSED:
            raise ScalerError(said.decode(errors="replace"))
        if what & ~LAST == BROKEN:
            raise ScalerError(f"the answer cannot be read: unexpected {said.decode(errors='replace')}")
        try:
            return json.loads(said)
        except (ValueError, RecursionError):
            raise ScalerError("the answer cannot be read: what its reader says is no JSON") from None

    async def _exchange(self, question: Question) -> tuple[int, bytes]:
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
        """End it now; `wait` tells when it has."""
        self._leaving = True
        if self.running:
            self._process.kill()

    async def wait(self) -> None:
        """Until it has ended and its pipes are closed, which asyncio does only once they are read to their end."""
        await self._process.communicate()


def _search_path() -> list[str]:
    """Where this process imports from, whatever folder the other one starts in."""
    return [os.path.abspath(folder) for folder in sys.path]
