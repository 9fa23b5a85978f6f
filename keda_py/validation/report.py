"""Texts -> all problems: all of `keda-py validate` except reading files and printing."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keda_py.sdk.building_context import context_to_build_in
from keda_py.validation.checks import Validation
from keda_py.validation.documents import Document, DocumentError, read_documents
from keda_py.validation.problems import Problem
from keda_py.validation.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Result; `objects` counts those that were checked; problems and notes are in the order of files and lines.

    `documents` are all that could be read, and `release.completed` runs parallel to them.
    """

    objects: int
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    documents: tuple[Document, ...]
    release: Release


async def validate_texts(
    texts: Mapping[str, str],
    now: datetime | None = None,
    kubernetes: int | None = None,
    named: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
) -> Report:
    """Check texts by file name, as one release that is applied `now`. Opens no connection.

    With `kubernetes`, a minor version, also what differs by version, native HPAs included. `named` are namespaces that
    ClusterEnvironments are taken to select, `defaults` those of the installation.
    """
    documents: list[Document] = []
    problems: list[Problem] = []
    for file, text in texts.items():
        documents += _readable(text, file, problems)
    validation = Validation(Release(documents, defaults), context_to_build_in(), now, kubernetes, named)
    problems += validation.problems()
    order = {file: index for index, file in enumerate(texts)}

    def place(problem: Problem) -> tuple[int, int]:
        return order[problem.file], problem.line

    return Report(
        objects=validation.objects,
        problems=tuple(sorted(problems, key=place)),
        notes=tuple(sorted(validation.notes(), key=place)),
        documents=tuple(documents),
        release=validation.release,
    )


def _readable(text: str, file: str, problems: list[Problem]) -> Iterator[Document]:
    """Yield the documents before the first unreadable place, which becomes a problem."""
    try:
        yield from read_documents(text, file)
    except DocumentError as error:
        problems.append(Problem(severity="error", file=file, line=error.line, message=str(error)))
