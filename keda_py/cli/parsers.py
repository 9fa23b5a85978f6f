"""Argument parsers of the commands: no abbreviations, examples under the help."""

import argparse
import importlib
import os
from collections.abc import Callable
from typing import Any

from keda_py.cli.text import COMPLETING, Examples, render_examples
from keda_py.terminal.wrapping import page_width, wrap

COMPLETION = "keda_py.cli.completion"
"""Module of the completers."""
Completer = Callable[..., list[str]]


class CommandParser(argparse.ArgumentParser):
    """The parser of one command; it answers a shell that completes its line, and exits."""

    asked = False

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        """Parse as argparse does, unless a shell asks for completions."""
        if COMPLETING in os.environ and not self.asked:
            self.asked = True  # argcomplete parses, too
            from argcomplete import autocomplete

            os.environ[COMPLETING] = "2"  # the words begin at the command, not at `keda-py`
            autocomplete(self, always_complete_options=False)
        return super().parse_known_args(*arguments, **named)


def completed_by(action: argparse.Action, module: str, name: str) -> None:
    """Let a shell complete the values of `action` by the function `name` of `module`, imported when it asks."""

    def complete(**given: Any) -> list[str]:
        found: Completer = getattr(importlib.import_module(module), name)
        return found(**given)

    action.completer = complete  # type: ignore[attr-defined]


def command_parser(
    command: str, description: str, examples: Examples = (), *, notes: str = "", usage: str = ""
) -> "CommandParser":
    """An empty parser for `keda-py COMMAND`; `notes` stand between flags and examples."""
    width = page_width(118)
    return CommandParser(
        prog=f"keda-py {command}",
        usage=usage or f"keda-py {command} [FLAGS]",
        description=_filled(description, width),
        epilog="\n\n".join(filter(None, [_filled(notes, width), render_examples(examples)])),
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=40, width=width),
    )


def _filled(text: str, width: int) -> str:
    """Fill a paragraph to the terminal's width; an indented one is a table and stays as it is."""
    if any(line.startswith(" ") for line in text.splitlines()):
        return text
    return "\n".join(wrap(" ".join(text.split()), min(width, 110)))
