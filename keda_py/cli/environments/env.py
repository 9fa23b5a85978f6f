"""`keda-py env [NAME]`: what environments do, what comes next, and who keeps them so."""

import asyncio

from keda_py.cli.environments.parsers import name_argument, place_flags
from keda_py.cli.parsers import command_parser

DESCRIPTION = (
    "Tell what Environments do: their phase, how many members are ready, what comes next and when, and who keeps them "
    "so and why. With a name: its waves, its members, and what holds each. No operator needs to run."
)
EXAMPLES = (
    ("keda-py env", "those of the namespace that kubectl would use, one line each"),
    ("keda-py env -A", "those of the cluster"),
    ("keda-py env dev -n shop", "one of them, with its waves and members"),
    ("keda-py env -A -o json", "the same for a program"),
    ("keda-py env --cluster", "ClusterEnvironments: what their namespaces do, and which of them need a person"),
)


def run(arguments: list[str]) -> int:
    """Print all Environments as a table, or one as a page."""
    parser = command_parser("env", DESCRIPTION, EXAMPLES, usage="keda-py env [NAME] [-n NS | -A | --cluster]")
    name_argument(parser, "an Environment [all of the namespace, one line each]")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="every namespace, without a name")
    parser.add_argument("--cluster", action="store_true", help="ClusterEnvironments, with the sums of their namespaces")
    place_flags(parser)
    options = parser.parse_args(arguments)
    if options.name and options.all_namespaces:
        parser.error("-A is for all Environments; leave it out, or the name")
    if options.cluster and options.all_namespaces:
        parser.error("--cluster is for all namespaces; leave -A out")
    from keda_py.environments.show import ShowOptions, show  # heavy: not for --help

    wanted = ShowOptions(
        name=options.name,
        namespace=options.namespace,
        everywhere=options.all_namespaces,
        as_json=options.output == "json",
        policies=options.cluster,
    )
    asyncio.run(show(options.kubeconfig, wanted))
    return 0
