"""A world whose operator dies again and again."""

import pytest

from tests.operator.process.lives import Lives, Sources
from tests.worlds.world import World


@pytest.fixture
def lives(quiet_world: World) -> Lives:
    return Lives(quiet_world)


@pytest.fixture
def sources(quiet_world: World) -> Sources:
    return Sources(quiet_world)
