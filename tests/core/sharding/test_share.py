"""No key has two owners at once, whatever is slow, dies or comes back; and a third is a third."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from keda_py.core.sharding.share import Share, Slot, View, owner_of

KEYS = [f"ScaledObject/shop/{name}" for name in ("web", "cart", "mail", "jobs", "bill", "find", "rank", "sync")]
DURATION, DEADLINE = 70, 45
"""In ticks. Clocks run up to a tenth fast or slow."""


def settled(me: int, view: View) -> Share:
    return Share(me=me, views=(view,), agreed=True, published=True)


def others(view: View, *numbers: int) -> dict[int, Slot]:
    return {number: Slot(holder=f"pod-{number}", view=view) for number in numbers}


def test_three_slots_have_a_third_each() -> None:
    counts = Counter(owner_of(f"ScaledObject/default/app-{n}", frozenset({0, 1, 2})) for n in range(3000))
    assert all(900 < counts[slot] < 1100 for slot in range(3))


def test_a_slot_that_leaves_moves_its_keys_alone() -> None:
    before, after = frozenset({0, 1, 2}), frozenset({0, 2})
    for key in (f"app-{n}" for n in range(300)):
        if owner_of(key, before) != 1:
            assert owner_of(key, after) == owner_of(key, before)


def test_with_no_slot_held_a_key_has_no_owner() -> None:
    assert owner_of("app", frozenset()) is None


def test_a_key_belongs_to_the_same_slot_in_every_process() -> None:
    assert [owner_of(key, frozenset({0, 1, 2})) for key in KEYS] == [1, 2, 2, 0, 0, 1, 0, 0]


def test_nothing_is_owned_before_the_first_view_is_stored_and_agreed_on() -> None:
    alone = {0: Slot(holder="pod-0"), 1: Slot()}
    share = Share(me=0).after(alone)
    assert not share.after(alone).agreed
    stored = share.confirmed(frozenset({0}))
    assert not any(stored.owns(key) for key in KEYS)
    assert all(stored.after(alone).owns(key) for key in KEYS)


def test_a_view_that_was_stored_too_late_confirms_nothing() -> None:
    share = Share(me=0).after(others(frozenset(), 0, 1))
    assert not share.confirmed(frozenset({0})).published


def test_what_another_slot_gets_is_given_up_at_once_and_the_rest_is_kept() -> None:
    one, two = frozenset({0}), frozenset({0, 1})
    share = settled(0, one).after(others(one, 0) | others(frozenset(), 1))
    assert {share.owns(key) for key in KEYS if owner_of(key, two) == 1} == {False}
    assert {share.owns(key) for key in KEYS if owner_of(key, two) == 0} == {True}


@pytest.mark.parametrize("theirs", [frozenset(), frozenset({0, 1}), frozenset({0, 1, 2, 3})], ids=str)
def test_what_others_have_is_not_taken_before_they_act_on_the_same_view(theirs: View) -> None:
    three = frozenset({0, 1, 2})
    share = Share(me=2).after(others(theirs, 0, 1, 2)).confirmed(three)
    assert not share.after(others(three, 0, 2) | others(theirs, 1)).agreed
    assert share.after(others(three, 0, 1, 2)).agreed


def test_what_was_given_up_once_is_not_kept_when_the_old_view_comes_back() -> None:
    one, two = frozenset({0}), frozenset({0, 1})
    back = settled(0, one).after(others(two, 0, 1)).after(others(one, 0) | {1: Slot()})
    moved = [key for key in KEYS if owner_of(key, two) == 1]
    assert moved
    assert not any(back.owns(key) for key in moved)
    assert all(back.confirmed(one).after(others(one, 0) | {1: Slot()}).owns(key) for key in moved)


def test_views_that_come_and_go_do_not_pile_up() -> None:
    share = settled(0, frozenset({0}))
    for turn in range(100):
        share = share.after(others(frozenset(), 0, 1 + turn % 3))
    assert len(share.views) <= 4
    assert share.epoch == 100


@dataclass
class Shelf:
    """The API server's slots: `versions` grow with each write, which must name the one it has seen.

    `count` is what the holder of the main Lease says: how many slots there are, 0 while it waits for those that have
    known another number.
    """

    now: float = 0.0
    count: int = 3
    waits_until: float = 0.0
    calm: bool = False
    slots: dict[int, Slot] = field(default_factory=dict)
    versions: Counter[int] = field(default_factory=Counter)

    def change(self, count: int) -> None:
        """Another replica leads, of which it may know another number of slots."""
        self.count, self.waits_until = (count, 0.0) if count == self.count else (0, self.now + DURATION * 1.1)

    def write(self, number: int, slot: Slot, seen: int) -> bool:
        if self.versions[number] != seen:
            return False
        self.slots[number] = slot
        self.versions[number] += 1
        return True


class Replica:
    """One process: `steps` yields wherever others may come between. `count` is how many slots it knows of."""

    def __init__(self, shelf: Shelf, name: str, count: int, chance: random.Random, begin: type[Share]) -> None:
        self.shelf, self.name, self.count, self.chance, self.begin = shelf, name, count, chance, begin
        self.rate = chance.uniform(0.9, 1.1)
        self.share: Share | None = None
        self.renewed = float("-inf")
        self.seen: dict[int, tuple[int, float]] = {}
        self.cut = False

    def now(self) -> float:
        return self.shelf.now * self.rate

    def writes(self, key: str) -> bool:
        return self.share is not None and self.now() - self.renewed < DEADLINE and self.share.owns(key)

    def steps(self) -> Iterator[None]:
        while True:
            yield
            if self.cut:
                continue
            started, slots, versions = self.now(), dict[int, Slot](), dict[int, int]()
            if self.shelf.count != self.count:
                self.share = None
                continue
            yield
            for number in self.chance.sample(range(self.count), self.count):
                slots[number] = self.shelf.slots.get(number, Slot())
                versions[number] = self.shelf.versions[number]
                if self.seen.get(number, (-1, 0.0))[0] != versions[number]:
                    self.seen[number] = (versions[number], self.now())
                yield
            if self.share is None or self.now() - self.renewed >= DEADLINE:
                self.share = None
                yield from self.compete(slots, versions)
            elif slots[self.share.me].holder != self.name:
                self.share = None
            else:
                yield from self.renew(started, slots, versions)

    def has_run_out(self, number: int) -> bool:
        return self.now() - self.seen[number][1] >= DURATION

    def compete(self, slots: dict[int, Slot], versions: dict[int, int]) -> Iterator[None]:
        for number, slot in sorted(slots.items()):
            if slot.holder and slot.holder != self.name and not self.has_run_out(number):
                continue
            started = self.now()
            yield
            if not self.cut and self.shelf.write(number, Slot(holder=self.name), versions[number]):
                self.share, self.renewed = self.begin(me=number), started
            return

    def renew(self, started: float, slots: dict[int, Slot], versions: dict[int, int]) -> Iterator[None]:
        assert self.share is not None
        for number, slot in slots.items():
            if slot.holder and number != self.share.me and self.has_run_out(number):
                yield
                if self.shelf.write(number, Slot(), versions[number]):
                    slots[number] = Slot()
        self.share = self.share.after(slots)
        view = self.share.view
        yield
        if self.cut or not self.shelf.write(self.share.me, Slot(holder=self.name, view=view), versions[self.share.me]):
            return
        yield
        if self.shelf.calm or self.chance.random() < 0.9:  # else the answer is lost
            self.share, self.renewed = self.share.confirmed(view), started


class Replicas:
    """Random joins, deaths, partitions and clocks, and in the end calm: every replica has the same settings."""

    def __init__(self, seed: int, begin: type[Share]) -> None:
        self.chance, self.begin, self.shelf, self.names = random.Random(seed), begin, Shelf(), iter(range(10_000))
        self.running: dict[Replica, Iterator[None]] = {}
        self.before: dict[str, str] = {}
        self.handovers = 0
        for _ in range(4):
            self.start(f"pod-{next(self.names)}")

    def start(self, name: str) -> None:
        count = 3 if self.shelf.calm else self.chance.choice((3, 3, 3, 4))
        replica = Replica(self.shelf, name, count, self.chance, self.begin)
        self.running[replica] = replica.steps()

    def disturb(self) -> None:
        roll, victim = self.chance.random(), self.chance.choice([*self.running, None])
        if roll < 0.006 and len(self.running) < 6:
            self.start(f"pod-{next(self.names)}")
        elif roll < 0.01:
            self.shelf.change(self.chance.choice((3, 3, 4)))
        elif victim is not None and roll < 0.024:
            victim.cut = not victim.cut
        elif victim is not None and roll < 0.036:
            del self.running[victim]
            if roll > 0.03:  # its container restarts
                self.start(victim.name)

    def calm_down(self) -> None:
        self.shelf.calm = True
        self.shelf.change(3)
        self.running = {replica: steps for replica, steps in self.running.items() if replica.count == 3}
        self.start(f"pod-{next(self.names)}")
        for replica in self.running:
            replica.cut = False

    def turn(self) -> None:
        calm = self.shelf.calm
        self.shelf.now += self.chance.expovariate(0.6)
        if not self.shelf.count and self.shelf.now >= self.shelf.waits_until:
            self.shelf.count = 3 if calm else self.chance.choice((3, 4))
        if not calm:
            self.disturb()
        for replica in self.chance.sample(list(self.running), len(self.running)):
            if calm or self.chance.random() < 0.8:
                next(self.running[replica])

    def writers(self, key: str) -> list[str]:
        return [replica.name for replica in self.running if replica.writes(key)]

    def check(self) -> None:
        for key in KEYS:
            writers = self.writers(key)
            assert len(writers) <= 1, (key, writers)
            if writers:
                self.handovers += self.before.get(key) not in (None, writers[0])
                self.before[key] = writers[0]


def run_replicas(seed: int, begin: type[Share] = Share) -> Replicas:
    replicas = Replicas(seed, begin)
    for turns in (2000, 500):
        for _ in range(turns):
            replicas.turn()
            replicas.check()
        if not replicas.shelf.calm:
            replicas.calm_down()
    return replicas


@pytest.mark.parametrize("seed", range(12))
def test_no_key_has_two_writers_at_once_and_in_calm_every_key_has_one(seed: int) -> None:
    replicas = run_replicas(seed)
    assert replicas.handovers
    assert all(replicas.writers(key) for key in KEYS)


def test_without_the_agreement_there_would_be_two_writers() -> None:
    """What happens above is rough enough to show it."""

    class Hasty(Share):
        def after(self, slots):  # type: ignore[no-untyped-def]
            view = frozenset(number for number, slot in slots.items() if slot.holder)
            return replace(self, views=(view,), agreed=True)

    with pytest.raises(AssertionError, match="pod-"):
        run_replicas(0, Hasty)
