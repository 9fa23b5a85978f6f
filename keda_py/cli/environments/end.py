"""`keda-py end [NAME ...]`: what `wake`, `sleep` or `hold` asked for is over now."""

from keda_py.cli.environments.parsers import SEVERAL, parse_several, place_flags, several_flags
from keda_py.cli.parsers import COMPLETION, command_parser, completed_by

DESCRIPTION = (
    "End what wake, sleep or hold asked for before its time: the Override is deleted, and the calendar rules again at "
    "once. Where several Overrides are meant, they are listed, and none is ended until you name one."
)
EXAMPLES = (
    ("keda-py end dev", "the Override of an Environment that is in force, or to come"),
    ("keda-py end deployment/web", "that of one member"),
    ("keda-py end override/dev-wake-x7k2p", "one of several, by its own name"),
    ("keda-py end --all -n shop --dry-run", "which there are in a namespace"),
    ("keda-py end -A -l team=web", "those of a team's Environments in every namespace, after a question"),
)
NOTES = (
    "It needs list and delete on overrides, which users who may edit a namespace have. It touches no count: that is "
    "the operator's work. Where no operator runs any more, `keda-py release` gives counts back. " + SEVERAL
)


def run(arguments: list[str]) -> int:
    """End the Overrides and print which."""
    parser = command_parser(
        "end", DESCRIPTION, EXAMPLES, notes=NOTES, usage="keda-py end [NAME ... | -A | -l LABELS] [FLAGS]"
    )
    named = parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="an Environment, scaledobject/, deployment/ or statefulset/NAME, or override/NAME [the only one there is]",
    )
    completed_by(named, COMPLETION, "targets_of_overrides")
    parser.add_argument("--all", action="store_true", help="all that are meant, not only one")
    several_flags(parser)
    parser.add_argument("--dry-run", action="store_true", help="tell what would end, and change nothing")
    place_flags(parser)
    options = parse_several(parser, arguments)
    from keda_py.environments.ending import end, ending_of  # heavy: not for --help
    from keda_py.environments.multiple_targets import choice_of, printing_of

    return end(options.kubeconfig, ending_of(options), choice_of(options), printing_of(options))
