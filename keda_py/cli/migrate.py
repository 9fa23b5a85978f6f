"""`keda-py migrate check`: what would be different if keda-py took over from KEDA. It only reads."""

import argparse
import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from keda_py.cli.parsers import command_parser
from keda_py.cli.text import Style, foreign, paint
from keda_py.terminal.foreign import json_of

if TYPE_CHECKING:
    from keda_py.kube.resources import Obj
    from keda_py.migration.findings import Finding
    from keda_py.migration.installation import Installation

DESCRIPTION = (
    "Look at an installed KEDA, or at manifests, and say what would be different with keda-py: trigger types without a "
    "scaler, objects that would be refused, HPAs, flags, who owns the CRDs, who serves the metrics API. Only reads."
)
EXAMPLES = (
    ("keda-py migrate check", "the cluster of the current kubeconfig"),
    ("keda-py migrate check k8s/ keda-values-rendered.yaml", "files and folders, no cluster"),
    ("kubectl get scaledobjects -A -o yaml | keda-py migrate check -", "what another user may read"),
)
NOTES = "exit codes: 0 nothing changes, 1 something changes, 2 something blocks the move, or wrong usage"
SHOWN = 5
_STYLES: dict[str, Style] = {"blocks": "error", "changes": "warning", "fine": "comment"}


def run(arguments: list[str]) -> int:
    """Print the findings; 2 if one blocks, 1 if one changes something."""
    options = _parse(arguments)
    from keda_py.migration.check import check_migration  # heavy: not for --help

    installation = _files(options.files) if options.files else asyncio.run(_cluster(options.kubeconfig))
    findings = asyncio.run(check_migration(installation, read_keda_flags))
    sys.stdout.write(_json(findings) if options.output == "json" else _text(findings, installation, options.all))
    worst = {finding.severity for finding in findings}
    return 2 if "blocks" in worst else 1 if "changes" in worst else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    usage = "keda-py migrate check [FLAGS] [FILE ...]"
    parser = command_parser("migrate", DESCRIPTION, EXAMPLES, notes=NOTES, usage=usage)
    add = parser.add_argument
    add("action", choices=("check",), metavar="check", help="the one thing that there is to do")
    add("files", metavar="FILE", nargs="*", help="manifest, folder, or - for standard input [the cluster]")
    add("--kubeconfig", default="", metavar="FILE", help="of the cluster [as kubectl finds it]")
    add("--all", action="store_true", help="print what is fine, too")
    add("-o", "--output", choices=("text", "json"), default="text", help="how to print [text]")
    return parser.parse_intermixed_args(arguments)


def read_keda_flags(arguments: Sequence[str]) -> tuple[Mapping[str, Sequence[str]], Mapping[str, str]]:
    """Parse the command line of a KEDA Deployment. Raises ConfigError."""
    from keda_py.cli.flags import read_flags
    from keda_py.cli.operator import PAGE

    given = read_flags(arguments, PAGE)
    return given.values, given.ignored


def _files(files: list[str]) -> "Installation":
    """Read the files; each unreadable place becomes a finding that blocks. Raises ConfigError for a wrong path."""
    from keda_py.cli.manifests import read_texts
    from keda_py.migration.installation import from_bodies

    unread: dict[str, str] = {}
    texts = read_texts(files, undecodable=unread)
    bodies = [body for name, text in texts for body in _bodies(name, text, unread)]
    for place, reason in unread.items():
        sys.stderr.write(f"keda-py migrate: {foreign(f'{place}: {reason}')}\n")
    return from_bodies(bodies, unread)


def _bodies(name: str, text: str, unread: dict[str, str]) -> "Iterator[Obj]":
    """Yield the objects before the first unreadable place, which is put into `unread`."""
    from keda_py.validation.documents import DocumentError, read_documents

    try:
        for document in read_documents(text, name):
            yield document.body
    except DocumentError as error:
        unread[f"{name}:{error.line}"] = str(error)


async def _cluster(kubeconfig: str) -> "Installation":
    from keda_py.clock import SystemClock
    from keda_py.kube.client import KubeClient
    from keda_py.migration.listing import read_cluster

    async with KubeClient(SystemClock(), kubeconfig) as client:
        return await read_cluster(client)


def _text(findings: Sequence["Finding"], installation: "Installation", show_all: bool) -> str:
    shown = [finding for finding in findings if show_all or finding.severity != "fine"]
    grouped: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for finding in shown:
        grouped[finding.severity, finding.message, finding.remedy].append(finding.object)
    blocks = [_block(*key, names) for key, names in grouped.items()]
    return "\n".join([*blocks, _summary(findings, installation, show_all), ""])


def _block(severity: str, message: str, remedy: str, names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    objects = foreign(", ".join(names[:SHOWN]) + more)
    lines = [f"{paint(severity, _STYLES[severity])}: {paint(objects, 'heading')}: {foreign(message)}"]
    return "\n".join([*lines, f"    {paint('remedy:', 'command')} {foreign(remedy)}"] if remedy else lines)


def _summary(findings: Sequence["Finding"], installation: "Installation", show_all: bool) -> str:
    from keda_py.kube.resources import KEDAS

    counts = Counter(str(finding.severity) for finding in findings)
    looked_at = sum(len(installation.of(resource)) for resource in KEDAS)
    text = "" if show_all or not counts["fine"] else f" (--all prints {'it' if counts['fine'] == 1 else 'them'})"
    return (
        f"{_numbered(looked_at, 'KEDA object', 'KEDA objects')} looked at: "
        f"{_numbered(counts['blocks'], 'finding blocks', 'findings block')} the move, "
        f"{_numbered(counts['changes'], 'changes', 'change')} something, "
        f"{_numbered(counts['fine'], 'is', 'are')} fine{text}"
    )


def _numbered(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _json(findings: Sequence["Finding"]) -> str:
    return json_of([asdict(finding) for finding in findings])
