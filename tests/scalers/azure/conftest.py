"""One Azurite per session."""

from collections.abc import Iterator

import pytest

from tests.scalers.servers.azurite import Azurite, run_azurite


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with run_azurite(tmp_path_factory.mktemp("azurite")) as azurite:
        yield azurite
