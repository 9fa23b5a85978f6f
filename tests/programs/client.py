"""The caller's side: a session for the whole run, and programs that are started in it as by `subprocess`."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import IO, Any, Union

from tests.places import ROOT

FRESH = (sys.executable, "-m", "keda_py")
"""How a user starts it."""
STATUS = struct.Struct("i")
"""What the server answers: the pid, and later the exit code."""
_ADVISING = ("-I", "-B", "-X", "utf8", "-c")
"""How the operator starts `keda-py advise`, with a script."""
_READ_AT_THE_START = ("PYTHON", "LC_", "LANG", "LD_", "SSL_CERT_")
"""Variables that Python and its libraries read when they start; a process that is forked has other ones behind it."""
_MODULES = ("keda_py", "mkdocs", "pytest")
"""Ours, and what imports ours: the documentation's site, and the tests of a scaler from a package of its own."""
_TAKEN_OVER = ("PYTHONPATH", "PYTHONTZPATH", "PYTHONFAULTHANDLER")
_session: "Session | None" = None

Stream = int | IO[Any] | socket.socket | None
Running = Union["Program", "subprocess.Popen[bytes]"]


class Session:
    """The process that forks, from the point of view of the one that has started it."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._folder = tempfile.mkdtemp(prefix="keda-py-")
        self.address = f"{self._folder}/socket"
        self.env = dict(os.environ)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.address)
            listener.listen(128)
            command = [sys.executable, "-m", "tests.programs.server", str(listener.fileno()), *packages]
            # It ends with its standard input: should this process be killed, nothing is left behind.
            self._process = subprocess.Popen(command, pass_fds=[listener.fileno()], cwd=ROOT, stdin=PIPE, stdout=PIPE)

    def wait(self) -> None:
        """Return once it has imported everything, so that no program waits for that."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "the process that forks programs has ended; its standard error says why"

    def end(self) -> None:
        """End the process with all programs that still run, and wait until it has ended."""
        self._process.communicate()
        shutil.rmtree(self._folder)


def begin_session(packages: Sequence[str] = ("keda_py", "scalers")) -> bool:
    """Begin to import, where Linux tells of the end of forked processes; returns whether `end_session` has to follow."""
    global _session  # noqa: PLW0603 - there is one, and forked test processes inherit it
    if sys.platform != "linux" or _session is not None:
        return False
    _session = Session(packages)
    return True


def wait_for_session() -> None:
    """Return once programs can be started without a delay."""
    if _session is not None:
        _session.wait()


def end_session() -> None:
    """End what `begin_session` began."""
    global _session  # noqa: PLW0603
    if _session is not None:
        _session.end()
        _session = None


@contextmanager
def fresh_programs() -> Iterator[None]:
    """Start each program in a Python of its own within the block, where its memory or its limits are the subject."""
    global _session  # noqa: PLW0603
    kept, _session = _session, None
    try:
        yield
    finally:
        _session = kept


def can_fork(command: Sequence[str], env: Mapping[str, str] | None = None) -> bool:
    """Return whether the session can run this command with this environment."""
    if _session is None or command[0] != sys.executable:
        return False
    env = os.environ if env is None else env
    started = {name for name in env if name.startswith(_READ_AT_THE_START) and name not in _TAKEN_OVER}
    if any(env[name] != _session.env.get(name) for name in started):
        return False
    words = tuple(command[1:])
    if words[:1] == ("-m",):
        return words[1].partition(".")[0] in _MODULES
    return words[:-1] == _ADVISING and "keda_py.cli" in words[-1]


class Program:
    """A program that the session has forked, with the attributes of `subprocess.Popen` that are used."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        bufsize: int = -1,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        pass_fds: Sequence[int] = (),
        start_new_session: bool = False,
    ) -> None:
        assert _session is not None
        self.args = command
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self.link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        """From it the exit code can be read once there is one."""
        request = {
            "words": list(command[1:]),
            "env": dict(os.environ if env is None else env),
            "cwd": str(cwd or Path.cwd()),
            "numbers": [0, 1, 2, *pass_fds],
            "new_session": start_new_session,
        }
        with ExitStack() as theirs:
            streams = self._streams((stdin, stdout, stderr), bufsize, theirs)
            self.link.connect(_session.address)
            socket.send_fds(self.link, [json.dumps(request).encode()], [*streams, *pass_fds])
        self.pid = self._receive()

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs. It stays to be read by `wait`."""
        if self.returncode is not None:
            return self.returncode
        try:
            return self._receive(socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            self.link.settimeout(timeout)
            try:
                self.returncode = self._receive()
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0) from None
            finally:
                self.link.settimeout(None)
            self.link.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _streams(self, given: Sequence[Stream], bufsize: int, theirs: ExitStack) -> list[int]:
        """Open what is asked for; the ends of the program are closed here with `theirs`."""
        found: list[int] = []
        for number, stream in enumerate(given):
            if stream is None:
                found.append(number)
            elif stream == STDOUT:
                found.append(found[1])
            elif stream == DEVNULL:
                found.append(os.open(os.devnull, os.O_RDWR))
                theirs.callback(os.close, found[-1])
            elif stream == PIPE:
                found.append(self._open_pipe(number, bufsize))
                theirs.callback(os.close, found[-1])
            else:
                found.append(stream if isinstance(stream, int) else stream.fileno())
        return found

    def _open_pipe(self, number: int, bufsize: int) -> int:
        reading, writing = os.pipe()
        if number == 0:
            self.stdin = open(writing, "wb", bufsize)  # noqa: SIM115
            return reading
        name = "stdout" if number == 1 else "stderr"
        setattr(self, name, open(reading, "rb", bufsize))  # noqa: SIM115 - the caller closes it, as that of a Popen
        return writing

    def __del__(self) -> None:
        self.link.close()  # which ends it, if it runs

    def _receive(self, flags: int = 0) -> int:
        data = self.link.recv(STATUS.size, flags)
        assert data, "the process that forks programs has ended; its standard error says why"
        number: int = STATUS.unpack(data)[0]
        return number


def start(
    arguments: Sequence[str],
    *,
    stdin: Stream = DEVNULL,
    stdout: Stream = DEVNULL,
    stderr: Stream = DEVNULL,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    program: Sequence[str] = FRESH,
) -> Running:
    """Start `keda-py ARGUMENTS`, or another program. In a session, keda-py is killed when the caller's process ends."""
    command = [*program, *arguments]
    start_it = Program if can_fork(command, env) else subprocess.Popen
    return start_it(command, stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=cwd)


def run(
    arguments: Sequence[str],
    *,
    given: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    program: Sequence[str] = FRESH,
) -> subprocess.CompletedProcess[str]:
    """Run `keda-py ARGUMENTS`, or another program, to its end: exit code, both streams as text. Killed after 280 s."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        stdin.write(given.encode())
        stdin.seek(0)
        running = start(arguments, stdin=stdin, stdout=out, stderr=errors, env=env, cwd=cwd, program=program)
        try:
            code = running.wait(280)
        finally:
            running.kill()
            running.wait()
        texts = [file.read().decode() for file in (out, errors) if file.seek(0) == 0]
    return subprocess.CompletedProcess([*program, *arguments], code, *texts)
