"""Texts of files -> manifests to preview, read and judged once, as `keda-py validate` does."""

import asyncio
from collections.abc import Mapping

from keda_py.clock import SystemClock
from keda_py.preview.reading.period import earliest
from keda_py.replay.reading.manifests import Source
from keda_py.validation.problems import Problem
from keda_py.validation.report import validate_texts


def read_sources(texts: Mapping[str, str], since: str = "") -> tuple[list[Source], list[Problem]]:
    """The objects of all texts, or the errors that they would be refused for: of such manifests no preview is true.

    They are judged as if they were applied before a period of that `--from`.
    """
    report = asyncio.run(validate_texts(texts, earliest(since, SystemClock().now())))
    errors = [problem for problem in report.problems if problem.severity == "error"]
    if errors:
        return [], errors
    return [
        Source(body=body, ignored=document.ignored, spec=report.release.spec_of(body))
        for document, body in zip(report.documents, report.release.completed, strict=True)
    ], []
