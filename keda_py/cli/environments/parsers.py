"""Common parts of these commands' parsers: where to look, how to print, and how shells complete names."""

import argparse

from keda_py.cli.parsers import COMPLETION, CommandParser, command_parser, completed_by
from keda_py.cli.text import Examples

RIGHTS = (
    "It works with the rights of your kubeconfig, as kubectl does. The chart's ClusterRole keda-py-environment-user "
    "may create Overrides, and nothing else; the users of a namespace who may edit have it."
)


def place_flags(parser: CommandParser) -> None:
    """Add -n, --kubeconfig and -o: where to look, and how to print."""
    place = parser.add_argument("-n", "--namespace", default="", metavar="NS", help="where [that of the context]")
    parser.add_argument("--kubeconfig", default="", metavar="FILE", help="of the cluster [as kubectl finds it]")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how to print [text]")
    completed_by(place, COMPLETION, "namespaces")


def name_argument(parser: CommandParser, text: str) -> None:
    """Add NAME of an Environment, which shells complete from the cluster."""
    completed_by(
        parser.add_argument("name", metavar="NAME", nargs="?", default="", help=text), COMPLETION, "environments"
    )


def several_flags(parser: CommandParser) -> None:
    """Add -A, -l and --yes, for commands that take several targets."""
    add = parser.add_argument
    add("-A", "--all-namespaces", action="store_true", help="of every namespace, without names")
    add("-l", "--selector", default="", metavar="LABELS", help="of Environments with these labels, such as team=web")
    add("-y", "--yes", action="store_true", help="several at once without a question")


def parse_several(parser: CommandParser, arguments: list[str]) -> argparse.Namespace:
    """Parse, and refuse names together with -A or -l, and -n together with -A."""
    options = parser.parse_args(arguments)
    if options.names and (options.all_namespaces or options.selector):
        parser.error("-A and -l choose by themselves; leave them out, or the names")
    if options.all_namespaces and options.namespace:
        parser.error("-A is for every namespace; leave it out, or -n")
    return options


SEVERAL = (
    "Several names, -A and -l are listed first, with what will happen, and one question is asked for all, which --yes "
    "answers. Without a terminal to ask at (a pipeline) nothing is done unless --yes is given. One name asks nothing."
)


def run_override(command: str, description: str, examples: Examples, arguments: list[str]) -> int:
    """Run `wake`, `sleep` or `hold`: create the Override and print what will happen."""
    options = _override_options(command, description, examples, arguments)
    from keda_py.core.environment.overrides import OverrideState  # heavy: not for --help
    from keda_py.environments.multiple_targets import choice_of, printing_of
    from keda_py.environments.overriding import override, wish_of

    states = {"wake": OverrideState.AWAKE, "sleep": OverrideState.ASLEEP, "hold": OverrideState.HOLD}
    return override(options.kubeconfig, wish_of(states[command], options), choice_of(options), printing_of(options))


def _override_options(command: str, description: str, examples: Examples, arguments: list[str]) -> argparse.Namespace:
    usage = f"keda-py {command} [NAME ... | -A | -l LABELS] [--until TIME | --for 3h] [--reason TEXT]"
    parser = command_parser(command, description, examples, notes=f"{RIGHTS} {SEVERAL}", usage=usage)
    text = "Environments, or scaledobject/, deployment/, statefulset/NAME [the namespace's only one]"
    completed_by(parser.add_argument("names", metavar="NAME", nargs="*", help=text), COMPLETION, "environments")
    several_flags(parser)
    add = parser.add_argument
    add("--until", default="", metavar="TIME", help="22:00, Mon, 'Mon 08:30', tomorrow, 2026-11-23, next [next change]")
    add("--for", default="", dest="length", metavar="LENGTH", help="how long, such as 3h or 1h30m")
    add("--from", default="", dest="begin", metavar="TIME", help="when it begins [now]")
    add("--reason", default="", metavar="TEXT", help="for all who wonder")
    add("--dry-run", action="store_true", help="tell what would happen, and create nothing")
    place_flags(parser)
    return parse_several(parser, arguments)
