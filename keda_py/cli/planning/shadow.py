"""`keda-py shadow report`: what a shadow and the other side disagree about; see `keda_py/operator/shadow/`."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from keda_py.cli.parsers import command_parser
from keda_py.cli.text import foreign

DESCRIPTION = (
    "Ask a running `keda-py operator --shadow` what it would do otherwise than KEDA, or any other HPA, beside which it "
    "runs: whether a workload is at work, Active, Ready, Fallback, the HPA, what each metric asks for, and Jobs."
)
EXAMPLES = (
    ("keda-py shadow report", "of a shadow on this machine, or behind a forwarded port"),
    ("kubectl -n keda exec deploy/keda-py-shadow -- keda-py shadow report", "of a shadow in the cluster"),
    ("keda-py shadow report -o json", "for a program"),
    (
        "keda-py shadow report -o trace --object shop/app > trace.csv",
        "what its triggers said, for `keda-py simulate --metrics`",
    ),
)
NOTES = (
    "A difference counts once it has lasted for a polling interval and 30 s.\n"
    "exit codes: 0 the sides agree, 1 they disagree about something now or did before, or no answer, 2 wrong usage"
)
_REMEDY = "is `keda-py operator --shadow` at work there?"


def run(arguments: list[str]) -> int:
    """Print the report; 1 where there is any disagreement."""
    options = _parse(arguments)
    if options.output == "trace":
        sys.stdout.write(_trace(options.address, options.object))
        return 0
    report = _report(options.address)
    if options.output == "json":
        from keda_py.terminal.foreign import write_json

        write_json(report)
    else:
        _print(report)
    return 1 if report["holding"] or report["ended"] else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("shadow", DESCRIPTION, EXAMPLES, notes=NOTES, usage="keda-py shadow report [FLAGS]")
    add = parser.add_argument
    add("action", choices=("report",), metavar="report", help="the one thing that there is to do")
    add("--object", default="", metavar="[KIND/]NAMESPACE/NAME", help="whose trace; of a ScaledObject without KIND")
    add("--address", default="127.0.0.1:8082", metavar="HOST:PORT", help="where it listens [127.0.0.1:8082]")
    add("-o", "--output", choices=("table", "json", "trace"), default="table", help="how to print [table]")
    options = parser.parse_args(arguments)
    if bool(options.object) != (options.output == "trace"):
        parser.error("-o trace is of one object, and nothing else is: name it by --object NAMESPACE/NAME")
    return options


def _named(text: str) -> str:
    """Build the query that names one object. Raises ConfigError."""
    from urllib.parse import urlencode

    from keda_py.errors import ConfigError

    kind, *place = text.split("/") if text.count("/") == 2 else ("ScaledObject", *text.split("/"))
    kinds = {"scaledobject": "ScaledObject", "scaledjob": "ScaledJob"}
    if len(place) != 2 or kind.lower() not in kinds:
        raise ConfigError(f"{text[:80]!r} names no object; write for example shop/app, or scaledjob/shop/import")
    return urlencode({"kind": kinds[kind.lower()], "namespace": place[0], "name": place[1]})


def _trace(address: str, name: str) -> str:
    """Ask for the record of one object. Raises what `_ask` raises, and ConfigError if there is no record."""
    from keda_py.errors import ConfigError
    from keda_py.terminal.foreign import printable

    answer = _ask(address, f"/trace?{_named(name)}")
    if answer is None:
        remedy = "name one that the shadow reads, with its kind if it is a ScaledJob"
        raise ConfigError(f"--object: nothing is recorded of {name[:80]!r}; {remedy}", field="--object")
    return printable(answer.decode())


def _report(address: str) -> Mapping[str, Any]:
    """Ask for the report. Raises what `_ask` raises."""
    import orjson

    from keda_py.errors import Unavailable

    try:
        report: Mapping[str, Any] = orjson.loads(_ask(address, "/report") or b"")
    except orjson.JSONDecodeError:
        raise Unavailable(f"{address} answers no report; {_REMEDY}") from None
    return report


def _ask(address: str, path: str) -> bytes | None:
    """Send a GET; None for 404. Raises ConfigError unless the address is on loopback, Unavailable without an answer."""
    import httpx

    from keda_py.errors import ConfigError, Unavailable
    from keda_py.settings.parsers import parse_loopback

    try:
        parse_loopback(address)
    except ValueError as error:
        raise ConfigError(f"--address: {address!r} {error}") from None
    try:
        with httpx.Client(trust_env=False, timeout=30.0) as client:
            answer = client.get(f"http://{address}{path}")
            return None if answer.status_code == httpx.codes.NOT_FOUND else answer.raise_for_status().content
    except httpx.HTTPError as error:
        raise Unavailable(f"no report at {address}: {str(error) or type(error).__name__}; {_REMEDY}") from None


def _print(report: Mapping[str, Any]) -> None:
    from keda_py.terminal.console import Text, console_of
    from keda_py.terminal.foreign import printable
    from keda_py.terminal.table import Column, draw_table

    console = console_of(sys.stdout)
    columns = (
        Column(heading="Object", style="bold", cuts=True),
        Column(heading="Matter"),
        Column(heading="Since (UTC)"),
        Column(heading="Until", goes=1),
        Column(heading="keda-py", wraps=True),
        Column(heading="The other side", wraps=True),
    )
    console.print(Text(printable(_summary(report))), soft_wrap=True)
    if rows := [_row(one) for one in (*report["ended"], *report["holding"])]:
        console.print(Text(), draw_table(columns, rows, console.width), soft_wrap=True, sep="\n")
    for line in _skipped(report):
        console.print(Text(printable(line)), soft_wrap=True)


def _summary(report: Mapping[str, Any]) -> str:
    holding, ended = len(report["holding"]), len(report["ended"])
    text = f"disagreements that hold: {holding}, that are over: {ended}" if holding or ended else "no disagreement"
    return f"objects compared since {_time(report['since'])} UTC: {report['compared']}; {text}"


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    matter = f"{one['matter']} {one['metric']}" if "metric" in one else one["matter"]
    where = _place(one)
    until = _time(one["until"]) if "until" in one else "now"
    return (where, foreign(matter), _time(one["since"]), until, _side(one["ours"]), _side(one["theirs"]))


def _side(side: Mapping[str, str]) -> str:
    return foreign(f"{side['does']}: {side['why']}" if side["why"] else side["does"])


def _time(text: str) -> str:
    return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S")


def _skipped(report: Mapping[str, Any]) -> Iterator[str]:
    for one in report["notCompared"]:
        yield f"not compared: {_place(one)}, {foreign(one['why'])}"


def _place(one: Mapping[str, Any]) -> str:
    kind = "" if one["kind"] == "ScaledObject" else f"{one['kind'].lower()}/"
    return f"{kind}{one['namespace']}/{one['name']}"
