"""PERFORMANCE.md: behind each table stands how it was taken, so that a reader can repeat it."""

import re  # noqa: TID251 - a constant pattern over our own document

import pytest

from tests.bench.__main__ import BENCHES
from tests.places import ROOT

PARTS = (ROOT / "PERFORMANCE.md").read_text(encoding="utf-8").split("\n\n")
TABLES = {part.partition("\n")[0]: PARTS[at + 1] for at, part in enumerate(PARTS) if part.startswith("|")}
"""Head of a table -> the paragraph behind it."""


@pytest.mark.parametrize("head", TABLES)
def test_a_table_says_which_processes_cluster_commit_and_command_it_is_of(head: str) -> None:
    told = TABLES[head].replace("\n", " ")
    processes, cluster, commit, *commands = told.removeprefix("Taken: ").split(";")
    assert told.startswith("Taken: ")
    assert "process" in processes or "command" in processes
    assert "cluster" in cluster or "API server" in cluster
    assert re.search(r"\b[0-9a-f]{8}\b|each commit", commit)
    assert "`" in "".join(commands)


def test_the_commands_name_benches_that_there_are() -> None:
    named = {word for text in TABLES.values() for word in re.findall(r"tests\.bench\s([a-z]+)", text)}
    assert named
    assert named <= set(BENCHES)
