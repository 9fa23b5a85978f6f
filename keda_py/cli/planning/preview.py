"""`keda-py preview FILE...`: what schedules, calendars, Environments and Overrides will do; see `keda_py/preview/`."""

import argparse
import sys

from keda_py.cli.manifests import read_texts
from keda_py.cli.parsers import command_parser
from keda_py.cli.text import foreign

DESCRIPTION = (
    "Tell what schedules will do: cron triggers, calendars, Environments, Overrides and ScalingSchedules. Each change "
    "of a count with its reason, the real moment of zero, hours up and replica hours a week, and beside each window "
    "what `keda-py validate` knows about it. The operator's own rules decide. Other triggers are taken to have no work."
)
EXAMPLES = (
    ("keda-py preview k8s/", "the week from today, of every manifest below a folder"),
    ("helm template . | keda-py preview -", "what a chart renders"),
    ("keda-py preview --from 2026-12-21 --days 14 app.yaml", "over the holidays"),
    ("keda-py preview -o json app.yaml", "for a program"),
)
NOTES = "exit codes: 0 done, 1 a manifest would be refused or cannot be previewed, 2 wrong usage"


def run(arguments: list[str]) -> int:
    """Print the preview."""
    options = _parse(arguments)
    from keda_py.preview.command import Wanted, show  # heavy: not for --help
    from keda_py.preview.reading.files import errors_of, sources_of

    texts = dict(read_texts(options.files))
    errors = errors_of(texts)
    for problem in errors:
        sys.stderr.write(f"{foreign(problem.file)}:{problem.line}: error: {foreign(problem.sentence)}\n")
    if errors:
        return 1
    wanted = Wanted(days=options.days, since=options.since, timezone=options.timezone)
    return show(sources_of(texts), wanted, options.output)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("preview", DESCRIPTION, EXAMPLES, notes=NOTES, usage="keda-py preview [FLAGS] FILE ...")
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="manifest, folder, or - for standard input")
    add("--days", type=int, default=7, metavar="N", help="how many, 1 to 366 [7]")
    add("--from", dest="since", default="", metavar="DATE", help="such as 2026-12-21 [today]")
    add("--timezone", default="", metavar="ZONE", help="of the days that are shown [that of most schedules]")
    add("-o", "--output", choices=("table", "json"), default="table", help="how to print [table]")
    return parser.parse_args(arguments)
