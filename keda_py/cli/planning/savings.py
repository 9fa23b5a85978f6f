"""`keda-py savings`: what sleeping has saved this month; the work is in `keda_py/savings/`."""

import argparse
import asyncio

from keda_py.cli.parsers import COMPLETION, command_parser, completed_by

DESCRIPTION = (
    "Tell what sleeping has saved: replica hours, and the CPU and memory that they would have requested, of each "
    "object, namespace and Environment, against what would have been instead; and what is wasted. The operator "
    "accounts it in status.kedaPySavings, and in an Environment's status.savings for workloads without a ScaledObject: "
    "this month and the last, and fifteen days."
)
AGAINST = (
    "what would have been instead: the HPA alone, with minReplicaCount at least; one replica always, without any "
    "autoscaler; the same object a week before [hpa]"
)
EXAMPLES = (
    ("keda-py savings -A", "of the whole cluster, this month"),
    ("keda-py savings -n shop --month 2026-10", "of the month before"),
    ("keda-py savings -A --against last-week", "the seven days before today, against the seven before them"),
    ("keda-py savings -A --price-per-core-hour 0.04 --price-per-gib-hour 0.005", "in money"),
)


def run(arguments: list[str]) -> int:
    """Print the statement."""
    options = _parse(arguments)
    from keda_py.core.savings.statement import Against, Prices
    from keda_py.kube.config import context_namespace
    from keda_py.savings.command import SavingsOptions, tell_savings  # heavy: not for --help

    prices = Prices(cpu=options.core, memory=options.gib, replica=options.replica)
    namespace = "" if options.all_namespaces else options.namespace or context_namespace(options.kubeconfig)
    wanted = SavingsOptions(
        namespace=namespace,
        month=options.month,
        prices=prices,
        against=Against(options.against),
        as_json=options.output == "json",
    )
    asyncio.run(tell_savings(options.kubeconfig, wanted))
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("savings", DESCRIPTION, EXAMPLES)
    add = parser.add_argument
    place = add("-n", "--namespace", default="", metavar="NS", help="of which namespace [that of the context]")
    add("-A", "--all-namespaces", action="store_true", help="of all")
    add("--month", default="", metavar="YYYY-MM", help="this or the last, UTC [this]")
    add("--against", choices=("hpa", "always", "last-week"), default="hpa", help=AGAINST)
    add("--price-per-core-hour", dest="core", type=_price, default=0.0, metavar="N", help="of requested CPU")
    add("--price-per-gib-hour", dest="gib", type=_price, default=0.0, metavar="N", help="of requested memory")
    add("--price-per-replica-hour", dest="replica", type=_price, default=0.0, metavar="N", help="of each replica")
    add("--kubeconfig", default="", metavar="FILE", help="of the cluster [as kubectl finds it]")
    add("-o", "--output", choices=("table", "json"), default="table", help="how to print [table]")
    completed_by(place, COMPLETION, "namespaces")
    return parser.parse_args(arguments)


def _price(text: str) -> float:
    price = float(text)
    if not 0 <= price < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no price; write for example 0.04")
    return price
