"""An event loop whose `asyncio.create_subprocess_exec` forks our programs, where that can be done."""

import asyncio
from asyncio.unix_events import _UnixSubprocessTransport
from typing import Any

from tests.programs.client import Program, can_fork

_UNDERSTOOD = {"env", "cwd", "pass_fds", "start_new_session"}


class _Transport(_UnixSubprocessTransport):
    """asyncio's own, with another process behind it."""

    _proc: Program

    def _start(self, args: Any, shell: bool, stdin: Any, stdout: Any, stderr: Any, bufsize: int, **more: Any) -> None:
        self._proc = Program(args, stdin=stdin, stdout=stdout, stderr=stderr, bufsize=bufsize, **more)


class ForkingLoop(asyncio.SelectorEventLoop):
    """Starts all other programs as ever."""

    async def _make_subprocess_transport(
        self,
        protocol: Any,
        args: Any,
        shell: bool,
        stdin: Any,
        stdout: Any,
        stderr: Any,
        bufsize: int,
        extra: Any = None,
        **more: Any,
    ) -> asyncio.SubprocessTransport:
        if shell or not more.keys() <= _UNDERSTOOD or not can_fork(args, more.get("env")):
            return await super()._make_subprocess_transport(
                protocol, args, shell, stdin, stdout, stderr, bufsize, extra, **more
            )
        waiter = self.create_future()
        transport = _Transport(
            self, protocol, args, shell, stdin, stdout, stderr, bufsize, waiter=waiter, extra=extra, **more
        )
        self.add_reader(transport._proc.link, self._on_end, transport, transport._proc)
        await waiter
        return transport

    def _on_end(self, transport: _Transport, program: Program) -> None:
        """Tell the transport the exit code, which can be read now."""
        self.remove_reader(program.link)
        transport._process_exited(program.wait())
