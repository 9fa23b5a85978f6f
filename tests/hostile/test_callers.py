"""Hostile callers; the whole story is told by `tests/hostile/__init__.py`."""

import pytest

from tests.hostile.case import Case
from tests.hostile.cases import OF_CALLERS
from tests.hostile.conftest import Endure


@pytest.mark.parametrize("case", OF_CALLERS, ids=[case.id for case in OF_CALLERS])
async def test_a_hostile_caller_harms_nobody_else(case: Case, endure: Endure) -> None:
    await endure(case, OF_CALLERS)
