"""`keda-py explain [NS/NAME]`: why objects were scaled or not, and what comes next; the words are in `explanation/`."""

import argparse
import asyncio

from keda_py.cli.parsers import COMPLETION, command_parser, completed_by

DESCRIPTION = (
    "Tell why a ScaledObject woke, slept or stayed as it is, or why a ScaledJob created Jobs or none: the last values "
    "of its triggers, the changes of reason of the last day (32 at most) and since the operator started (50 at most), "
    "cooldown left, next poll and next planned change. Without a name: one line an object, or with --since one line a "
    "change. Of Environments, Overrides, ScalingSchedules, and the Deployments, StatefulSets and CronJobs of an "
    "Environment: what they do now, why, and what comes next. Times are in the zone of the Calendar, and in yours."
)
EXAMPLES = (
    ("keda-py explain shop/checkout", "ScaledObject checkout of namespace shop"),
    ("keda-py explain scaledjob/shop/import", "ScaledJob import of the same namespace"),
    ("keda-py explain environment/shop/dev", "what sleeps together, with its waves and members"),
    ("keda-py explain deployment/shop/mailer", "a workload that no ScaledObject scales: when it sleeps and wakes"),
    ("keda-py explain override/shop/dev-wake-x7k2p", "what was asked for, until when, and what follows"),
    ("keda-py explain -A", "every object of the cluster, one line each"),
    ("keda-py explain shop/checkout --since yesterday", "its changes since yesterday's midnight"),
    ("keda-py explain -A --since 22:00", "the night of the whole cluster, one line a change"),
    ("keda-py explain shop/checkout --watch", "go on telling what changes"),
    ("keda-py explain shop/checkout -o json", "the same for a program"),
)
NOTES = (
    "The operator answers through the API server, under the APIService v1alpha1.insight.keda-py.dev;\n"
    "who asks needs the verb get on scaledobjects.insight.keda-py.dev, or scaledjobs. Steps of the HPA and changes by "
    "hand are read from Events and the workload, where the user may read those; so is what rules the object, to tell "
    "what comes next: Environments, Calendars, Overrides and ScalingSchedules of its namespace. Without a name "
    "everything is read from the status of the objects, where the operator keeps the changes (--decision-history) and "
    "tells them at most five minutes late."
)


def run(arguments: list[str]) -> int:
    """Print the explanation."""
    options = _parse(arguments)
    from keda_py.explanation.command import ExplainOptions, explain  # heavy: not for --help
    from keda_py.kube.config import context_namespace

    wanted = ExplainOptions(
        object=options.object or "",
        namespace="" if options.all_namespaces else options.namespace or context_namespace(options.kubeconfig),
        since=options.since,
        as_json=options.output == "json",
        watch=options.watch,
    )
    asyncio.run(explain(options.kubeconfig, wanted))
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser(
        "explain", DESCRIPTION, EXAMPLES, notes=NOTES, usage="keda-py explain [FLAGS] [[KIND/]NS/NAME]"
    )
    add = parser.add_argument
    text = "a ScaledObject, or scaledjob/, environment/, override/, scalingschedule/, deployment/NS/NAME [all there]"
    one = add("object", metavar="NS/NAME", nargs="?", help=text)
    place = add("-n", "--namespace", default="", metavar="NS", help="where NS/ is not written [that of the context]")
    add("-A", "--all-namespaces", action="store_true", help="every namespace, without a name")
    add("-w", "--watch", action="store_true", help="go on, and tell what changes")
    add("--since", default="", metavar="TIME", help="changes since 22:00, yesterday, 12h, 2d or a date, in local time")
    add("--kubeconfig", default="", metavar="FILE", help="of the cluster [as kubectl finds it]")
    add("-o", "--output", choices=("text", "json"), default="text", help="how to print [text]")
    completed_by(one, COMPLETION, "names")
    completed_by(place, COMPLETION, "namespaces")
    options = parser.parse_args(arguments)
    if options.object and options.all_namespaces:
        parser.error("-A is for all objects; leave it out, or the name")
    return options
