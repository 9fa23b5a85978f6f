"""Who leads: one at a time, the next one soon, nobody by a hung request or a stepped clock."""

import asyncio

import pytest

from keda_py.kube.client import KubeClient
from keda_py.kube.lease import Election
from keda_py.kube.lease_record import Holder, LeaseSpec
from tests.kube.faulty_server import FaultyServer, Shelf, hangs, refuses, running, until

PATH = "/apis/coordination.k8s.io/v1/namespaces/keda/leases"
NAME = "operator.keda.sh"


def spec(identity: str, duration: float = 2.0) -> LeaseSpec:
    return LeaseSpec(
        namespace="keda",
        name=NAME,
        identity=identity,
        duration=duration,
        renew_deadline=1.2,
        retry_period=0.1,
    )


@pytest.fixture
def leases(server: FaultyServer) -> Shelf:
    shelf = Shelf(server, PATH)
    shelf.serve(NAME)
    return shelf


async def lead(election: Election) -> None:
    """Compete, and do nothing while leading."""
    await election.run(asyncio.Event().wait, f"{election.identity}:6443")


def now() -> float:
    return asyncio.get_running_loop().time()


def test_the_defaults_are_kedas() -> None:
    defaults = LeaseSpec(namespace="keda", name=NAME, identity="pod")
    assert (defaults.duration, defaults.renew_deadline, defaults.retry_period) == (15.0, 10.0, 2.0)
    assert defaults.request_seconds < defaults.duration - defaults.renew_deadline


async def test_numbers_that_cannot_be_safe_are_refused(client: KubeClient) -> None:
    wrong = LeaseSpec(namespace="keda", name=NAME, identity="pod", duration=5.0)
    with pytest.raises(ValueError, match="does not hold"):
        Election(client, wrong)


async def test_the_first_one_creates_the_lease_and_says_where_it_serves(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    assert not election.is_leader
    async with running(lead(election)):
        await until(lambda: election.is_leader)
    lease = leases.objects[NAME]
    assert lease["spec"]["holderIdentity"] == "one"
    assert lease["spec"]["leaseDurationSeconds"] == 2
    assert lease["metadata"]["annotations"] == {"keda-py.dev/serving-address": "one:6443"}


async def test_the_second_one_waits_and_knows_the_holder(client: KubeClient, leases: Shelf) -> None:
    one, two = Election(client, spec("one")), Election(client, spec("two"))
    async with running(lead(one)):
        await until(lambda: one.is_leader)
        async with running(lead(two)):
            await until(lambda: two.holder == Holder(identity="one", address="one:6443"))
            await asyncio.sleep(2.5)
            assert one.is_leader
            assert not two.is_leader


async def test_a_holder_that_died_is_followed_after_the_lease_ran_out(client: KubeClient, leases: Shelf) -> None:
    one, two = Election(client, spec("one")), Election(client, spec("two"))
    async with running(lead(one)):
        await until(lambda: one.is_leader)
    died = now()
    async with running(lead(two)):
        await until(lambda: two.is_leader)
        assert now() - died >= 2.0
        assert not one.is_leader
    assert leases.objects[NAME]["spec"]["leaseTransitions"] == 1


async def test_a_released_lease_is_taken_over_at_once(client: KubeClient, leases: Shelf) -> None:
    one, two = Election(client, spec("one", 30.0)), Election(client, spec("two", 30.0))
    async with running(lead(one)):
        await until(lambda: one.is_leader)
    async with running(lead(two)):
        await until(lambda: two.holder is not None)
        await one.release()
        assert not one.is_leader
        await until(lambda: two.is_leader)


async def test_a_container_restarted_in_its_pod_leads_again_at_once(client: KubeClient, leases: Shelf) -> None:
    before, after = Election(client, spec("one", 30.0)), Election(client, spec("one", 30.0))
    async with running(lead(before)):
        await until(lambda: before.is_leader)
    async with running(lead(after)):
        await until(lambda: after.is_leader, seconds=1.0)
    assert leases.objects[NAME]["spec"]["leaseTransitions"] == 0


async def test_a_hung_server_ends_leadership_at_the_renew_deadline(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await until(lambda: election.is_leader)
        leases.fault = hangs
        hung = now()
        await until(lambda: not election.is_leader)
        assert now() - hung <= 1.4


async def test_a_server_that_is_away_for_a_moment_costs_nothing(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await until(lambda: election.is_leader)
        leases.fault = refuses(503, "ServiceUnavailable")
        await asyncio.sleep(0.3)
        leases.fault = None
        await asyncio.sleep(1.2)
        assert election.is_leader


async def test_a_lease_touched_by_a_human_is_renewed_all_the_same(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await until(lambda: election.is_leader)
        leases.store(leases.objects[NAME])
        await asyncio.sleep(1.3)
        assert election.is_leader


async def test_a_lease_given_to_another_ends_leadership(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await until(lambda: election.is_leader)
        lease = leases.objects[NAME]
        leases.store(lease | {"spec": lease["spec"] | {"holderIdentity": "other"}})
        await until(lambda: not election.is_leader, seconds=1.0)
    assert leases.objects[NAME]["spec"]["holderIdentity"] == "other"


async def test_a_deleted_lease_is_created_again(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await until(lambda: election.is_leader)
        leases.objects.clear()
        await until(lambda: NAME in leases.objects)
        assert election.is_leader


async def test_of_two_that_start_together_one_leads(client: KubeClient, leases: Shelf) -> None:
    elections = [Election(client, spec(name)) for name in ("one", "two", "three")]
    async with running(*(lead(election) for election in elections)):
        await until(lambda: any(election.is_leader for election in elections))
        await asyncio.sleep(0.5)
        assert sum(election.is_leader for election in elections) == 1
