"""Hostile sources; the whole story is told by `tests/hostile/__init__.py`."""

import pytest

from tests.hostile.case import Case
from tests.hostile.cases import OF_SOURCES
from tests.hostile.conftest import Endure


@pytest.mark.parametrize("case", OF_SOURCES, ids=[case.id for case in OF_SOURCES])
async def test_a_hostile_source_harms_nobody_else(case: Case, endure: Endure) -> None:
    await endure(case, OF_SOURCES)
