"""The bar that shows how far something is."""

import os
import pty
import subprocess
import sys

SCRIPT = """
from keda_py.terminal.console import Bar
with Bar("reading") as bar:
    bar.show(0.0, "istio")
    bar.show(0.5, "cpu")
"""


def test_a_terminal_shows_the_bar_and_is_left_clean() -> None:
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", SCRIPT], stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert f"reading [{'#' * 15}{'.' * 15}]  50% cpu" in shown
    assert shown.endswith("\r\x1b[K")


def test_a_pipe_gets_nothing() -> None:
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    assert found.stderr == found.stdout == b""
