"""Hostile objects; the whole story is told by `tests/hostile/__init__.py`."""

import pytest

from tests.hostile.case import Case
from tests.hostile.cases import OF_OBJECTS
from tests.hostile.conftest import Endure


@pytest.mark.parametrize("case", OF_OBJECTS, ids=[case.id for case in OF_OBJECTS])
async def test_a_hostile_object_harms_nobody_else(case: Case, endure: Endure) -> None:
    await endure(case, OF_OBJECTS)
