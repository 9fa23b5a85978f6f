"""Resources that scalers share."""

import asyncio

import pytest

from keda_py.context import SharedResources
from keda_py.errors import ConfigError
from keda_py.scaler import OpenKey, ScalerError
from keda_py.testing import EngineContext, lendings

KEY = OpenKey(what=("pool",))


class Pool:
    """Counts how often it was opened and closed."""

    def __init__(self) -> None:
        self.opened = self.closed = 0

    async def open(self) -> "Pool":
        self.opened += 1
        await asyncio.sleep(0)
        return self

    async def close(self, pool: "Pool") -> None:
        self.closed += 1


async def test_a_resource_is_opened_once_and_closed_with_its_last_user() -> None:
    shared, pool = SharedResources(), Pool()
    taken = await asyncio.gather(*(shared.take(KEY, pool.open, pool.close) for _ in range(5)))
    assert {id(each) for each in taken} == {id(pool)}
    for users_left in (4, 3, 2, 1, 0):
        await shared.give_back(KEY)
        assert pool.closed == (users_left == 0)
    assert pool.opened == 1
    await shared.take(KEY, pool.open, pool.close)
    assert pool.opened == 2


async def test_a_factory_that_fails_leaves_nothing_and_the_next_user_tries_again() -> None:
    shared, pool = SharedResources(), Pool()

    async def fail() -> Pool:
        await asyncio.sleep(0)
        raise ScalerError("not now")

    answers = await asyncio.gather(
        shared.take(KEY, fail, pool.close), shared.take(KEY, pool.open, pool.close), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [ScalerError, Pool]
    await shared.give_back(KEY)
    assert (pool.opened, pool.closed) == (1, 1)


async def test_a_user_that_gives_up_waiting_does_not_take_the_resource_from_the_others() -> None:
    shared, pool = SharedResources(), Pool()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(shared.take(KEY, pool.open, pool.close))
        second = tasks.create_task(shared.take(KEY, pool.open, pool.close))
        await asyncio.sleep(0)
        first.cancel()
    assert second.result() is pool
    await shared.give_back(KEY)
    assert pool.closed == 1


async def test_a_context_gives_back_what_its_scaler_took() -> None:
    pool = Pool()
    async with lendings() as lent:
        first, second = (
            EngineContext(lendings=lent, namespace="default", scaled_object="app", trigger_index=index)
            for index in (0, 1)
        )
        await first.shared(KEY, pool.open, pool.close)
        await second.shared(KEY, pool.open, pool.close)
        await first.aclose()
        await first.aclose()
        assert pool.closed == 0
        await second.aclose()
        assert pool.closed == 1


async def test_a_resource_that_cannot_be_closed_is_forgotten() -> None:
    shared, pool = SharedResources(), Pool()

    async def fail(pool: Pool) -> None:
        raise ScalerError("cannot close")

    await shared.take(KEY, pool.open, fail)
    with pytest.raises(ScalerError):
        await shared.give_back(KEY)
    await shared.take(KEY, pool.open, pool.close)
    assert pool.opened == 2


async def test_a_key_that_says_nothing_of_a_credential_is_refused() -> None:
    shared, pool = SharedResources(), Pool()
    with pytest.raises(ConfigError, match=r"the key of a shared resource is a tuple: make it with .*sharing_key"):
        await shared.take(("redis", "s3cret"), pool.open, pool.close)  # type: ignore[arg-type]
    assert pool.opened == 0
