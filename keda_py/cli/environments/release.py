"""`keda-py release NAME | --all`: gives back by hand what Environments have taken, without an operator."""

import asyncio

from keda_py.cli.environments.parsers import name_argument, place_flags
from keda_py.cli.parsers import command_parser

DESCRIPTION = (
    "Give every member of an Environment its remembered count back, and let its CronJobs run: by hand, with your own "
    "rights, also where no operator runs any more. An Environment that is being deleted can go afterwards."
)
EXAMPLES = (
    ("keda-py release dev", "one Environment of the namespace that kubectl would use"),
    ("keda-py release --all", "every Environment of the cluster, before or after the chart is uninstalled"),
    ("keda-py release --all --stop-operator keda/keda-operator", "the same, and no operator puts them to sleep again"),
    ("keda-py release --all -n shop --dry-run", "what would be done in one namespace"),
)
NOTES = "It needs get and list on environments, get and update on the scale of workloads, get and patch on cronjobs."


def run(arguments: list[str]) -> int:
    """Give the counts back and print a line for each member."""
    usage = "keda-py release NAME | --all [FLAGS]"
    parser = command_parser("release", DESCRIPTION, EXAMPLES, notes=NOTES, usage=usage)
    name_argument(parser, "an Environment")
    parser.add_argument("--all", action="store_true", help="every Environment; of some namespaces with -n A,B")
    stop = "first scale the Deployment of the operator to 0, for good: before an uninstall"
    parser.add_argument("--stop-operator", default="", metavar="NS/NAME", help=stop)
    parser.add_argument("--dry-run", action="store_true", help="tell what would be done, and change nothing")
    place_flags(parser)
    options = parser.parse_args(arguments)
    if bool(options.name) == options.all:
        parser.error("give the name of an Environment, or --all")
    if options.stop_operator and (options.name or options.dry_run):
        parser.error("--stop-operator goes with --all alone, and not with --dry-run")
    from keda_py.environments.release import Scope, release  # heavy: not for --help

    scope = Scope(
        name=options.name,
        namespace=options.namespace,
        everything=options.all,
        as_json=options.output == "json",
        dry_run=options.dry_run,
        stop=options.stop_operator,
    )
    asyncio.run(release(options.kubeconfig, scope))
    return 0
