"""The stage of recorded exchanges: certificates once a session, servers once a test."""

from collections.abc import AsyncIterator

import pytest

from tests.scalers.recorded.stage import Papers, Stage, open_stage


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return Papers(tmp_path_factory.mktemp("papers"))


@pytest.fixture
async def stage(papers: Papers) -> AsyncIterator[Stage]:
    async with open_stage(papers) as stage:
        yield stage
