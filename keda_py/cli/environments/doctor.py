"""`keda-py doctor`: what fights with sleep and scaling, and the exact lines that end it. It only reads."""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from keda_py.cli.environments.parsers import place_flags
from keda_py.cli.parsers import command_parser
from keda_py.cli.text import Style, foreign, paint
from keda_py.terminal.foreign import json_of

if TYPE_CHECKING:
    from keda_py.doctor.diagnosis import Diagnosis

DESCRIPTION = (
    "Find what fights with the sleep and the scaling of members, name the object, and print the lines to add to it: "
    "Argo CD's Applications, Flux's Kustomizations and HelmReleases, other HPAs, PodDisruptionBudgets, admission "
    "webhooks, ResourceQuotas, and controllers that own members. Only reads; no operator needs to run."
)
EXAMPLES = (
    ("keda-py doctor", "the members of the namespace that kubectl would use"),
    ("keda-py doctor -A", "those of the cluster"),
    ("keda-py doctor -A --ci", "fail where something fights, or could not be looked at"),
    ("keda-py doctor -n shop -o json", "the same for a program"),
)
NOTES = "exit codes: 0 done, 1 with --ci if something fights or is unknown (a note is neither), 2 wrong usage"
SHOWN = 10
_STYLES: dict[str, Style] = {"fights": "error", "unknown": "warning", "note": "comment"}


def run(arguments: list[str]) -> int:
    """Print the diagnoses; 1 with --ci if there is one that is more than a note."""
    options = _parse(arguments)
    found = asyncio.run(_examine(options))
    sys.stdout.write(json_of([asdict(one) for one in found]) if options.output == "json" else _text(found))
    return int(options.ci and any(one.urgency != "note" for one in found))


def _parse(arguments: list[str]) -> argparse.Namespace:
    usage = "keda-py doctor [-n NS | -A] [--ci] [-o text|json]"
    parser = command_parser("doctor", DESCRIPTION, EXAMPLES, notes=NOTES, usage=usage)
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="the members of every namespace")
    parser.add_argument("--ci", action="store_true", help="exit 1 if something fights, or could not be looked at")
    place_flags(parser)
    options = parser.parse_args(arguments)
    if options.all_namespaces and options.namespace:
        parser.error("-A is for every namespace; leave it out, or -n")
    return options


async def _examine(options: argparse.Namespace) -> "Sequence[Diagnosis]":
    from keda_py.clock import SystemClock
    from keda_py.doctor.cluster import read_objects
    from keda_py.doctor.examination import examine
    from keda_py.kube.client import KubeClient
    from keda_py.kube.config import context_namespace

    namespace = "" if options.all_namespaces else options.namespace or context_namespace(options.kubeconfig)
    async with KubeClient(SystemClock(), options.kubeconfig) as client:
        return examine(await read_objects(client.read_only(), namespace))


def _text(found: "Sequence[Diagnosis]") -> str:
    counts = Counter(str(one.urgency) for one in found)
    summary = (
        f"{counts['fights']} {'fights' if counts['fights'] == 1 else 'fight'}, {counts['unknown']} unknown, "
        f"{counts['note']} {'note' if counts['note'] == 1 else 'notes'}"
    )
    return "\n".join([*("\n".join(_block(one)) for one in found), summary, ""])


def _block(one: "Diagnosis") -> Iterator[str]:
    yield f"{paint(one.urgency, _STYLES[one.urgency])}: {paint(foreign(one.object), 'heading')}: {foreign(one.message)}"
    if one.members and one.members != (one.object,):
        more = f" and {len(one.members) - SHOWN} more" if len(one.members) > SHOWN else ""
        yield f"    {paint('members:', 'command')} {foreign(', '.join(one.members[:SHOWN]))}{more}"
    if one.lines:
        yield f"    {paint('add to', 'command')} {foreign(one.add_to)}:"
        yield from (f"        {foreign(line)}" for line in one.lines.splitlines())
    if one.remedy:
        yield f"    {paint('remedy:', 'command')} {foreign(one.remedy)}"
