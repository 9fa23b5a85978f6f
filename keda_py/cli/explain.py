"""`keda-py explain NS/NAME`: why an object was scaled or not, and what comes next, as the operator tells it."""

import argparse
import asyncio
import sys
from dataclasses import dataclass
from typing import Any

import orjson

from keda_py.cli.parsers import command_parser
from keda_py.errors import ConfigError

DESCRIPTION = (
    "Tell why a ScaledObject woke, slept or stayed as it is, or why a ScaledJob created Jobs or none: the last values "
    "of its triggers, the changes of reason since the operator started (50 at most), cooldown left, next poll and next "
    "planned change."
)
EXAMPLES = (
    ("keda-py explain shop/checkout", "ScaledObject checkout of namespace shop"),
    ("keda-py explain scaledjob/shop/import", "ScaledJob import of the same namespace"),
    ("keda-py explain shop/checkout --output json", "the same for a program"),
)
NOTES = (
    "The operator answers through the API server, under the APIService v1alpha1.insight.keda-py.dev;\n"
    "who asks needs the verb get on scaledobjects.insight.keda-py.dev, or scaledjobs."
)
ATTEMPTS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The object that is meant; `resource` is a plural."""

    resource: str
    namespace: str
    name: str


def run(arguments: list[str]) -> int:
    """Print the explanation."""
    options = _parse(arguments)
    insight = asyncio.run(_ask(options.kubeconfig, _read(options.object)))
    if options.output == "json":
        sys.stdout.buffer.write(orjson.dumps(insight, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        return 0
    from keda_py.explanation.page import print_explanation

    print_explanation(insight)
    return 0


def _read(text: str) -> Named:
    """[[KIND/]NAMESPACE/]NAME. Raises ConfigError."""
    from keda_py.apis.kinds import KINDS

    plurals = {word: kind.plural for kind in KINDS if kind.has_triggers for word in (kind.singular, *kind.short_names)}
    parts = text.split("/")
    kind, namespace, name, *rest = ["scaledobject", "default"][: max(3 - len(parts), 0)] + parts
    if kind not in plurals or not namespace or not name or rest:
        raise ConfigError(
            f"{text!r} names no object; write NAMESPACE/NAME, or scaledjob/NAMESPACE/NAME for a ScaledJob"
        )
    return Named(resource=plurals[kind], namespace=namespace, name=name)


async def _ask(kubeconfig: str, named: Named) -> dict[str, Any]:
    """The insight as served. A replica that does not lead says so, and another one is asked. Raises KubeError."""
    from keda_py.clock import SystemClock
    from keda_py.errors import NotFound, Unavailable
    from keda_py.external_metrics.discovery import INSIGHT, JOB_INSIGHT
    from keda_py.kube.client import KubeClient
    from keda_py.kube.transport import Request

    api = JOB_INSIGHT if named.resource == JOB_INSIGHT.resource else INSIGHT
    path = api.root + api.path.format(namespace=named.namespace, name=named.name)
    async with KubeClient(SystemClock(), kubeconfig) as client:
        for attempt in range(ATTEMPTS):
            try:
                return await client.send(Request(method="GET", path=path, resource=api.resource))
            except NotFound as error:
                if named.name in str(error).partition("not found")[0]:
                    raise
                remedy = "run the operator with --register, or create that APIService as the chart does"
                raise ConfigError(f"this cluster has no APIService {api.service_name}; {remedy}") from None
            except Unavailable as error:
                if error.status != 503 or attempt + 1 == ATTEMPTS:
                    raise
                await asyncio.sleep(0.2)
    raise AssertionError("not reached: the last attempt returns or raises")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("explain", DESCRIPTION, EXAMPLES, notes=NOTES, usage="keda-py explain [FLAGS] NS/NAME")
    add = parser.add_argument
    add("object", metavar="NS/NAME", help="a ScaledObject, or scaledjob/NS/NAME; without NS/ in namespace default")
    add("--kubeconfig", default="", metavar="FILE", help="of the cluster [as kubectl finds it]")
    add("-o", "--output", choices=("text", "json"), default="text", help="how to print [text]")
    return parser.parse_args(arguments)
