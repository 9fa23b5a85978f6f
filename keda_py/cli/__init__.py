"""The command line: `keda-py COMMAND ...`. One file per command, imported when it is called.

`keda-py --help` must answer in a blink, so this file imports next to nothing.
Exit codes: 0 done, 1 failed, 2 wrong flag or setting, 130 interrupted. Commands raise KedaPyError; only `main` prints
one.
"""

import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from keda_py import __version__
from keda_py.cli.text import COMPLETING, foreign, paint, render_examples
from keda_py.terminal.wrapping import page_width, wrap

COMMANDS = {
    "operator": "scale a cluster: operator, metrics server and webhook in one process",
    "waker": "hold requests to what sleeps, ask for its wake, and pass them on: a process beside the operator",
    "local": "start an embedded cluster (and the operator) on this machine; prints a kubeconfig",
    "demo": "watch four days of autoscaling in under a minute, no Kubernetes needed",
    "validate": "check manifests without a cluster: file and line of what is wrong, exit code for CI",
    "check-trigger": "build a trigger and read it once, from here: its value, or what is wrong",
    "preview": "what schedules will do: each change with its reason, hours a week, the moment of zero",
    "advise": "which hours no one uses, proven on the past: a manifest to merge, not a change",
    "savings": "what sleeping has saved this month, in replica hours, CPU, memory and money; and what is wasted",
    "simulate": "replay metrics: the replicas that a ScaledObject would have had, waits, flaps, cost",
    "dashboard": "a page of this machine: what sleeps, what wakes, why, and buttons to keep it so",
    "shadow": "what `keda-py operator --shadow` found out beside KEDA: each disagreement, both sides' reasons",
    "migrate": "what would be different if keda-py took over from an installed KEDA; only reads",
    "explain": "why a ScaledObject woke, slept or stayed as it is, and what comes next",
    "doctor": "what fights with sleep and scaling: Argo CD, Flux, HPAs, budgets, webhooks, quotas; the lines to add",
    "env": "what environments do, what comes next, and who keeps them so",
    "wake": "keep an environment awake for a while, or wake it now",
    "sleep": "put an environment to sleep for a while",
    "hold": "leave an environment as it is for a while",
    "end": "end what wake, sleep or hold asked for before its time",
    "release": "give back by hand what environments have taken, also without an operator",
    "crds": "print the CustomResourceDefinitions",
    "scalers": "list the trigger types and their keys",
    "completion": "print the script with which bash, zsh or fish completes commands, namespaces and names",
    "version": "print versions",
}

FOLDERS = {
    **dict.fromkeys(("doctor", "env", "wake", "sleep", "hold", "end", "release"), "environments"),
    **dict.fromkeys(("local", "waker"), "processes"),
    **dict.fromkeys(("preview", "advise", "savings", "simulate", "shadow", "dashboard"), "planning"),
}
"""Subpackage of each command whose module is not in this package itself."""

# Allocations before Python collects garbage, instead of 700: the modules of a command leave none, and collecting them
# again and again took a tenth of its start.
NEW_OBJECTS = 50_000

# Packages that only people at a terminal need: the image is installed from a lock without them (.ci/lock.py).
NOT_IN_THE_IMAGE = ("argcomplete", "rich", "tzlocal")

EVERY_DAY = ("explain", "validate", "check-trigger", "scalers", "local")
"""Commands that are shown when none is given."""

EXAMPLES = (
    ("keda-py demo", "see it work"),
    ("keda-py crds | kubectl apply --server-side -f -", "install the CRDs"),
    ("keda-py operator --kubeconfig ~/.kube/config", "run the operator outside the cluster"),
    ("helm template . | keda-py validate -", "check what a chart renders"),
    ("keda-py scalers prometheus", "the keys of one trigger type"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; without `arguments` the one that the process was started for."""
    if arguments is None:
        gc.set_threshold(NEW_OBJECTS)
    try:
        return _dispatch(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return 130


def _dispatch(given: list[str]) -> int:
    if COMPLETING in os.environ:
        return _complete()
    if not given:
        sys.stdout.write(_short_help())
        return 0
    command = given[0]
    if command in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return 0
    if command == "--version":
        command = "version"
    if command not in COMMANDS:
        return _unknown(command)
    return _run(command, given[1:])


def _run(command: str, arguments: list[str]) -> int:
    from keda_py.errors import ConfigError, KedaPyError

    code: int
    try:
        code = importlib.import_module(_module_of(command)).run(arguments)
        sys.stdout.flush()
    except* BrokenPipeError:  # `keda-py crds | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except* ConfigError as group:
        code = _print_errors(command, group, exit_code=2)
    except* ModuleNotFoundError as group:
        code = _print_missing(command, group)
    except* (KedaPyError, OSError) as group:  # OSError: a port is taken, a file cannot be read
        code = _print_errors(command, group, exit_code=1)
    return code


def _module_of(command: str) -> str:
    return ".".join(filter(None, ("keda_py.cli", FOLDERS.get(command, ""), command.replace("-", "_"))))


def _print_errors(command: str, group: BaseExceptionGroup[Exception], exit_code: int) -> int:
    """Print each error once, without the exception groups that task groups wrap around it."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            _print_errors(command, error, exit_code)
        else:
            sys.stderr.write(f"keda-py {command}: {foreign(str(error))}\n")
    return exit_code


def _print_missing(command: str, group: BaseExceptionGroup[ModuleNotFoundError]) -> int:
    """Name the package that the image leaves out. Raises the error again if a package is missing for another reason."""
    missing = {
        str(error.name).partition(".")[0] for error in group.exceptions if isinstance(error, ModuleNotFoundError)
    }
    if not missing <= set(NOT_IN_THE_IMAGE):
        raise group
    remedy = "the operator's image leaves it out, `pip install keda-py` installs it"
    sys.stderr.write(f"keda-py {command}: this command needs the package {min(missing)}: {remedy}\n")
    return 1


def _complete() -> int:
    """Answer a shell about the line that is being written; the parser of a command answers for its own words."""
    from keda_py.cli.completion import command_on_line, complete_command

    command = command_on_line(COMMANDS)
    if command:
        return _run(command, [])
    complete_command(COMMANDS)
    return 0


def _unknown(command: str) -> int:
    near = get_close_matches(command, COMMANDS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "`keda-py --help` lists the commands"
    sys.stderr.write(f"keda-py: no command {command!r}; {hint}\n")
    return 2


def _short_help() -> str:
    return (
        f"{paint('usage:', 'heading')} keda-py COMMAND [FLAGS]\n\n"
        f"Event-driven autoscaling for Kubernetes, with KEDA's manifests. Version {__version__}.\n\n"
        f"{paint('every day:', 'heading')}\n{_listed({name: COMMANDS[name] for name in EVERY_DAY})}\n\n"
        "`keda-py --help` lists all commands, `keda-py COMMAND --help` explains one.\n"
        "`keda-py demo` shows it at work; `keda-py completion bash` completes what you type.\n"
    )


def _help() -> str:
    commands = _listed(COMMANDS)
    return (
        f"{paint('usage:', 'heading')} keda-py COMMAND [FLAGS]\n\n"
        f"Event-driven autoscaling for Kubernetes, with KEDA's manifests. Version {__version__}.\n\n"
        f"{paint('commands:', 'heading')}\n{commands}\n\n{render_examples(EXAMPLES)}\n"
        "`keda-py COMMAND --help` explains one command.\n"
    )


def _listed(commands: Mapping[str, str]) -> str:
    """List the commands, one a line; a description wraps in a narrow terminal."""
    width = max(map(len, commands)) + 2
    room = page_width(118) - width - 2
    rows = []
    for name, text in commands.items():
        first, *others = wrap(text, room)
        rows.append(f"  {paint(name, 'command')}{' ' * (width - len(name))}{first}")
        rows += [f"  {' ' * width}{line}" for line in others]
    return "\n".join(rows)
