"""`keda-py check-trigger FILE`: does this trigger work? Built and read once from here, without scaling anything."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from keda_py.cli.parsers import COMPLETION, command_parser, completed_by
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.check_trigger.trial import MetricTrial, TriggerTrial
    from keda_py.core.spec import TriggersSpec
    from keda_py.kube.resources import Obj

DESCRIPTION = (
    "Build the triggers of a ScaledObject or ScaledJob as the operator would, read each once from this machine, and "
    "print value, target, activity and time, or what is wrong. Nothing is scaled and nothing is written."
)
EXAMPLES = (
    ("keda-py check-trigger scaledobject.yaml secret.yaml", "with the credentials in the second file"),
    ("keda-py check-trigger app.yaml --trigger 1 --kubeconfig ~/.kube/config", "credentials from a cluster"),
    ("helm template app | keda-py check-trigger - --name web", "one of several objects"),
)
NOTES = (
    "Without --kubeconfig only the files are known: a TriggerAuthentication, Secret or ConfigMap that they lack is\n"
    "told as missing. Exit code: 0 all work, 1 one does not, 2 wrong usage."
)
_KINDS = ("ScaledObject", "ScaledJob")


def run(arguments: list[str]) -> int:
    """Print the result of each trigger."""
    options = _parse(arguments)
    with _quiet():
        answers = asyncio.run(_try(options))
    if options.output == "json":
        from keda_py.terminal.foreign import write_json

        write_json([asdict(answer) for answer in answers])
    else:
        _print(answers)
    return 0 if all(answer.works for answer in answers) else 1


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the operator's log: the command prints the same facts itself."""
    ours = logging.getLogger("keda_py")
    before = ours.level
    ours.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        ours.setLevel(before)


async def _try(options: argparse.Namespace) -> "Sequence[TriggerTrial]":
    from keda_py.check_trigger.references import with_references  # heavy: not for --help
    from keda_py.check_trigger.trial import try_triggers

    documents = _read(options.files)
    subject = _choose(documents, options.name)
    namespace = subject["metadata"].get("namespace") or options.namespace
    subject["metadata"]["namespace"] = namespace
    spec = _spec(subject)
    indexes = range(len(spec.triggers)) if options.trigger is None else [_index(options.trigger, spec)]
    if not options.kubeconfig:
        return await try_triggers(spec, indexes, await with_references(subject, documents, namespace, _find_nothing))
    from keda_py.clock import SystemClock
    from keda_py.kube.client import KubeClient

    async with KubeClient(SystemClock(), options.kubeconfig) as client:
        objects = await with_references(subject, documents, namespace, _Cluster(client).fetch)
    return await try_triggers(spec, indexes, objects)


class _Cluster:
    """Cluster from which credentials that the files lack are fetched."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def fetch(self, resource: Any, namespace: str, name: str) -> "Obj | None":
        """Raises KubeError."""
        from keda_py.errors import NotFound

        try:
            live: Obj = await self._client.get(resource.named(namespace, name))
        except NotFound:
            return None
        return live


async def _find_nothing(resource: Any, namespace: str, name: str) -> None:
    """Find nothing: no cluster may be asked."""


def _read(files: Sequence[str]) -> "list[Obj]":
    from keda_py.cli.manifests import read_texts
    from keda_py.validation.documents import read_documents

    return [document.body for name, text in read_texts(files) for document in read_documents(text, name)]


def _choose(documents: "Sequence[Obj]", name: str) -> "Obj":
    """Return the object of that name, or the only one with triggers. Raises ConfigError."""
    found = [document for document in documents if document.get("kind") in _KINDS]
    chosen = [one for one in found if not name or one["metadata"]["name"] == name]
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(one["metadata"]["name"] for one in found) or "none"
    raise ConfigError(f"--name: say which ScaledObject or ScaledJob is meant; the files have: {names}", field="name")


def _spec(subject: "Obj") -> "TriggersSpec":
    from keda_py.core.jobs.spec import JOBS_AS_WRITTEN
    from keda_py.core.spec import AS_WRITTEN

    return AS_WRITTEN.read(subject) if subject["kind"] == "ScaledObject" else JOBS_AS_WRITTEN.read(subject)


def _index(index: int, spec: "TriggersSpec") -> int:
    if index < len(spec.triggers):
        return index
    raise ConfigError(f"--trigger: {index} is too high; triggers are counted from 0 to {len(spec.triggers) - 1}")


def _print(answers: "Sequence[TriggerTrial]") -> None:
    from keda_py.terminal.console import console_of, tell

    console = console_of(sys.stdout)
    for answer in answers:
        tell(console, f"trigger {answer.index}, {answer.type}", style="bold")
        for label, text in _lines(answer):
            tell(console, text, indent=f"  {label:<8}", style="red" if label == "error" else "")


def _lines(answer: "TriggerTrial") -> list[tuple[str, str]]:
    lines = [("error", answer.error)] if answer.error else []
    for one in answer.measured:
        lines += _metric_lines(one)
    lines += [("metric", f"{one}: the HPA reads it by itself") for one in answer.by_hpa]
    return [*lines, *(("missing", text) for text in answer.troubles), ("took", f"{answer.seconds:.2f} s in all")]


def _metric_lines(one: "MetricTrial") -> list[tuple[str, str]]:
    lines = [("metric", one.metric)]
    if one.error:
        return [*lines, ("error", one.error), *_slow_lines(one)]
    note = f" ({one.note})" if one.note else ""
    active = f"{'yes' if one.active else 'no'} (activation value {one.activation:g})"
    value = "" if one.value is None else f"{one.value:g}"
    return [
        *lines,
        ("value", f"{value}{note}"),
        ("target", f"{one.target:g} ({one.metric_type})"),
        ("active", active),
        *_slow_lines(one),
    ]


def _slow_lines(one: "MetricTrial") -> list[tuple[str, str]]:
    """Warn of steps that took more than half of their time-out: on a busier day they will exceed it."""
    if one.seconds <= one.longest / 2:
        return []
    own = "`timeout` in the trigger's metadata, as 30s, or " if one.may_say else ""
    took = f"{one.seconds:.2f} s, where {one.longest:g} s are the most"
    return [("slow", f"{took}: a longer one is set by {own}KEDA_HTTP_DEFAULT_TIMEOUT; KEDA may have no such limit")]


def _parse(arguments: list[str]) -> argparse.Namespace:
    usage = "keda-py check-trigger FILE... [FLAGS]"
    parser = command_parser("check-trigger", DESCRIPTION, EXAMPLES, notes=NOTES, usage=usage)
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="manifests: file, folder, or - for standard input")
    add("--trigger", type=int, metavar="N", help="that trigger alone, counted from 0 [all]")
    add("--name", default="", help="which object, where the files have several")
    place = add("-n", "--namespace", default="default", help="of objects that name none [default]")
    completed_by(place, COMPLETION, "namespaces")
    add("--kubeconfig", default="", metavar="FILE", help="fetch what the files lack from this cluster")
    add("-o", "--output", choices=("text", "json"), default="text", help="[text]")
    return parser.parse_args(arguments)
