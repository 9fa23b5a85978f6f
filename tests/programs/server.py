"""The process that forks: it imports keda_py, then forks for each caller, and each child becomes the program asked for.

Each caller has a connection of its own: it gets the pid, then the exit code. A program whose caller has gone is killed.
"""

import atexit
import faulthandler
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Never

from tests.programs.client import STATUS

_MOST_BYTES, _MOST_DESCRIPTORS = 1 << 18, 64
_LEFT_OUT = ("grpc", "otel", "opentelemetry", "__main__")
"""Parts of names of modules that bring threads of their own, and the programs, which are imported by running them."""


@dataclass
class _Request:
    """What a forked process is to be: words behind `python`, and its descriptors, which get these numbers."""

    words: list[str]
    env: dict[str, str]
    cwd: str
    numbers: list[int]
    new_session: bool
    descriptors: list[int]


class _Server:
    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._running: dict[int, tuple[int, socket.socket]] = {}  # descriptor of the process -> pid, caller

    def serve(self) -> _Request:
        """Fork for each caller; returns in each child. The process ends at the end of its standard input."""
        self._selector.register(self._listener, selectors.EVENT_READ, self._fork)
        self._selector.register(0, selectors.EVENT_READ, self._leave)
        while True:
            for key, _ in self._selector.select():
                request: _Request | None = key.data()
                if request is not None:
                    return request

    def _fork(self) -> _Request | None:
        caller, _ = self._listener.accept()
        body, descriptors, _, _ = socket.recv_fds(caller, _MOST_BYTES, _MOST_DESCRIPTORS)
        if not body:  # the caller has ended in between
            caller.close()
            return None
        if not (pid := os.fork()):
            self._selector.close()
            for link in (caller, self._listener, *(link for _, link in self._running.values())):
                link.close()
            return _Request(**json.loads(body), descriptors=descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        process = os.pidfd_open(pid)
        self._running[process] = pid, caller
        self._selector.register(process, selectors.EVENT_READ, lambda: self._tell(process))
        self._selector.register(caller, selectors.EVENT_READ, lambda: self._kill(process))
        with suppress(BrokenPipeError):
            caller.send(STATUS.pack(pid))
        return None

    def _tell(self, process: int) -> None:
        """Tell the caller that its process has ended."""
        pid, caller = self._running.pop(process)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(BrokenPipeError):
            caller.send(STATUS.pack(code))
        self._selector.unregister(process)
        with suppress(KeyError):
            self._selector.unregister(caller)
        os.close(process)
        caller.close()

    def _kill(self, process: int) -> None:
        """End what no caller waits for any longer: its test has failed, or its process has ended."""
        if process in self._running:
            pid, caller = self._running[process]
            os.kill(pid, signal.SIGKILL)
            self._selector.unregister(caller)

    def _leave(self) -> Never:
        """End all that still runs, and then this process."""
        for pid, _ in self._running.values():
            os.kill(pid, signal.SIGKILL)
        for pid, _ in self._running.values():
            os.waitpid(pid, 0)
        os._exit(0)


def _import_all(packages: Sequence[str]) -> None:
    for package in map(importlib.import_module, packages):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not any(part in found.name for part in _LEFT_OUT):
                with suppress(ImportError):  # of a package that is not installed
                    importlib.import_module(found.name)
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1, "a fork loses all threads but one"


def _become(request: _Request) -> None:
    """Take over what a process is given at its start."""
    if request.new_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(request.env)
    time.tzset()
    os.chdir(request.cwd)
    _take_descriptors(request)
    _open_streams()
    sys.path[:] = [request.cwd, *_folders(request.env), *_INSTALLED]
    importlib.invalidate_caches()
    if request.env.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()


def _folders(env: Mapping[str, str]) -> list[str]:
    return [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder]


_INSTALLED = sys.path[1 + len(_folders(os.environ)) :]
"""Behind the working directory and what the environment names."""


def _take_descriptors(request: _Request) -> None:
    """Give the descriptors that were sent the numbers that the caller has for them, and close all others."""
    free = max(request.numbers) + 1
    waiting = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, free) for one in request.descriptors]
    for other in {int(name) for name in os.listdir("/proc/self/fd")} - set(waiting):
        with suppress(OSError):  # the one that listed them is closed
            os.close(other)
    for one, number in zip(waiting, request.numbers, strict=True):
        os.dup2(one, number)
        os.close(one)


def _open_streams() -> None:
    """Open them anew, since what a stream knows of its file is read once; they live as long as the process."""
    encoding, errors = sys.stdin.encoding, sys.stdin.errors
    sys.stdin = open(0, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, encoding, errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding, "backslashreplace", closefd=False)  # noqa: SIM115


def _run(words: list[str]) -> None:
    """Run `python WORDS`: a module, or a script behind options that a fork cannot have any more."""
    if words[0] == "-m":
        sys.argv = [words[1], *words[2:]]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = ["-c"]
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    exec(compile(words[-1], "<string>", "exec"), main.__dict__)


def _execute(words: list[str]) -> int:
    """Run the program, and return the exit code."""
    try:
        _run(words)
    except SystemExit as left:
        if isinstance(left.code, str):
            sys.stderr.write(f"{left.code}\n")
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 - as the interpreter prints what nothing has caught
        traceback.print_exc()
        return 1
    return 0


def main() -> Never:
    """Import keda_py, fork for each caller, and run the program in each child."""
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at pytest is for pytest, which ends this process
    _import_all(sys.argv[2:])
    gc.collect()
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    request = _Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    signal.signal(signal.SIGINT, interrupt)  # a shell starts work in the background with the signal ignored
    _become(request)
    code = _execute(request.words)
    # What an interpreter does at its end, without taking apart a thousand modules.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
