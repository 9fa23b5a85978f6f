"""`keda-py preview` from beginning to end: let time pass over what was read, and print."""

import asyncio
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keda_py.clock import SystemClock
from keda_py.core.defaults.bodies import installation_body
from keda_py.core.values.kubernetes import SCALE_TO_ZERO
from keda_py.core.values.kubernetes import since as kubernetes_since
from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS
from keda_py.preview.pages.body import body_of
from keda_py.preview.pages.differences import differences, document_of, text_of
from keda_py.preview.pages.table import page
from keda_py.preview.period import Period, earliest, period_of, refuse_past
from keda_py.replay.previews import Preview, preview
from keda_py.replay.reading.cluster import ClusterReading
from keda_py.replay.reading.current_state import with_current_counts
from keda_py.replay.reading.manifests import ManifestSource, read_plans
from keda_py.terminal.console import console_of
from keda_py.terminal.foreign import json_of, printable
from keda_py.validation.problems import Problem
from keda_py.validation.report import validate_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions:
    """The flags. Without `since` and `timezone` a preview begins now, in the zone that most schedules are written in.

    `live`: it is of a cluster. `namespaces` are those that ClusterEnvironments of files are taken to select. With
    `hpas` native HPAs are read, too, by a version that lets them go to zero. `defaults` are those of the installation;
    None: a cluster says them, files have none.
    """

    days: int = 7
    since: str = ""
    timezone: str = ""
    live: bool = False
    namespaces: tuple[str, ...] = ()
    hpas: bool = False
    defaults: Mapping[str, Any] | None = None

    def period(self, sources: Sequence[ManifestSource]) -> Period:
        """Read the period. Raises ConfigError."""
        now = SystemClock().now()
        found = period_of(sources, now, days=self.days, since=self.since, timezone=self.timezone)
        if not self.live:
            return found
        refuse_past(found.begins, now, self.since)
        return replace(found, present=min(found.begins, now))


def read_sources(
    texts: Mapping[str, str], wanted: PreviewOptions | None = None
) -> tuple[list[ManifestSource], list[Problem]]:
    """Read the objects of all texts, or the errors for which they would be refused: no preview of such is true.

    They are judged as if they were applied before the period.
    """
    wanted = wanted or PreviewOptions()
    kubernetes = kubernetes_since(SCALE_TO_ZERO) if wanted.hpas else None
    applied = earliest(wanted.since, SystemClock().now())
    report = asyncio.run(validate_texts(texts, applied, kubernetes, defaults=wanted.defaults))
    errors = [problem for problem in report.problems if problem.severity == "error"]
    if errors:
        return [], errors
    read = [
        ManifestSource(body=body, ignored=document.ignored, spec=report.release.spec_of(body))
        for document, body in zip(report.documents, report.release.completed, strict=True)
        if wanted.hpas or body["kind"] != HORIZONTAL_POD_AUTOSCALERS.kind
    ]
    if wanted.defaults is not None:
        read.append(ManifestSource(body=installation_body(wanted.defaults)))
    return read, []


async def read_cluster(
    kubeconfig: str, namespace: str, wanted: PreviewOptions
) -> tuple[list[ManifestSource], list[str]]:
    """Read what is to be previewed, and what may not be read; `namespace` "": all. Raises ConfigError, KubeError."""
    from keda_py.kube.client import KubeClient  # heavy: not for files

    async with KubeClient(SystemClock(), kubeconfig) as client:
        reading = ClusterReading(client, namespace, hpas=wanted.hpas, defaults=wanted.defaults)
        return await reading.read(), reading.unread


def show(sources: Sequence[ManifestSource], wanted: PreviewOptions, output: str, unread: Sequence[str] = ()) -> int:
    """Print the preview; 1 if something cannot be previewed. Raises ConfigError."""
    period = wanted.period(sources)
    found = _look_ahead(sources, period, wanted.namespaces)
    found = replace(found, problems=(*unread, *found.problems))
    if output == "table":
        console = console_of(sys.stdout)
        console.print(page(found, period.zone, console.width), soft_wrap=True)
    else:
        sys.stdout.buffer.write(_WRITERS[output](found, period))
        _print_problems(found)
    return 1 if found.problems else 0


def compare(old: Sequence[ManifestSource], new: Sequence[ManifestSource], wanted: PreviewOptions, output: str) -> int:
    """Print what differs; 1 if something does, or cannot be previewed. Raises ConfigError."""
    period = wanted.period([*old, *new])
    before, after = (_look_ahead(one, period, wanted.namespaces) for one in (old, new))
    found = differences(before, after, period.zone)
    sys.stdout.buffer.write(_dump(document_of(found)) if output == "json" else text_of(found).encode())
    for one in (before, after):
        _print_problems(one)
    return 1 if found or before.problems or after.problems else 0


def _look_ahead(sources: Sequence[ManifestSource], period: Period, namespaces: Collection[str]) -> Preview:
    plans = read_plans(sources, period.begins, period.ends, namespaces)
    if (present := period.present) is not None:
        plans = [with_current_counts(plan, sources, present) for plan in plans]
    return preview(plans, period.begins, period.ends, present)


def _print_problems(found: Preview) -> None:
    """Write problems and warnings to stderr: a document for a program has no place for what it lacks."""
    for problem in found.problems:
        sys.stderr.write(f"not previewed: {printable(problem)}\n")
    for warning in found.warnings:
        sys.stderr.write(f"warning: {printable(warning)}\n")


def _json(found: Preview, period: Period) -> bytes:
    return _dump(body_of(found, period.zone))


def _dump(body: Any) -> bytes:
    return json_of(body).encode()


def _svg(found: Preview, period: Period) -> bytes:
    from keda_py.preview.pages.svg import svg_of

    return svg_of(found, period.zone)


def _ics(found: Preview, period: Period) -> bytes:
    from keda_py.preview.pages.ics import ics_of

    return ics_of(found)


_WRITERS: Mapping[str, Callable[[Preview, Period], bytes]] = {"json": _json, "svg": _svg, "ics": _ics}
