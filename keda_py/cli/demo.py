"""`keda-py demo`: days of autoscaling on the embedded cluster, in virtual time; `keda_py/demo` does it all."""

import argparse
import asyncio
from pathlib import Path

from keda_py.cli.parsers import command_parser

DESCRIPTION = (
    "Run the very operator against an embedded cluster on a clock that jumps: a workload goes to zero at night and "
    "comes back in the morning; or, with --environments, ten workloads sleep and wake together for a week. Ends "
    "with a timeline picture; exits 0 only if every expected change happened in time."
)
EXAMPLES = (
    ("keda-py demo", "a live table while it runs"),
    ("keda-py demo --environments", "a week with a public holiday, an override, Argo CD, and a request at night"),
    ("keda-py demo --picture week.svg", "the timeline goes into that file"),
    ("kubectl --kubeconfig demo.kubeconfig get deploy -A -w", "look on from another terminal"),
)


def run(arguments: list[str]) -> int:
    """Run the demo; exit with 1 unless every expected change happened in time."""
    parser = command_parser("demo", DESCRIPTION, EXAMPLES)
    parser.add_argument("--environments", action="store_true", help="a week of an environment instead of four days")
    parser.add_argument("--picture", type=Path, default=Path("demo.svg"), metavar="FILE", help="timeline [demo.svg]")
    parser.add_argument(
        "--kubeconfig", type=Path, default=Path("demo.kubeconfig"), metavar="FILE", help="for kubectl [demo.kubeconfig]"
    )
    parser.add_argument("--days", type=_days, metavar="N", help="virtual days to play [4, and 7]")
    parser.add_argument("--plain", action="store_true", help="plain lines instead of a live table")
    parser.add_argument("--stay", action="store_true", help="go on in real time afterwards, for kubectl")
    options = parser.parse_args(arguments)
    from keda_py.demo.command import DemoOptions, run_demo  # heavy: not for --help

    wanted = DemoOptions(
        picture=options.picture,
        kubeconfig=options.kubeconfig,
        days=options.days or (7 if options.environments else 4),
        environments=options.environments,
        plain=options.plain,
        stay=options.stay,
    )
    return asyncio.run(run_demo(wanted))


def _days(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days; use 1 to 31")
    return int(text)
