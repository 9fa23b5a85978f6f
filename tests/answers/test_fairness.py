"""A line in which the tenant that uses least comes next, and places that each tenant has of its own."""

import asyncio
from collections import Counter

from keda_py.answers.fairness import FairLine, TenantPlaces
from tests.waiting import eventually


class Seats:
    """Two seats that all share."""

    def __init__(self) -> None:
        self.taken, self.order = Counter[str](), list[str]()
        self.line = FairLine(self.admit, self.leave, lambda tenant: self.taken[tenant])

    def admit(self, tenant: str, seats: int) -> bool:
        if self.taken.total() + seats > 2:
            return False
        self.taken[tenant] += seats
        return True

    def leave(self, tenant: str, seats: int) -> None:
        self.taken[tenant] -= seats
        self.line.serve()

    async def sit(self, tenant: str, seats: int = 1) -> None:
        await self.line.wait(tenant, seats)
        self.order.append(tenant)


async def test_the_tenant_that_uses_least_is_next_and_its_own_come_in_order() -> None:
    seats = Seats()
    await seats.sit("crowd")
    await seats.sit("crowd")
    async with asyncio.TaskGroup() as tasks:
        for tenant in ("crowd", "crowd", "other"):
            tasks.create_task(seats.sit(tenant))
        await eventually(lambda: seats.line.waiting == 3)
        seats.leave("crowd", 1)
        await eventually(lambda: len(seats.order) == 3)
        seats.leave("crowd", 1)
        seats.leave("other", 1)
    assert seats.order == ["crowd", "crowd", "other", "crowd", "crowd"]
    assert seats.line.tenants == 0


async def test_one_that_gives_up_lets_a_smaller_one_pass_and_gives_back_what_it_got_meanwhile() -> None:
    seats = Seats()
    await seats.sit("a")
    async with asyncio.TaskGroup() as tasks:
        large = tasks.create_task(seats.sit("b", seats=2))
        small = tasks.create_task(seats.sit("b"))
        await eventually(lambda: seats.line.waiting == 2)
        large.cancel()
        await small
        late = tasks.create_task(seats.sit("c"))
        await eventually(lambda: seats.line.waiting == 1)
        seats.leave("a", 1)  # admits `late`, which is cancelled before it runs
        late.cancel()
    assert seats.taken.total() == 1
    assert late.cancelled()


async def test_the_newest_of_the_longest_queue_is_refused() -> None:
    seats, refused = Seats(), list[str]()
    await seats.sit("a", seats=2)

    async def sit(name: str) -> None:
        try:
            await seats.sit(name[0])
        except KeyError:
            refused.append(name)

    async with asyncio.TaskGroup() as tasks:
        for name in ("b", "c first", "c second"):
            tasks.create_task(sit(name))
        await eventually(lambda: seats.line.waiting == 3)
        assert seats.line.longest == "c"
        seats.line.refuse_newest("c", KeyError("full"))
        seats.leave("a", 2)
    assert (refused, seats.order) == (["c second"], ["a", "b", "c"])


async def test_a_tenant_waits_for_its_own_places_alone_and_nothing_is_kept_of_it() -> None:
    places, over = TenantPlaces(), asyncio.Event()

    async def work(tenant: str) -> bool:
        async with places.one(tenant) as waited:
            await over.wait()
        return waited

    async with asyncio.TaskGroup() as tasks:
        first, second, other = (tasks.create_task(work(tenant)) for tenant in ("a", "a", "b"))
        await eventually(lambda: (places.users("a"), places.users("b")) == (2, 1))
        assert (places.is_crowded("a"), places.is_crowded("b")) == (True, False)
        over.set()
    assert (first.result(), second.result(), other.result()) == (False, True, False)
    assert (places.users("a"), places.users("b")) == (0, 0)
