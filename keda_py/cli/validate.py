"""`keda-py validate FILE...`: what admission would say about manifests, with file and line, without a cluster."""

import asyncio
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from keda_py.cli.manifests import add_default_values, read_default_values, read_texts
from keda_py.cli.parsers import command_parser
from keda_py.cli.text import Style, foreign, paint, read_names
from keda_py.terminal.foreign import json_of

if TYPE_CHECKING:
    from keda_py.validation.problems import Problem
    from keda_py.validation.report import Report

DESCRIPTION = (
    "Check manifests as the API server, the admission webhook and the scalers would: schema, KEDA's rules, trigger "
    "metadata, formulas, collisions between the objects of the files. Reads YAML or JSON, Helm's output too."
)
EXAMPLES = (
    ("keda-py validate k8s/", "every manifest below a folder"),
    ("helm template my-release ./chart | keda-py validate -", "what a chart renders"),
    ("keda-py validate --notes app.yaml", "its windows in words: Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week"),
    ("keda-py validate --kubernetes 1.37 k8s/", "also HPAs with minReplicas 0, and what that version would drop"),
    ("keda-py validate --strict --output json app.yaml", "for a pipeline: warnings fail, too"),
)
NOTES = (
    "exit codes: 0 nothing wrong, 1 problems found, 2 wrong usage or a file that cannot be read\n"
    "A warning is switched off by the code behind it: a comment `# keda-py: ignore=CODE` in the file, or the\n"
    "annotation keda-py.dev/ignore: CODE on the object. CHECKS.md explains each."
)
_STYLES: dict[str, Style] = {"error": "error", "warning": "warning", "note": "comment"}


def run(arguments: list[str]) -> int:
    """Print the problems; 1 if there are errors, or with --strict warnings."""
    parser = command_parser("validate", DESCRIPTION, EXAMPLES, notes=NOTES, usage="keda-py validate [FLAGS] FILE ...")
    parser.add_argument("files", metavar="FILE", nargs="+", help="manifest, folder, or - for standard input")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how to print [text]")
    parser.add_argument("--strict", action="store_true", help="warnings fail, too")
    parser.add_argument("--notes", action="store_true", help="tell windows in words, and what a deletion would leave")
    parser.add_argument(
        "--kubernetes", metavar="VERSION", help="check native HPAs, too, as this version takes them: 1.37"
    )
    selected = "that ClusterEnvironments are taken to select, if no manifest has their labels"
    parser.add_argument("--namespaces", default="", metavar="NS,NS", help=selected)
    add_default_values(parser)
    options = parser.parse_args(arguments)
    from keda_py.core.values.kubernetes import parse_supported_version
    from keda_py.validation.report import validate_texts  # heavy: not for --help

    kubernetes = parse_supported_version(options.kubernetes, field="--kubernetes") if options.kubernetes else None
    texts, named = dict(read_texts(options.files)), read_names(options.namespaces)
    defaults = read_default_values(options.default_values)
    report = asyncio.run(validate_texts(texts, kubernetes=kubernetes, named=named, defaults=defaults))
    sys.stdout.write(_json(report) if options.output == "json" else _text(report, notes=options.notes))
    return 1 if any(options.strict or problem.severity == "error" for problem in report.problems) else 0


def _text(report: "Report", *, notes: bool) -> str:
    lines = [_line(problem) for problem in (*(report.notes if notes else ()), *report.problems)]
    return "\n".join([*lines, _summary(report), ""])


def _line(problem: "Problem") -> str:
    place = paint(f"{foreign(problem.file)}:{problem.line}", "heading")
    severity = paint(problem.severity, _STYLES[problem.severity])
    code = f" [{problem.code}]" if problem.code else ""
    template = f" ({foreign(problem.template)})" if problem.template else ""
    return f"{place}: {severity}: {foreign(problem.sentence)}{code}{template}"


def _summary(report: "Report") -> str:
    errors = sum(problem.severity == "error" for problem in report.problems)
    warnings = len(report.problems) - errors
    if not report.objects and not report.problems:
        return "no KEDA objects found"
    counts = ", ".join(_count(number, word) for number, word in ((errors, "error"), (warnings, "warning")) if number)
    return f"{_count(report.objects, 'object')} checked: {counts or 'nothing wrong'}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _json(report: "Report") -> str:
    problems, notes = ([asdict(one) for one in found] for found in (report.problems, report.notes))
    body = {"objects": report.objects, "problems": problems, "notes": notes}
    return json_of(body)
