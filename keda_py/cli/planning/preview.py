"""`keda-py preview`: what schedules, calendars, Environments and Overrides will do; done in `keda_py/preview/`."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from keda_py.cli.manifests import add_default_values, read_default_values, read_texts
from keda_py.cli.parsers import COMPLETION, command_parser, completed_by
from keda_py.cli.text import foreign, read_names

if TYPE_CHECKING:
    from keda_py.preview.command import PreviewOptions
    from keda_py.replay.reading.manifests import ManifestSource

DESCRIPTION = (
    "Tell what schedules will do: cron triggers, calendars, Environments, Overrides and ScalingSchedules. Each change "
    "of a count with its reason, the real moment of zero, hours up and replica hours a week, and beside each window "
    "what `keda-py validate` knows about it. The operator's own rules decide. Other triggers are taken to have no work."
)
EXAMPLES = (
    ("keda-py preview k8s/", "the week from now on, of every manifest below a folder"),
    ("keda-py preview -A", "of the cluster, with your own rights"),
    ("helm template . | keda-py preview -", "what a chart renders"),
    ("keda-py preview --from 2026-12-21 --days 14 app.yaml", "over the holidays"),
    ("keda-py preview --namespaces shop,blog policy.yaml", "what a ClusterEnvironment does there"),
    ("keda-py preview --default-values values.yaml k8s/", "over the kedaDefaults.values of the chart"),
    ("keda-py preview --diff old/ new/", "what a change does, for a pipeline: Saturday: up 11 h more"),
    ("keda-py preview -o ics k8s/ > team.ics", "for a team's calendar"),
)
NOTES = (
    "exit codes: 0 done, and with --diff nothing differs; 1 something differs, or cannot be previewed, or would be "
    "refused; 2 wrong usage"
)


class InvalidManifests(Exception):
    """Manifests with errors, which are printed."""


def run(arguments: list[str]) -> int:
    """Print the preview, or the difference between two."""
    options = _parse(arguments)
    from keda_py.preview.command import PreviewOptions, compare, read_cluster, show  # heavy: not for --help

    live = not (options.files or options.diff)
    wanted = PreviewOptions(
        days=options.days,
        since=options.since,
        timezone=options.timezone,
        live=live,
        namespaces=read_names(options.namespaces),
        hpas=options.hpa_scale_to_zero,
        defaults=read_default_values(options.default_values),
    )
    try:
        if options.diff:
            old, new = (_read([file], wanted) for file in options.diff)
            return compare(old, new, wanted, options.output)
        if live:
            namespace = "" if options.all_namespaces else options.namespace
            sources, unread = asyncio.run(read_cluster(options.kubeconfig, namespace, wanted))
            return show(sources, wanted, options.output, unread)
        return show(_read(options.files, wanted), wanted, options.output)
    except InvalidManifests:
        return 1


def _read(files: Sequence[str], wanted: "PreviewOptions") -> "list[ManifestSource]":
    """Read the manifests. Raises InvalidManifests."""
    from keda_py.preview.command import read_sources

    texts = dict(read_texts(files))
    sources, errors = read_sources(texts, wanted)
    for problem in errors:
        sys.stderr.write(f"{foreign(problem.file)}:{problem.line}: error: {foreign(problem.sentence)}\n")
    if errors:
        raise InvalidManifests
    return sources


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("preview", DESCRIPTION, EXAMPLES, notes=NOTES, usage="keda-py preview [FLAGS] [FILE ...]")
    add = parser.add_argument
    add("files", metavar="FILE", nargs="*", help="manifest, folder, or - for standard input")
    place = add("-n", "--namespace", default="", metavar="NS", help="of the cluster, in place of files")
    add("-A", "--all-namespaces", action="store_true", help="the whole cluster")
    named = "that ClusterEnvironments of the files are taken to select, if no manifest has their labels"
    add("--namespaces", default="", metavar="NS,NS", help=named)
    add("--kubeconfig", default="", metavar="FILE", help="of the cluster [as kubectl finds it]")
    completed_by(place, COMPLETION, "namespaces")
    add("--diff", nargs=2, metavar=("OLD", "NEW"), help="what goes otherwise with NEW; files or folders")
    add("--days", type=int, default=7, metavar="N", help="how many, 1 to 366 [7]")
    add("--from", dest="since", default="", metavar="DATE", help="such as 2026-12-21 [now]")
    add("--timezone", default="", metavar="ZONE", help="of the days that are shown [that of most schedules]")
    to_zero = "members under an HPA with minReplicas 0 have none without work, as on Kubernetes 1.37"
    add("--hpa-scale-to-zero", action="store_true", help=to_zero)
    add_default_values(parser)
    add("-o", "--output", choices=("table", "json", "svg", "ics"), default="table", help="how to print [table]")
    options = parser.parse_args(arguments)
    if sum(map(bool, (options.files, options.diff, options.namespace, options.all_namespaces))) != 1:
        parser.error("give one of FILE ..., -n NS, -A and --diff OLD NEW")
    if options.namespaces and not (options.files or options.diff):
        parser.error("--namespaces is for files; a cluster knows which namespaces a ClusterEnvironment selects")
    if options.diff and options.output in ("svg", "ics"):
        parser.error(f"--diff is told as a table or json; leave out -o {options.output}")
    return options
