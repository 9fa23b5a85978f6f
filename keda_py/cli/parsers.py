"""Argument parsers of the commands: no abbreviations, examples under the help."""

import argparse

from keda_py.cli.text import Examples, render_examples
from keda_py.terminal.wrapping import page_width, wrap


def command_parser(
    command: str, description: str, examples: Examples = (), *, notes: str = "", usage: str = ""
) -> argparse.ArgumentParser:
    """An empty parser for `keda-py COMMAND`; `notes` stand between flags and examples."""
    width = page_width(118)
    return argparse.ArgumentParser(
        prog=f"keda-py {command}",
        usage=usage or f"keda-py {command} [FLAGS]",
        description=_filled(description, width),
        epilog="\n\n".join(filter(None, [_filled(notes, width), render_examples(examples)])),
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=40, width=width),
    )


def _filled(text: str, width: int) -> str:
    """A paragraph as wide as the terminal; what is indented is a table, and stays as it is."""
    if any(line.startswith(" ") for line in text.splitlines()):
        return text
    return "\n".join(wrap(" ".join(text.split()), min(width, 110)))
