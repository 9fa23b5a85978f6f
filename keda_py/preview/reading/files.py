"""Texts of files -> manifests to preview, read and judged as `keda-py validate` does."""

import asyncio
from collections.abc import Mapping

from keda_py.clock import SystemClock
from keda_py.preview.reading.period import earliest
from keda_py.replay.reading.manifests import Source
from keda_py.validation.documents import read_documents
from keda_py.validation.problems import Problem
from keda_py.validation.release import completed
from keda_py.validation.report import validate_texts


def errors_of(texts: Mapping[str, str], since: str) -> list[Problem]:
    """What would be refused, were it applied before a period of that `--from`: of such manifests no preview is true."""
    report = asyncio.run(validate_texts(texts, earliest(since, SystemClock().now())))
    return [problem for problem in report.problems if problem.severity == "error"]


def sources_of(texts: Mapping[str, str]) -> list[Source]:
    """The objects of all texts, which have no errors."""
    return [
        Source(body=completed(document.body), ignored=document.ignored)
        for file, text in texts.items()
        for document in read_documents(text, file)
    ]
