"""The room for answers is shared: no tenant takes it all, none is shut out, and none of it is lost."""

import asyncio
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.answers.ledger import MIB, MOST_WAITING, ByteBudget, NoRoom

ROOM = 64 * MIB


def filled(tenants: int, size: int = MIB // 4, *, growing: bool = True) -> ByteBudget:
    """Let tenants take all they can get."""
    ledger, taken = ByteBudget(ROOM), True
    while taken:
        taken = sum(ledger.try_take(f"hostile-{number}", size, growing=growing) for number in range(tenants)) > 0
    return ledger


@pytest.mark.parametrize("tenants", [1, 2, 5, 20])
def test_tenants_that_take_all_they_can_leave_as_much_for_the_next(tenants: int) -> None:
    ledger = filled(tenants)
    assert ROOM - ledger.held >= ROOM // (tenants + 1) - MIB
    assert ledger.try_take("shop", MIB)


def test_one_tenant_alone_has_a_third_of_the_room_for_new_answers_and_half_of_it_to_grow() -> None:
    ledger = filled(1, growing=False)
    assert ROOM // 3 - MIB < ledger.held <= ROOM // 3
    assert ledger.try_take("hostile-0", MIB, growing=True)
    assert ROOM // 2 - MIB < filled(1).held <= ROOM // 2


def test_answers_of_unknown_length_always_leave_their_tenant_room_to_let_one_grow() -> None:
    for tenants in range(1, 21):
        ledger = filled(tenants, 64 * 1024, growing=False)
        assert ledger.try_take("hostile-0", MIB - 64 * 1024, growing=True), tenants


async def test_who_finds_no_room_waits_until_some_is_given_back() -> None:
    ledger = filled(1)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(ledger.take("hostile-0", MIB))
        await asyncio.sleep(0)
        assert not waiting.done()
        ledger.give_back("hostile-0", 16 * MIB)
    ledger.give_back("hostile-0", MIB)


async def test_nobody_overtakes_in_a_tenants_own_queue_and_what_grows_comes_first() -> None:
    ledger, order = ByteBudget(ROOM), list[str]()
    assert ledger.try_take("shop", ROOM // 3)

    async def take(name: str, size: int, *, growing: bool = False) -> None:
        await ledger.take("shop", size, growing=growing)
        order.append(name)

    async with asyncio.TaskGroup() as tasks:
        for name, size, growing in (("large", 20 * MIB, False), ("small", 1, False), ("grown", 30 * MIB, True)):
            tasks.create_task(take(name, size, growing=growing))
        await asyncio.sleep(0)
        assert order == []
        ledger.give_back("shop", ROOM // 3)
        await asyncio.sleep(0)
        assert order == ["grown"]
        ledger.give_back("shop", 30 * MIB)
    assert order == ["grown", "large", "small"]


async def test_a_queue_of_one_tenant_is_no_queue_for_another() -> None:
    ledger = filled(1)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(ledger.take("hostile-0", MIB))
        await asyncio.sleep(0)
        assert ledger.try_take("shop", MIB)
        waiting.cancel()


async def test_when_too_many_of_a_tenant_wait_the_next_is_refused_at_once() -> None:
    ledger = filled(1)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(ledger.take("hostile-0", MIB)) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(NoRoom):
            await ledger.take("hostile-0", MIB)
        for one in waiting:
            one.cancel()


async def test_where_many_tenants_wait_fewer_of_each_may() -> None:
    ledger = filled(40)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(ledger.take(f"hostile-{number % 40}", 4 * MIB)) for number in range(40 * 8)]
        await asyncio.sleep(0)
        with pytest.raises(NoRoom):
            await ledger.take("hostile-0", MIB)
        for one in waiting:
            one.cancel()


async def test_who_gives_up_leaves_the_queue_and_at_the_instant_of_being_let_in_the_room() -> None:
    ledger = filled(1)
    before = ledger.held
    async with asyncio.TaskGroup() as tasks:
        first, second = (tasks.create_task(ledger.take("hostile-0", MIB)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        ledger.give_back("hostile-0", 16 * MIB)
        second.cancel()
    assert ledger.held == before - 16 * MIB
    ledger.give_back("hostile-0", ledger.held)
    assert ledger.try_take("hostile-0", ROOM // 3)


def test_what_is_here_already_is_counted_without_asking() -> None:
    ledger = ByteBudget(ROOM)
    with ledger.holding("hostile", ROOM):
        assert not ledger.try_take("hostile", 1)
    assert ledger.held == 0


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(1, 3 * MIB), st.booleans(), st.booleans()),
        min_size=20,
        max_size=200,
    )
)
def test_whatever_is_taken_and_given_back_the_room_is_never_exceeded_and_never_lost(steps: list) -> None:
    ledger, held = ByteBudget(8 * MIB), defaultdict[str, list[int]](list)
    for tenant, size, growing, back in steps:
        if back and held[tenant]:
            ledger.give_back(tenant, held[tenant].pop())
        elif ledger.try_take(tenant, size, growing=growing):
            held[tenant].append(size)
        assert 0 <= ledger.held == sum(map(sum, held.values())) <= 8 * MIB
        assert all(sum(sizes) <= 4 * MIB for sizes in held.values())
    for tenant, sizes in held.items():
        for size in sizes:
            ledger.give_back(tenant, size)
    assert ledger.held == 0
    assert not ledger._held
