"""`keda-py simulate FILE`: what a ScaledObject would have done, or would do, with these metrics; no cluster needed."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from keda_py.cli.manifests import add_default_values, read_default_values, read_texts
from keda_py.cli.parsers import command_parser
from keda_py.cli.text import foreign
from keda_py.cli.tokens import bearer_headers
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.core.defaults.layers import Layers
    from keda_py.replay.engine.setting import Cluster
    from keda_py.simulation.loads.load import Load
    from keda_py.simulation.reports.report import Report
    from keda_py.simulation.runs.run import Run

DESCRIPTION = (
    "Replay metrics through the operator's own decisions and the HPA's arithmetic: replicas over time, replica-hours, "
    "time under capacity, the longest wait from zero, flaps, cost. Two manifests side by side, or a field's values."
)
EXAMPLES = (
    ("keda-py simulate app.yaml --metrics trace.csv", "a trace: `time,queue`, and a line for each value"),
    ("keda-py simulate app.yaml --profile office-day --days 30", "no trace yet: an invented load"),
    (
        "keda-py simulate app.yaml --prometheus http://127.0.0.1:9090 --from 2026-11-01T00Z --to 2026-11-08T00Z",
        "what a Prometheus has recorded, by the query of the trigger",
    ),
    ("keda-py simulate app.yaml --metrics trace.csv --compare new.yaml", "two manifests side by side"),
    ("keda-py simulate app.yaml --metrics trace.csv --sweep cooldownPeriod=60..900", "which value is the cheapest"),
    (
        "keda-py simulate app.yaml --metrics trace.csv --compare hpa.yaml --hpa-scale-to-zero",
        "beside it a native HPA with minReplicas 0",
    ),
    ("keda-py simulate k8s/ --profile office-day -o html > page.html", "every ScaledObject of a folder, as a page"),
)
NOTES = (
    "A trace's first column is the time (ISO 8601 with a zone, Unix seconds, or seconds from --from), the others are\n"
    "triggers, called by their name, metric name, or trigger0, trigger1; `error` is a source that does not answer.\n"
    "Schedules need no column; the hours of a profile are those of their zone, else UTC's.\n"
    "cpu and memory are what all pods use together, in cores and bytes; give --request.\n"
    "A moment is under capacity when the triggers ask for more Ready pods than there are, beyond the HPA's tolerance."
)
_MONDAY = datetime(2026, 11, 2, tzinfo=UTC)
_FIRST_CHANGES = 20


def run(arguments: list[str]) -> int:
    """Print the report."""
    options = _parse(arguments)
    sys.stdout.write(_report_text(_report(options), options))
    return 0


def _report(options: argparse.Namespace) -> "Report":
    from keda_py.simulation.reports.report import Report
    from keda_py.simulation.runs.run import carry_out_all
    from keda_py.simulation.runs.variants import cheapest

    bodies = _read_objects(options.files, options)
    load = _load(options, bodies)
    runs = _runs(options, bodies, load)
    results = carry_out_all(runs, options.processes)
    titles = dict.fromkeys(result.title for result in results)
    sweeps = [[result for result in results if result.title == title] for title in titles] if options.sweep else []
    return Report(
        origin=load.origin,
        results=tuple(results),
        price=options.price_per_replica_hour,
        best=tuple(cheapest(group) for group in sweeps),
        load=_described(options),
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A manifest with the defaults of its namespace."""

    body: "dict[str, Any]"
    layers: "Layers"


def _read_objects(files: Sequence[str], options: argparse.Namespace) -> dict[str, _Read]:
    """Read the ScaledObjects by namespace/name, and with --hpa-scale-to-zero native HPAs that go there.

    Raises ConfigError with file and line if admission would refuse one.
    """
    from keda_py.apis.foreign import name_of, namespace_of
    from keda_py.core.values.kubernetes import SCALE_TO_ZERO, since
    from keda_py.simulation.native import goes_to_zero
    from keda_py.validation.documents import read_documents
    from keda_py.validation.release import completed
    from keda_py.validation.report import validate_texts

    texts, to_zero = dict(read_texts(files)), options.hpa_scale_to_zero
    kubernetes, defaults = since(SCALE_TO_ZERO) if to_zero else None, read_default_values(options.default_values)
    report = asyncio.run(validate_texts(texts, kubernetes=kubernetes, defaults=defaults))
    errors = [problem for problem in report.problems if problem.severity == "error"]
    if errors:
        message = "\n".join(f"{error.file}:{error.line}: {error.sentence}" for error in errors[:10])
        raise ConfigError(f"the manifest would be refused, so it is not simulated:\n{message}")
    documents = [document.body for name, text in texts.items() for document in read_documents(text, name)]
    natives = [body for body in documents if goes_to_zero(body)]
    taken = natives if to_zero else []
    bodies = [completed(body) for body in documents if body["kind"] == "ScaledObject" or body in taken]
    jobs = [name_of(body) for body in documents if body["kind"] == "ScaledJob"]
    if not bodies:
        said = f"ScaledJob {jobs[0]} cannot be simulated, ScaledObjects alone can" if jobs else "holds no ScaledObject"
        if natives:
            raise ConfigError(f"{', '.join(files)}: holds HPAs that go to zero; give --hpa-scale-to-zero for them")
        raise ConfigError(f"{', '.join(files)}: {said}; give a manifest with one")
    for name in jobs:
        sys.stderr.write(f"not simulated: ScaledJob {foreign(name)}; ScaledObjects alone are\n")
    return {_title(body): _Read(body, report.release.layers(namespace_of(body))) for body in bodies}


def _title(body: "Mapping[str, Any]") -> str:
    """NAMESPACE/NAME, and of an HPA that it is one."""
    meta = body["metadata"]
    return f"{meta['namespace']}/{meta['name']}{'' if body['kind'] == 'ScaledObject' else ' (HPA)'}"


def _check_variant(variant: str, body: "Mapping[str, Any]") -> None:
    """Refuse a variant with an unknown field, or with a value that admission would refuse. Raises ConfigError."""
    import orjson

    from keda_py.validation.report import validate_texts

    report = asyncio.run(validate_texts({variant: orjson.dumps(body).decode()}))
    errors = [problem for problem in report.problems if problem.severity == "error"]
    if errors:
        raise ConfigError(f"--sweep: {variant} would be refused: {errors[0].sentence}")


def _runs(options: argparse.Namespace, read: Mapping[str, _Read], load: "Load") -> "list[Run]":
    from keda_py.simulation.runs.run import Run
    from keda_py.simulation.runs.variants import read_sweep

    cluster = _cluster(options)
    variants = [(title, "", one) for title, one in read.items()]
    if options.sweep:
        sweep = read_sweep(options.sweep)
        variants = [
            (title, variant, replace(one, body=body))
            for title, one in read.items()
            for variant, body in sweep.variants(one.body)
        ]
        for _, variant, one in (variants[0], variants[-1]):
            _check_variant(variant, one.body)
    if options.compare:
        others = _read_objects([options.compare], options)
        if len(others) == len(read) == 1:
            others = dict(zip(read, others.values(), strict=True))
        paired = [(title, f"({options.compare})", others[title]) for title in read if title in others]
        if len(paired) < len(read):
            missing = next(title for title in read if title not in others)
            raise ConfigError(f"--compare: {options.compare} has no ScaledObject {missing}; both files need the same")
        variants = [one for pair in zip(variants, paired, strict=True) for one in pair]
    return [
        Run(
            title=title,
            body=one.body,
            load=load,
            cluster=cluster,
            replicas=options.replicas,
            variant=variant,
            layers=one.layers,
        )
        for title, variant, one in variants
    ]


def _load(options: argparse.Namespace, read: Mapping[str, _Read]) -> "Load":
    if options.metrics:
        from keda_py.simulation.loads.trace_file import TraceFile, TraceRules

        rules = TraceRules(
            longest_gap=options.longest_gap, gaps=options.gaps, time_unit=options.time_unit, begin=options.begin
        )
        return TraceFile(path=options.metrics, rules=rules)
    if options.profile:
        from keda_py.simulation.loads.profiles import Profile

        seconds = options.days * 86_400.0
        return Profile(name=options.profile, origin=options.begin or _MONDAY, end=seconds, peak=options.peak)
    return _fetch(options, read)


def _fetch(options: argparse.Namespace, read: Mapping[str, _Read]) -> "Load":
    """Load what a Prometheus recorded for the triggers of the only object."""
    from keda_py.sdk.offline import shared_context
    from keda_py.simulation.loads.profiles import Profile
    from keda_py.simulation.loads.prometheus import PrometheusServer, Range
    from keda_py.simulation.runs.run import needs_of

    if len(read) > 1:
        raise ConfigError("--prometheus: the files hold several ScaledObjects; give one, since queries belong to it")
    if options.begin is None or options.end is None or options.end <= options.begin:
        raise ConfigError("--prometheus: needs --from and a later --to, such as 2026-11-01T00:00:00Z")
    given = dict(_named(text) for text in options.query)
    (one,) = read.values()
    queries = {}
    for need in needs_of(one.body, Profile(name="steady", origin=options.begin, end=1.0), one.layers):
        query = next((given[name] for name in (*need.names, "") if name in given), need.query)
        if not query:
            raise ConfigError(f"trigger {need.index} has no query of its own; give one: --query {need.names[0]}=PROMQL")
        queries[need.index] = query
    wanted = Range(origin=options.begin, seconds=(options.end - options.begin).total_seconds(), step=options.step)
    server = PrometheusServer(url=options.prometheus, headers=bearer_headers(options.bearer_token_file))

    async def fetch() -> "Load":
        async with shared_context() as shared:
            return await server.fetch(shared.http, queries, wanted)

    return asyncio.run(fetch())


def _named(text: str) -> tuple[str, str]:
    """Split `NAME=PROMQL`; a query without a name is for the only trigger."""
    name, equals, query = text.partition("=")
    plain = name.replace("-", "").replace("_", "").isalnum()
    return (name, query) if equals and plain and not query.startswith(("=", "~")) else ("", text)


def _cluster(options: argparse.Namespace) -> "Cluster":
    from keda_py.core.hpa.controller import ControllerOptions
    from keda_py.core.values.quantity import parse_milli
    from keda_py.replay.engine.setting import Cluster

    requests = dict(_named(text) for text in options.request)
    unknown = set(requests) - {"cpu", "memory"}
    if unknown:
        raise ConfigError(f"--request: {', '.join(sorted(unknown)) or '?'} is not known; write cpu=500m or memory=1Gi")
    return Cluster(
        ready_after=options.ready_after,
        sync_seconds=options.hpa_sync,
        options=ControllerOptions(
            tolerance=options.hpa_tolerance,
            downscale_stabilization=timedelta(seconds=options.hpa_downscale_stabilization),
            scale_to_zero=options.hpa_scale_to_zero,
        ),
        requests={name: parse_milli(text, field=f"--request {name}") for name, text in requests.items()},
    )


def _described(options: argparse.Namespace) -> str:
    if options.metrics:
        return f"metrics of {foreign(options.metrics)}"
    return f"profile {options.profile}" if options.profile else "metrics of a Prometheus"


def _report_text(report: "Report", options: argparse.Namespace) -> str:
    from keda_py.simulation.reports.page import write_page
    from keda_py.simulation.reports.report import write_csv, write_json, write_text
    from keda_py.terminal.console import console_of

    match options.output:
        case "json":
            return write_json(report)
        case "csv":
            return write_csv(report)
        case "html":
            return write_page(report)
        case _:
            return write_text(report, console_of(sys.stdout).width, _FIRST_CHANGES)


@dataclass(frozen=True, slots=True)
class _Number:
    """Parser of a flag's number within bounds; argparse shows the reason of a refusal."""

    least: float
    most: float
    whole: bool = False

    def __call__(self, text: str) -> float | int:
        try:
            number = int(text) if self.whole else float(text)
        except ValueError:
            number = float("nan")
        if not self.least <= number <= self.most:
            raise argparse.ArgumentTypeError(f'"{text}" must be a number from {self.least:g} to {self.most:g}')
        return number


def _seconds(text: str) -> float:
    """Parse `30s`, `5m`, `1h` or plain seconds, above 0."""
    from keda_py.apis.go_values import parse_duration

    try:
        seconds = float(text) if text.replace(".", "", 1).isdigit() else parse_duration(text).total_seconds()
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 366 * 86_400:
        raise argparse.ArgumentTypeError(f'"{text}" is not a duration; write 30s, 5m or 1h')
    return seconds


def _period(text: str) -> float:
    seconds = _seconds(text)
    if seconds < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is shorter than a second; write 15s')
    return seconds


def _moment(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a time; write 2026-11-01T00:00:00Z') from None
    if at.tzinfo is None:
        raise argparse.ArgumentTypeError(f'"{text}" has no time zone; add Z, or an offset like +09:00')
    return at.astimezone(UTC)


def _parse(arguments: list[str]) -> argparse.Namespace:
    usage = "keda-py simulate FILE... (--metrics TRACE | --prometheus URL | --profile NAME) [FLAGS]"
    parser = command_parser("simulate", DESCRIPTION, EXAMPLES, notes=NOTES, usage=usage)
    parser.add_argument("files", metavar="FILE", nargs="+", help="manifests: file, folder, or - for standard input")
    _add_load_flags(parser)
    _add_cluster_flags(parser)
    add = parser.add_argument_group("what is asked").add_argument
    add_default_values(parser)
    add("--compare", default="", metavar="FILE", help="the same objects in another version, side by side")
    add("--sweep", default="", metavar="FIELD=A..B", help="cooldownPeriod=60..900, =60..900/120 or =60,300: each value")
    price = _Number(0, 1e9)
    add("--price-per-replica-hour", type=price, metavar="N", help="tell the cost, too; in your own currency")
    add("--processes", type=_Number(1, 256, True), default=os.cpu_count() or 1, metavar="N", help="at once [all cores]")
    add("-o", "--output", choices=("text", "json", "csv", "html"), default="text", help="[text]")
    options = parser.parse_args(arguments)
    if options.sweep and options.compare:
        parser.error("--sweep and --compare exclude each other; run the command once for each")
    return options


def _add_load_flags(parser: argparse.ArgumentParser) -> None:
    from keda_py.simulation.loads.profiles import PROFILES

    group = parser.add_argument_group("the load")
    one = group.add_mutually_exclusive_group(required=True)
    one.add_argument("--metrics", default="", metavar="TRACE", help="a CSV file: time, and a column for each trigger")
    one.add_argument("--prometheus", default="", metavar="URL", help="ask this server; needs --from and --to")
    one.add_argument("--profile", choices=tuple(PROFILES), help="an invented load")
    add = group.add_argument
    add("--from", dest="begin", type=_moment, metavar="TIME", help="when it begins, such as 2026-11-01T00:00:00Z")
    add("--to", dest="end", type=_moment, metavar="TIME", help="when it ends, for --prometheus")
    add("--step", type=_period, default=15.0, metavar="DURATION", help="between two points of --prometheus [15s]")
    add("--query", action="append", default=[], metavar="[TRIGGER=]PROMQL", help="in place of the trigger's own query")
    add("--bearer-token-file", default="", metavar="FILE", help="a token for --prometheus")
    add("--gaps", choices=("refuse", "hold", "fail"), default="refuse", help="of a trace: what a gap means [refuse]")
    add("--longest-gap", type=_seconds, default=3600.0, metavar="DURATION", help="what is no gap yet [1h]")
    add("--time-unit", choices=("s", "ms", "us", "ns"), default="s", help="of a trace's numbers [s]")
    add("--days", type=_Number(0.01, 366), default=7, metavar="N", help="how long a profile lasts [7]")
    add(
        "--peak",
        type=_Number(0, 1e15),
        metavar="N",
        help="of a profile; cpu in cores, memory in bytes [what asks for 10 pods]",
    )


def _add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("the cluster").add_argument
    add("--ready-after", type=_seconds, default=30.0, metavar="DURATION", help="until a new pod is Ready [30s]")
    add("--replicas", type=_Number(0, 1e6, True), metavar="N", help="at the beginning [the minimum]")
    add("--request", action="append", default=[], metavar="NAME=N", help="of each pod: cpu=500m, memory=1Gi")
    add(
        "--hpa-sync", type=_period, default=15.0, metavar="DURATION", help="horizontal-pod-autoscaler-sync-period [15s]"
    )
    to_zero = "also simulate HPAs with minReplicas 0, as on Kubernetes 1.37; its columns are called as their metrics"
    add("--hpa-scale-to-zero", action="store_true", help=to_zero)
    add("--hpa-tolerance", type=_Number(0, 10), default=0.1, metavar="N", help="of the HPA controller [0.1]")
    stabilization = "--hpa-downscale-stabilization"
    add(stabilization, type=_seconds, default=300.0, metavar="DURATION", help="of the HPA controller [5m]")
