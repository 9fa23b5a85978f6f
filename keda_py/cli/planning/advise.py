"""`keda-py advise`: hours in which workloads are not used; the work is in `keda_py/advice/`."""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from keda_py.cli.parsers import command_parser
from keda_py.cli.tokens import bearer_headers
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.advice.command import AdviceResult, AdviseOptions
    from keda_py.advice.proposals.workload import Observed
    from keda_py.advice.sources.prometheus import RecordedWeeks

DESCRIPTION = (
    "Propose hours in which workloads may sleep, found in how they were used: their idle floor, the hours of each "
    "weekday, the zone in which the weeks are alike, a change of habit. Each proposal is replayed over the same weeks "
    "with the operator's own decisions: what it saves, and which use would have met a sleeping workload. Nothing is "
    "written to a cluster: manifests go to standard output or a folder. Missing data is not idle."
)
EXAMPLES = (
    ("keda-py advise --trace requests.csv --timezone Europe/Berlin", "a trace: `time,shop/web`, and requests a second"),
    ("keda-py advise --trace requests.csv -o manifest > hours.yaml", "the Environments, with the evidence as comments"),
    ("keda-py advise --trace requests.csv -o html > week.html", "a page: each week as a heat map, hours over it"),
    ("keda-py advise -A --prometheus http://127.0.0.1:9090 --out hours/", "all that it has counted"),
    ("keda-py advise k8s/ --trace requests.csv --diff", "do the hours that you have still fit? 1 where they do not"),
    ("keda-py advise --trace requests.csv --at-most-waits 0/week", "hours that would have denied nothing"),
)
NOTES = (
    "A trace is that of `keda-py simulate`: the first column is the time, each other one a workload, called NAME, "
    "NAMESPACE/NAME or NAMESPACE/KIND/NAME; an empty cell, `error`, what is below 0 and a missing row are missing. "
    "Of a Prometheus, counters of Istio, Linkerd, ingress-nginx, Traefik and Envoy are known, keda_scaler_active, and "
    "CPU where a workload has nothing else. Without either it tells how far the operator's own record reaches, "
    "which is too short for hours. What the triggers of ScaledObjects read, which are given and keep more than one "
    "replica, is asked, too: where fewer were enough in regular hours, it proposes a ScalingSchedule. What "
    "kube-state-metrics has of their starts gives waves. "
    "--query gives a rate by namespace and one of deployment, statefulset, "
    "scaledObject, service or workload. An operator with --advise-prometheus asks the like once a month. "
    "Exit codes: 0 done; 1 --diff: hours do not fit; 2 wrong usage."
)
# Of one answer: a day of 8 000 workloads.
_MOST_BYTES = 64 * 2**20
_WITH_MANIFESTS = ("json", "manifest")
_PER_WEEK = {"day": 7.0, "week": 1.0, "month": 7 / 30}


def run(arguments: list[str]) -> int:
    """Print what is proposed."""
    options = _parse(arguments)
    from keda_py.advice.command import find, tell  # heavy: not for --help

    wanted, manifests = _options_of(options), _chosen_manifests(options)
    found = find(_observed(options, manifests), wanted, manifests)
    if options.prometheus and (options.out or options.output in _WITH_MANIFESTS):
        found = asyncio.run(_with_wake_orders(options, found, manifests))
    return tell(found, wanted)


def _chosen_manifests(options: argparse.Namespace) -> "list[dict[str, Any]]":
    """The manifests that there are."""
    if options.cluster or not (options.trace or options.prometheus or options.files):
        return asyncio.run(_of_cluster(options))
    from keda_py.cli.manifests import read_texts
    from keda_py.validation.documents import read_documents
    from keda_py.validation.release import completed

    texts = read_texts(options.files)
    return [completed(document.body) for file, text in texts for document in read_documents(text, file)]


async def _of_cluster(options: argparse.Namespace) -> "list[dict[str, Any]]":
    from keda_py.clock import SystemClock
    from keda_py.kube.client import KubeClient
    from keda_py.kube.resources import CRON_JOBS, DEPLOYMENTS, STATEFUL_SETS
    from keda_py.replay.reading.cluster import ClusterReading, with_kind

    async with KubeClient(SystemClock(), options.kubeconfig) as client:
        found = [source.body for source in await ClusterReading(client, options.namespace).read()]
        if any(body["kind"] == "Environment" for body in found):
            return found  # their members are among them
        for resource in (DEPLOYMENTS, STATEFUL_SETS, CRON_JOBS):
            found += with_kind(resource, await client.list(resource, options.namespace))
        return found


def _options_of(options: argparse.Namespace) -> "AdviseOptions":
    from keda_py.advice.command import AdviseOptions
    from keda_py.advice.proposals.places import PlaceRule
    from keda_py.calendars.countries import country_holidays
    from keda_py.core.cron.zones import load_zone
    from keda_py.core.savings.statement import Prices
    from keda_py.terminal.zones import user_zone

    if options.subdivision and not options.country:
        raise ConfigError("--subdivision: goes with --country; add it", field="--subdivision")
    if options.country:
        try:
            country_holidays(options.country, options.subdivision, (), field="flag")
        except ConfigError as error:
            raise ConfigError(str(error).replace("flag.", "--")) from None
    zone = load_zone(options.timezone, field="--timezone") if options.timezone else None
    return AdviseOptions(
        places=PlaceRule(own=user_zone(), zone=zone, country=options.country, subdivision=options.subdivision),
        most_waits=options.at_most_waits,
        prices=Prices(cpu=options.core, memory=options.gib, replica=options.replica),
        output=options.output,
        folder=options.out,
        compares=options.diff,
    )


def _observed(options: argparse.Namespace, manifests: "list[dict[str, Any]]") -> "list[Observed]":
    if options.trace:
        from keda_py.advice.sources.trace import read_trace

        return read_trace(options.trace, options.namespace or "default", options.unit)
    if options.prometheus:
        return asyncio.run(_recorded(options, manifests))
    from keda_py.advice.sources.own_record import read_own_records
    from keda_py.clock import SystemClock

    return read_own_records(manifests, options.namespace, SystemClock().now())


async def _recorded(options: argparse.Namespace, manifests: "list[dict[str, Any]]") -> "list[Observed]":
    from keda_py.advice.sources.queries import KnownQuery
    from keda_py.advice.sources.reading import HistoryQuery
    from keda_py.advice.sources.triggers import read_use_and_triggers
    from keda_py.clock import SystemClock
    from keda_py.terminal.console import Bar

    own = tuple(
        KnownQuery(name=f"--query {number}", metric="", query=text, unit=options.unit)
        for number, text in enumerate(options.query, start=1)
    )
    query = HistoryQuery(namespace=options.namespace, weeks=options.weeks, queries=own)
    async with _server(options) as recorded:
        with Bar("reading") as bar:
            return await read_use_and_triggers(recorded, query, manifests, SystemClock().now(), bar.show)


async def _with_wake_orders(
    options: argparse.Namespace, found: "AdviceResult", manifests: "list[dict[str, Any]]"
) -> "AdviceResult":
    from keda_py.advice.command import with_wake_orders
    from keda_py.terminal.console import Bar

    async with _server(options) as recorded:
        with Bar("reading starts") as bar:
            return await with_wake_orders(found, recorded, options.weeks, manifests, bar.show)


@asynccontextmanager
async def _server(options: argparse.Namespace) -> "AsyncIterator[RecordedWeeks]":
    """The server that --prometheus names."""
    from keda_py.advice.sources.prometheus import RecordedWeeks
    from keda_py.answers.bounds import AnswerBounds
    from keda_py.net.http import HttpClientSpec
    from keda_py.sdk.offline import shared_context
    from keda_py.simulation.loads.prometheus import PrometheusServer

    headers = bearer_headers(options.bearer_token_file)
    http = HttpClientSpec(answers=AnswerBounds(_MOST_BYTES))
    async with shared_context(http=http) as shared:
        yield RecordedWeeks(server=PrometheusServer(url=options.prometheus), client=shared.http, headers=headers)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("advise", DESCRIPTION, EXAMPLES, notes=NOTES, usage="keda-py advise [FLAGS] [FILE ...]")
    source = parser.add_argument_group("what was used").add_mutually_exclusive_group()
    source.add_argument("--trace", default="", metavar="FILE", help="a CSV file: time, and a column a workload")
    source.add_argument("--prometheus", default="", metavar="URL", help="ask this server for what it knows of use")
    add = parser.add_argument
    add("-n", "--namespace", default="", metavar="NS", help="this one alone; of a trace, that of columns without one")
    add("-A", "--all-namespaces", action="store_true", help="of a Prometheus, all")
    add("--weeks", type=int, choices=range(3, 27), default=6, metavar="N", help="of a Prometheus, 3 to 26 [6]")
    add("--query", action="append", default=[], metavar="PROMQL", help="in place of those that are known [see below]")
    add("--bearer-token-file", default="", metavar="FILE", help="a token for --prometheus")
    add("--unit", default="requests/s", metavar="UNIT", help="of a trace's values [requests/s]")
    add("--timezone", default="", metavar="ZONE", help="[this machine's, or the one in which the weeks are alike]")
    add("--country", default="", metavar="CODE", help="whose public holidays are taken out [that of the zone]")
    add("--subdivision", default="", metavar="CODE", help="of the country, such as BY")
    add("--at-most-waits", type=_limit, default=2.0, metavar="N/week", help="use that may meet it asleep [2/week]")
    add("--price-per-core-hour", dest="core", type=_price, default=0.0, metavar="N", help="of requested CPU")
    add("--price-per-gib-hour", dest="gib", type=_price, default=0.0, metavar="N", help="of requested memory")
    add("--price-per-replica-hour", dest="replica", type=_price, default=0.0, metavar="N", help="of each replica")
    add("-o", "--output", choices=("table", "json", "manifest", "html"), default="table", help="how to print [table]")
    add("files", metavar="FILE", nargs="*", help="manifests that there are: counts, requests, labels, hours")
    add("--cluster", action="store_true", help="or those of the cluster, with your own rights")
    add("--kubeconfig", default="", metavar="FILE", help="of --cluster [as kubectl finds it]")
    add("--diff", action="store_true", help="tell how the hours fit that are written")
    add("--out", default="", metavar="DIR", help="write the manifests there, a file each, for a merge request")
    options = parser.parse_args(arguments)
    if not (options.trace or options.prometheus or options.namespace or options.all_namespaces):
        text = "-n NS or -A alone tell what the operator itself has recorded, which is too short for hours"
        parser.error(f"give one of --trace FILE and --prometheus URL; {text}")
    if options.diff and not (options.files or options.cluster):
        parser.error("--diff: compares with what there is; name manifests, or give --cluster")
    if not options.trace and bool(options.namespace) == options.all_namespaces:
        parser.error("give one of -n NS and -A")
    if options.trace and (options.all_namespaces or options.query):
        parser.error("--trace: a file has the workloads of its columns; leave out -A and --query")
    return options


def _limit(text: str) -> float:
    """`2/week` -> 2; a number alone is of a week."""
    count, _, unit = text.partition("/")
    try:
        number = float(count) * _PER_WEEK[unit or "week"]
    except (ValueError, KeyError):
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f'"{text}" is not a limit; write 2/week, 1/day or 3/month')
    return number


def _price(text: str) -> float:
    price = float(text)
    if not 0 <= price < float("inf"):
        raise argparse.ArgumentTypeError(f'"{text}" is not a price; write for example 0.04')
    return price
