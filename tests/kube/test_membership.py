"""Several active replicas: each has a share, which moves when a replica dies, is cut off or leaves, and no object
ever has two owners.

Leases run on real time here, with short durations; tests wait for conditions.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.leases.lease import Election
from keda_py.kube.leases.lease_record import SHARDS_ANNOTATION, Holder, LeaseSpec, shards_of
from keda_py.kube.leases.membership import Membership
from tests.kube.faulty_server import FaultyServer, Shelf, write_kubeconfig
from tests.waiting import eventually
from tests.worlds.cable import Cable

PATH = "/apis/coordination.k8s.io/v1/namespaces/keda/leases"
NAME = "operator.keda.sh"
SLOTS = tuple(f"{NAME}-shard-{number}" for number in range(3))
KEYS = tuple(f"ScaledObject/default/app-{number}" for number in range(300))
DURATION, DEADLINE, RETRY = TIMES = 2.0, 1.0, 0.2
KEDAS = 15.0, 10.0, 2.0
BUSY_SECONDS = 0.3


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Replica:
    """Replica that works on its share; with `writing` a write of it is under way."""

    identity: str
    cable: Cable
    client: KubeClient
    shards: int
    times: tuple[float, float, float]
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    writing: bool = False

    def __post_init__(self) -> None:
        duration, deadline, retry = self.times
        spec = LeaseSpec(
            namespace="keda",
            name=NAME,
            identity=self.identity,
            duration=duration,
            renew_deadline=deadline,
            retry_period=retry,
            shards=self.shards,
        )
        self.election, self.works = Election(self.client, spec), asyncio.Event()
        self.membership = Membership(self.client, replace(spec, shards=self.shards or 1), lambda: not self.writing)

    def start(self, group: asyncio.TaskGroup) -> None:
        address = f"{self.identity}:6443"
        runs = [self.election.run(self.lead, address)]
        if self.shards:
            runs.append(self.membership.run(asyncio.Event().wait, address))
        self.tasks = [group.create_task(run) for run in runs]

    async def lead(self) -> None:
        self.works.set()
        await asyncio.Event().wait()

    async def kill(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)

    def owned(self) -> set[str]:
        return {key for key in KEYS if self.membership.owns(key)}


class Crew:
    """Replicas started so far; `check` asserts at any time that no key has two owners."""

    def __init__(self, server: FaultyServer, folder: Path, stack: AsyncExitStack, group: asyncio.TaskGroup) -> None:
        self.server, self.folder, self.stack, self.group = server, folder, stack, group
        self.replicas: dict[str, Replica] = {}

    async def start(self, identity: str, shards: int = 3, times: tuple[float, float, float] = TIMES) -> Replica:
        cable = await self.stack.enter_async_context(Cable(self.server.url))
        kubeconfig = write_kubeconfig(self.folder / identity, cable.url)
        client = await self.stack.enter_async_context(KubeClient(SystemClock(), kubeconfig))
        replica = self.replicas[identity] = Replica(identity, cable, client, shards, times)
        replica.start(self.group)
        self.stack.push_async_callback(replica.kill)
        return replica

    def counts(self) -> Counter[str]:
        owners = Counter(key for replica in self.replicas.values() for key in replica.owned())
        assert set(owners.values()) <= {1}
        return owners

    async def all_owned(self, seconds: float = 30.0) -> None:
        await eventually(lambda: len(self.counts()) == len(KEYS), seconds)


@pytest.fixture
def leases(server: FaultyServer) -> Shelf:
    """Create the Leases as the chart does: existing and vacant."""
    shelf = Shelf(server, PATH)
    shelf.serve(NAME)
    for name in SLOTS:
        shelf.serve(name)
        shelf.store({"metadata": {"name": name, "namespace": "keda", "uid": name}, "spec": {}})
    return shelf


@pytest.fixture
async def crew(server: FaultyServer, leases: Shelf, tmp_path: Path) -> AsyncIterator[Crew]:
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        yield Crew(server, tmp_path, stack, group)


async def test_one_alone_owns_everything_and_three_a_third_each(crew: Crew) -> None:
    one = await crew.start("one")
    await crew.all_owned()
    two, three = await crew.start("two"), await crew.start("three")
    await eventually(lambda: crew.counts() and two.owned() and three.owned())
    await crew.all_owned()
    assert all(70 < len(replica.owned()) < 130 for replica in (one, two, three))
    key = min(three.owned())
    assert one.membership.holder_of(key) == Holder(identity="three", address="three:6443")
    assert three.membership.holder_of(key) is None


async def test_what_a_dead_replica_owned_is_owned_again_after_its_lease_and_the_rest_never_pauses(crew: Crew) -> None:
    one, two = await crew.start("one"), await crew.start("two")
    await eventually(lambda: one.owned() and two.owned())
    await crew.all_owned()
    kept, died = one.owned(), now()
    await two.kill()
    del crew.replicas["two"]

    def is_taken() -> bool:
        assert one.owned() >= kept
        return len(one.owned()) == len(KEYS)

    await eventually(is_taken, DURATION + 2.0)
    assert now() - died >= DURATION - RETRY


async def test_with_kedas_defaults_what_a_dead_replica_owned_is_owned_again_in_under_ten_seconds(crew: Crew) -> None:
    crew_of = [await crew.start(name, times=KEDAS) for name in ("one", "two", "three")]
    await eventually(lambda: crew.counts() and all(replica.owned() for replica in crew_of))
    await crew.all_owned()
    died = now()
    await crew_of[2].kill()
    del crew.replicas["three"]
    await crew.all_owned(10.0)
    assert now() - died < 10.0


async def test_one_cut_off_stops_within_its_deadline_and_before_another_one_begins(crew: Crew) -> None:
    one, two = await crew.start("one"), await crew.start("two")
    await eventually(lambda: one.owned() and two.owned())
    await crew.all_owned()
    two.cable.pull()
    cut = now()
    await eventually(lambda: crew.counts() and not two.owned(), DEADLINE + 1.0)
    assert now() - cut <= DEADLINE + RETRY
    await crew.all_owned(DURATION + 2.0)
    two.cable.plug()
    await eventually(lambda: crew.counts() and two.owned())
    await crew.all_owned()


async def test_one_that_leaves_gives_its_slot_back_at_once(crew: Crew) -> None:
    one, two = await crew.start("one"), await crew.start("two")
    await eventually(lambda: one.owned() and two.owned())
    await crew.all_owned()
    two.tasks[1].cancel()
    await two.membership.release()
    await crew.all_owned(DURATION / 2)
    assert len(one.owned()) == len(KEYS)


async def test_a_renewal_that_arrives_late_does_not_keep_the_slot_of_one_that_leaves(crew: Crew, leases: Shelf) -> None:
    one = await crew.start("one")
    await crew.all_owned()
    await one.kill()
    (held,) = (name for name in SLOTS if leases.objects[name]["spec"].get("holderIdentity") == "one")

    async def renewed_meanwhile(request: web.Request) -> web.StreamResponse:
        leases.fault = None
        answer = leases.read(request)
        leases.store(leases.objects[held])
        return answer

    leases.fault = renewed_meanwhile
    await one.membership.release()
    assert not leases.objects[held]["spec"].get("holderIdentity")


async def test_nothing_is_taken_while_a_write_of_its_last_owner_is_under_way(crew: Crew) -> None:
    one = await crew.start("one")
    await crew.all_owned()
    one.writing = True
    two = await crew.start("two")
    await eventually(lambda: len(one.owned()) < len(KEYS))
    await asyncio.sleep(BUSY_SECONDS)
    assert not two.owned()
    one.writing = False
    await crew.all_owned()
    assert two.owned()


async def test_more_replicas_than_slots_wait_and_know_who_owns_what(crew: Crew) -> None:
    for name in ("one", "two", "three", "four"):
        await crew.start(name)
    await eventually(lambda: crew.counts() and sum(bool(each.owned()) for each in crew.replicas.values()) == 3)
    await crew.all_owned()
    (idle,) = (each for each in crew.replicas.values() if each.membership.share is None)
    assert all(idle.membership.holder_of(key) is not None for key in KEYS)


async def test_beside_a_leader_without_shards_none_is_active(crew: Crew, leases: Shelf) -> None:
    alone = await crew.start("alone", shards=0)
    await alone.works.wait()
    await crew.start("one")
    await asyncio.sleep(2 * RETRY + BUSY_SECONDS)
    assert not crew.counts()
    await alone.kill()
    await crew.all_owned()


async def test_a_leader_without_shards_waits_until_no_active_replica_is_left(crew: Crew, leases: Shelf) -> None:
    one = await crew.start("one")
    await crew.all_owned()
    alone = await crew.start("alone", shards=0)
    one.tasks[0].cancel()
    await one.election.release()
    await eventually(lambda: alone.election.is_leader)
    assert leases.objects[NAME]["metadata"]["annotations"][SHARDS_ANNOTATION] == "pending alone"
    assert not alone.works.is_set()
    await eventually(lambda: not one.owned(), DEADLINE + 1.0)
    await alone.works.wait()
    assert SHARDS_ANNOTATION not in leases.objects[NAME]["metadata"]["annotations"]


async def test_a_slot_whose_lease_is_not_there_may_be_in_use_until_it_could_not_be_any_more(
    crew: Crew, leases: Shelf
) -> None:
    for name in SLOTS:
        del leases.objects[name]
    began = now()
    await crew.start("one")
    await crew.all_owned()
    assert now() - began >= DURATION


@pytest.mark.parametrize(
    ("mark", "holder", "count"),
    [
        ("3 one", "one", 3),
        ("3 one", "", 3),
        ("3 one", "two", 0),
        ("pending one", "one", 0),
        ("", "one", 0),
    ],
)
def test_a_holder_allows_as_many_as_it_says_itself(mark: str, holder: str, count: int) -> None:
    lease = {"metadata": {"annotations": {SHARDS_ANNOTATION: mark}}, "spec": {"holderIdentity": holder}}
    assert shards_of(lease) == count
