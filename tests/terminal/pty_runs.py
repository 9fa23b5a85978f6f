"""Runs of our commands on a terminal of a given size, and what a person saw on it: the screens, one after another."""

import fcntl
import os
import struct
import termios
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyte

from tests.programs.client import start

CLEARING = b"\r\x1b[2K\x1b[1A"
"""How a live table begins to be drawn anew: what is there before it is a whole picture."""


def run_on_terminal(
    arguments: Sequence[str],
    *,
    columns: int,
    lines: int,
    folder: Path,
    env: Mapping[str, str] | None = None,
    typed: bytes = b"",
) -> tuple[int, bytes]:
    """Exit code and output of `keda-py ARGUMENTS`, with what a person has typed already."""
    main_end, process_end = os.openpty()
    fcntl.ioctl(process_end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR")
    found = {name: value for name, value in os.environ.items() if name not in unset}
    around = {**found, "TERM": "xterm-256color", **(env or {})}
    process = start(arguments, stdin=process_end, stdout=process_end, stderr=process_end, env=around, cwd=folder)
    os.close(process_end)
    os.write(main_end, typed)
    output = b"".join(_parts(main_end))
    os.close(main_end)
    return process.wait(), output


def _parts(end: int) -> Iterator[bytes]:
    """Until the process closes the terminal, which Linux tells as an error."""
    while True:
        try:
            part = os.read(end, 65536)
        except OSError:
            return
        if not part:
            return
        yield part


def frames(output: bytes, *, columns: int, lines: int) -> list[list[str]]:
    """The screens that were whole, the last one as it was left; lines without blanks at their ends."""
    screen = pyte.Screen(columns, lines)
    stream = pyte.ByteStream(screen)
    found = []
    first, *redrawn = output.split(CLEARING)
    stream.feed(first)
    for part in redrawn:
        found.append([line.rstrip() for line in screen.display])
        stream.feed(CLEARING + part)
    return [*found, [line.rstrip() for line in screen.display]]
