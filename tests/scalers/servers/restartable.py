"""A server that a test may stop and start again, with what it holds."""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers import STARTUP_SECONDS, running

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""


@dataclass
class Restartable:
    """Stopped until `start`; as a context manager it runs inside of it."""

    port: int
    command: list[str]
    log: Path
    options: dict[str, Any]
    end: signal.Signals = signal.SIGTERM
    is_ready: Callable[[], bool] = lambda: True
    _process: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        self._process.enter_context(running(self.command, self.port, self.log, self.end, **self.options))
        deadline = time.monotonic() + STARTUP_SECONDS
        while not self.is_ready():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(ASK_AGAIN_SECONDS)

    def stop(self) -> None:
        self._process.close()

    def __enter__(self) -> "Restartable":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
