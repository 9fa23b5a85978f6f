"""One question before something is done to several objects: what will happen is listed, then asked.

List and question go to stderr, so that what is done, which goes to stdout, can be piped.
"""

import sys
from collections.abc import Iterable

from keda_py.errors import ConfigError
from keda_py.terminal.console import console_of, tell

_YES = ("y", "yes")


def confirm(listed: Iterable[str], question: str, *, yes: bool) -> bool:
    """Whether the user agrees; with `yes` without a question. Raises ConfigError where there is no terminal to ask at.

    It blocks until a line is typed: do not call it on an event loop.
    """
    console = console_of(sys.stderr)
    for line in listed:
        tell(console, line)
    if yes:
        return True
    if not sys.stdin.isatty():
        text = f"--yes: {question} There is no terminal to ask at; add --yes to do it, or --dry-run to see it only"
        raise ConfigError(text, field="--yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _YES
