"""Databases of the session, and an authority that all of them have their certificate from."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from keda_py.net.tls import TlsContexts
from keda_py.sdk.context import SharedContext
from keda_py.testing import shared_context
from tests.certificates import Authority, Pair
from tests.scalers.servers.clickhouse import ClickHouse, clickhouse
from tests.scalers.servers.mariadb import mariadb
from tests.scalers.servers.postgres import postgres
from tests.scalers.servers.restartable import Restartable


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def server_pair(authority: Authority) -> Pair:
    return authority.leaf("database", hosts=("127.0.0.1", "localhost"))


@pytest.fixture(scope="session")
def postgresql(server_pair: Pair) -> Iterator[Restartable]:
    with postgres(server_pair) as server:
        yield server


@pytest.fixture(scope="session")
def mysql(server_pair: Pair) -> Iterator[Restartable]:
    with mariadb(server_pair) as server:
        yield server


@pytest.fixture(scope="session")
def click_house(server_pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    with clickhouse(server_pair, tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


@pytest.fixture
async def trusting(authority: Authority, tmp_path: Path) -> AsyncIterator[SharedContext]:
    """A shared context where --ca-dir holds the authority."""
    (tmp_path / "ca.pem").write_text(authority.cert)
    async with shared_context(tls=TlsContexts(ca_dirs=[str(tmp_path)])) as lent:
        yield lent
