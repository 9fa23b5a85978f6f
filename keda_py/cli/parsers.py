"""Argument parsers of the commands: no abbreviations, examples under the help."""

import argparse
import textwrap

from keda_py.cli.text import Examples, render_examples


def command_parser(
    command: str, description: str, examples: Examples = (), *, notes: str = "", usage: str = ""
) -> argparse.ArgumentParser:
    """An empty parser for `keda-py COMMAND`; `notes` stand between flags and examples."""
    return argparse.ArgumentParser(
        prog=f"keda-py {command}",
        usage=usage or f"keda-py {command} [FLAGS]",
        description=textwrap.fill(description, 110),
        epilog="\n\n".join(filter(None, [notes, render_examples(examples)])),
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=40, width=118),
    )
