"""The processes under test: `keda-py local` and `keda-py operator`, started as a user starts them.

What a process writes is kept, and shown when it fails; waiting for a line of it is waiting for an event.
"""

import io
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.programs.client import start
from tests.servers import LOOPBACK, free_port

START_SECONDS = 120.0
STARTED = "operator started"


class Process:
    """One `keda-py` process; `lines` is its standard error so far.

    Unless `env` says otherwise, the next one knows nothing of it, as in another pod.
    """

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()
        around = {**os.environ, "KEDA_PY_STATE_DIR": "0", **(env or {})}
        self._popen = start(arguments, stderr=subprocess.PIPE, env=around)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    def wait_for(self, text: str, seconds: float = START_SECONDS) -> None:
        """Return once a line has `text`; AssertionError with the whole output when it ends or says nothing."""
        with self._news:
            self._news.wait_for(lambda: self._said(text) or not self._reader.is_alive(), seconds)
            assert self._said(text), f"never said {text!r}; it said:\n{self.output()}"

    def freeze(self) -> None:
        """As a machine that is suspended."""
        self._popen.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Go on where it was."""
        self._popen.send_signal(signal.SIGCONT)

    def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = 60.0) -> int:
        """Send the signal and wait; the exit code."""
        if self.alive:
            self._popen.send_signal(number)
        try:
            code = self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
            raise AssertionError(f"still running {seconds} s after {number.name}:\n{self.output()}") from None
        finally:
            self._reader.join()
        return code

    def wait(self, seconds: float) -> int:
        """The exit code of a process that ends by itself."""
        try:
            code = self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s:\n{self.output()}") from None
        self._reader.join()
        return code

    def output(self) -> str:
        return "".join(self.lines)

    def _said(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    def _read(self) -> None:
        assert self._popen.stderr is not None
        with io.TextIOWrapper(self._popen.stderr, "utf-8") as stream:
            for line in stream:
                with self._news:
                    self.lines.append(line)
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()


@dataclass
class Operator:
    """`keda-py operator` on a kubeconfig, on ports of its own that stay the same when it is started again."""

    kubeconfig: Path
    secure: int = field(default_factory=free_port)
    metrics: int = field(default_factory=free_port)
    health: int = field(default_factory=free_port)
    process: Process | None = None
    as_usual: bool = True
    """Started without anything special."""

    @property
    def identity(self) -> str:
        """How it signs its Events."""
        assert self.process is not None
        return f"{socket.gethostname()}_{self.process.pid}"

    @property
    def readyz(self) -> str:
        return f"http://{LOOPBACK}:{self.health}/readyz"

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.alive

    def begin(self, *flags: str, env: Mapping[str, str] | None = None) -> Process:
        """Start it; it does not work yet."""
        address = f"--bind-address={LOOPBACK}", f"--secure-port={self.secure}", "--webhook-port=0"
        page, probes = f"--metrics-bind-address={LOOPBACK}:{self.metrics}", f"{LOOPBACK}:{self.health}"
        register = f"--register=https://{LOOPBACK}:{self.secure}"
        self.as_usual = not flags and env is None
        given = (f"--kubeconfig={self.kubeconfig}", *address, page, f"--health-probe-bind-address={probes}", register)
        self.process = Process(["operator", *given, "--zap-encoder=console", *flags], env)
        return self.process

    def start(self, *flags: str, env: Mapping[str, str] | None = None) -> None:
        """Start it, and return once it works."""
        self.begin(*flags, env=env).wait_for(STARTED)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        return self.process.end(number)

    def kill(self) -> None:
        """As the kernel does it when memory runs out."""
        self.end(signal.SIGKILL)
