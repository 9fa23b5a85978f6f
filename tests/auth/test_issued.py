"""Credentials are cached for a minute, and bounded per tenant."""

import pytest

from keda_py.auth.lookup.credential_cache import MOST_OF_TENANT, SHARED_SECONDS, Issued
from keda_py.clock import FakeClock
from keda_py.net.credential_keys import CredentialKey, credential_digest
from keda_py.testing import A_SATURDAY


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(A_SATURDAY)


def question(tenant: str, number: int) -> CredentialKey:
    return CredentialKey(tenant=tenant, credential=credential_digest("password"), what=("token", number))


class Issuer:
    """Issuer that counts its requests."""

    asked = 0

    async def __call__(self) -> int:
        self.asked += 1
        return self.asked


async def test_an_answer_serves_for_a_minute(clock: FakeClock) -> None:
    issued, issue = Issued[int](clock), Issuer()
    assert [await issued.get(question("shop", 1), issue) for _ in range(3)] == [1, 1, 1]
    await clock.advance(SHARED_SECONDS)
    assert await issued.get(question("shop", 1), issue) == 2


async def test_a_tenant_that_asks_for_ever_more_drops_its_own_and_no_other_tenants(clock: FakeClock) -> None:
    issued, issue = Issued[int](clock), Issuer()
    await issued.get(question("innocent", 0), issue)
    for number in range(3 * MOST_OF_TENANT):
        await issued.get(question("hostile", number), issue)
    assert len(issued) == MOST_OF_TENANT + 1
    before = issue.asked
    await issued.get(question("innocent", 0), issue)
    assert issue.asked == before


async def test_what_is_over_is_dropped_by_whoever_asks_next(clock: FakeClock) -> None:
    issued, issue = Issued[int](clock), Issuer()
    for number in range(10):
        await issued.get(question("gone", number), issue)
    await clock.advance(SHARED_SECONDS)
    await issued.get(question("shop", 0), issue)
    assert len(issued) == 1
