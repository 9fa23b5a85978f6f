"""Leader election: one leader at a time, a prompt successor, and no leader by a hung request or a stepped clock."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import cycle, pairwise
from pathlib import Path

import pytest
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.leases.lease import Election
from keda_py.kube.leases.lease_record import ADDRESS_ANNOTATION, Holder, LeaseSpec, held
from keda_py.kube.resources import LEASES, NAMESPACES, Obj
from keda_py.localkube.cluster import LocalCluster
from tests.builders import a_namespace
from tests.kube.faulty_server import FaultyServer, Shelf, hangs, refuses, running, says
from tests.waiting import PAUSE, eventually, forever

PATH = "/apis/coordination.k8s.io/v1/namespaces/keda/leases"
NAME = "operator.keda.sh"
DURATION, RENEW_DEADLINE, RETRY_PERIOD = 2.0, 1.2, 0.1
"""In real seconds, by which leadership goes: a test waits for as many of them as would show a change of it."""


def spec(identity: str, duration: float = DURATION) -> LeaseSpec:
    return LeaseSpec(
        namespace="keda",
        name=NAME,
        identity=identity,
        duration=duration,
        renew_deadline=RENEW_DEADLINE,
        retry_period=RETRY_PERIOD,
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
        await eventually(lambda: election.is_leader)
    lease = leases.objects[NAME]
    assert lease["spec"]["holderIdentity"] == "one"
    assert lease["spec"]["leaseDurationSeconds"] == 2
    assert lease["metadata"]["annotations"] == {"keda-py.dev/serving-address": "one:6443"}


async def test_the_second_one_waits_and_knows_the_holder(client: KubeClient, leases: Shelf) -> None:
    one, two = Election(client, spec("one")), Election(client, spec("two"))
    async with running(lead(one)):
        await eventually(lambda: one.is_leader)
        async with running(lead(two)):
            await eventually(lambda: two.holder == Holder(identity="one", address="one:6443"))
            await asyncio.sleep(1.25 * DURATION)
            assert one.is_leader
            assert not two.is_leader


async def test_a_holder_that_died_is_followed_after_the_lease_ran_out(client: KubeClient, leases: Shelf) -> None:
    one, two = Election(client, spec("one")), Election(client, spec("two"))
    async with running(lead(one)):
        await eventually(lambda: one.is_leader)
    died = now()
    async with running(lead(two)):
        await eventually(lambda: two.is_leader)
        assert now() - died >= 2.0
        assert not one.is_leader
    assert leases.objects[NAME]["spec"]["leaseTransitions"] == 1


async def test_a_released_lease_is_taken_over_at_once(client: KubeClient, leases: Shelf) -> None:
    one, two = Election(client, spec("one", 30.0)), Election(client, spec("two", 30.0))
    async with running(lead(one)):
        await eventually(lambda: one.is_leader)
    async with running(lead(two)):
        await eventually(lambda: two.holder is not None)
        await one.release()
        assert not one.is_leader
        await eventually(lambda: two.is_leader)


async def test_a_container_restarted_in_its_pod_leads_again_at_once(client: KubeClient, leases: Shelf) -> None:
    before, after = Election(client, spec("one", 30.0)), Election(client, spec("one", 30.0))
    async with running(lead(before)):
        await eventually(lambda: before.is_leader)
    async with running(lead(after)):
        await eventually(lambda: after.is_leader, seconds=1.0)
    assert leases.objects[NAME]["spec"]["leaseTransitions"] == 0


async def test_a_hung_server_ends_leadership_at_the_renew_deadline(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await eventually(lambda: election.is_leader)
        leases.fault = hangs
        hung = now()
        await eventually(lambda: not election.is_leader)
        assert now() - hung <= 1.4


async def test_a_server_that_is_away_for_a_moment_costs_nothing(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await eventually(lambda: election.is_leader)
        leases.fault = refuses(503, "ServiceUnavailable")
        await asyncio.sleep(3 * RETRY_PERIOD)
        leases.fault = None
        await asyncio.sleep(RENEW_DEADLINE)
        assert election.is_leader


async def test_a_lease_touched_by_a_human_is_renewed_all_the_same(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await eventually(lambda: election.is_leader)
        leases.store(leases.objects[NAME])
        await asyncio.sleep(RENEW_DEADLINE + RETRY_PERIOD)
        assert election.is_leader


async def test_a_lease_given_to_another_ends_leadership(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await eventually(lambda: election.is_leader)
        lease = leases.objects[NAME]
        leases.store(lease | {"spec": lease["spec"] | {"holderIdentity": "other"}})
        await eventually(lambda: not election.is_leader, seconds=1.0)
    assert leases.objects[NAME]["spec"]["holderIdentity"] == "other"


async def test_a_deleted_lease_is_created_again(client: KubeClient, leases: Shelf) -> None:
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await eventually(lambda: election.is_leader)
        leases.objects.clear()
        await eventually(lambda: NAME in leases.objects)
        assert election.is_leader


async def test_of_two_that_start_together_one_leads(client: KubeClient, leases: Shelf) -> None:
    elections = [Election(client, spec(name)) for name in ("one", "two", "three")]
    async with running(*(lead(election) for election in elections)):
        await eventually(lambda: any(election.is_leader for election in elections))
        await asyncio.sleep(5 * RETRY_PERIOD)
        assert sum(election.is_leader for election in elections) == 1


async def test_a_lost_lease_ends_the_term_and_a_later_one_begins_another(client: KubeClient, leases: Shelf) -> None:
    terms: list[str] = []

    async def term() -> None:
        terms.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            terms.append("ended")

    election = Election(client, spec("one"))
    async with running(election.run(term)):
        await eventually(lambda: election.is_leader)
        leases.fault = hangs
        await eventually(lambda: terms == ["begun", "ended"])
        assert not election.is_leader
        leases.fault = None
        await eventually(lambda: election.is_leader)
        await eventually(lambda: terms != ["begun", "ended"])  # applied in the next turn of the loop
        assert terms == ["begun", "ended", "begun"]


@pytest.mark.parametrize("skew", [timedelta(hours=-3), timedelta(hours=3)], ids=["behind", "ahead"])
async def test_a_holder_whose_clock_is_wrong_is_followed_as_any_other(
    client: KubeClient, leases: Shelf, skew: timedelta
) -> None:
    renewed = (datetime(2026, 11, 21, tzinfo=UTC) + skew).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    lease = {"holderIdentity": "other", "leaseDurationSeconds": 1, "renewTime": renewed}
    leases.store({"metadata": {"name": NAME, "namespace": "keda"}, "spec": lease})
    election, began = Election(client, spec("one")), now()
    async with running(lead(election)):
        await eventually(lambda: election.is_leader)
    assert 1.0 <= now() - began < 1.5


async def test_a_holder_that_is_not_ours_is_waited_for_and_told(
    client: KubeClient, leases: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    lease = {"holderIdentity": "keda-operator-7d9_8c1e", "leaseDurationSeconds": 2}
    leases.store({"metadata": {"name": NAME, "namespace": "keda"}, "spec": lease})
    election = Election(client, spec("one"))
    with caplog.at_level(logging.WARNING):
        async with running(lead(election)):
            await eventually(lambda: election.holder == Holder(identity="keda-operator-7d9_8c1e", address=""))
            await asyncio.sleep(5 * RETRY_PERIOD)
            assert not election.is_leader
    told = [record for record in caplog.records if "not keda-py" in record.getMessage()]
    assert [record.__dict__["holder"] for record in told] == ["keda-operator-7d9_8c1e"]


def test_a_duration_is_told_in_whole_seconds_and_never_shortened() -> None:
    odd = LeaseSpec(
        namespace="keda", name=NAME, identity="one", duration=2.5, renew_deadline=RENEW_DEADLINE, retry_period=0.1
    )
    lease = held(None, odd, "one:6443", datetime(2026, 11, 21, tzinfo=UTC))
    assert lease["spec"]["leaseDurationSeconds"] == 3


@pytest.fixture
async def on_a_cluster(tmp_path: Path) -> AsyncIterator[KubeClient]:
    """Return a client of a cluster that serves watches, with a namespace for the Lease."""
    async with LocalCluster() as cluster:
        path = tmp_path / "kubeconfig"
        path.write_text(cluster.kubeconfig())
        async with KubeClient(SystemClock(), str(path)) as client:
            await client.create(NAMESPACES, a_namespace("keda"))
            yield client


async def find(client: KubeClient) -> Obj | None:
    try:
        return await client.get(LEASES.named("keda", NAME))
    except NotFound:
        return None


def slow(identity: str) -> LeaseSpec:
    """Return KEDA's default times."""
    return LeaseSpec(namespace="keda", name=NAME, identity=identity)


async def test_who_waits_is_told_of_a_release_and_takes_over_at_once(on_a_cluster: KubeClient) -> None:
    one, two = Election(on_a_cluster, slow("one")), Election(on_a_cluster, slow("two"))
    async with running(one.watch(), two.watch()), running(lead(one)):
        await eventually(lambda: one.is_leader)
        async with running(lead(two)):
            await eventually(lambda: two.holder == Holder(identity="one", address="one:6443"))
            await one.release()
            await eventually(lambda: two.is_leader, seconds=0.5)
            await eventually(lambda: one.holder == Holder(identity="two", address="two:6443"))


async def test_a_deleted_lease_is_made_anew_by_its_holder_and_taken_by_nobody_else(on_a_cluster: KubeClient) -> None:
    one, two = Election(on_a_cluster, slow("one")), Election(on_a_cluster, slow("two"))
    async with running(one.watch(), two.watch(), lead(one)):
        await eventually(lambda: one.is_leader)
        async with running(lead(two)):
            await eventually(lambda: two.holder is not None)
            before = await on_a_cluster.get(LEASES.named("keda", NAME))
            await on_a_cluster.delete(LEASES.named("keda", NAME))
            async with asyncio.timeout(1.0):
                while (after := await find(on_a_cluster)) is None:
                    await asyncio.sleep(PAUSE)
            assert after["metadata"]["uid"] != before["metadata"]["uid"]
            assert after["spec"]["holderIdentity"] == "one"
            assert one.is_leader
            assert not two.is_leader


async def test_a_lease_deleted_with_its_holder_dead_is_taken_when_it_would_have_run_out(
    client: KubeClient, leases: Shelf
) -> None:
    one, two = Election(client, spec("one")), Election(client, spec("two"))
    async with running(lead(one)):
        await eventually(lambda: one.is_leader)
        async with running(lead(two)):
            await eventually(lambda: two.holder is not None)
    leases.objects.clear()
    died = now()
    async with running(lead(two)):
        await eventually(lambda: two.is_leader)
    assert now() - died >= 1.0


async def test_a_lease_taken_away_ends_leadership_as_soon_as_the_watch_shows_it(on_a_cluster: KubeClient) -> None:
    one = Election(on_a_cluster, slow("one"))
    async with running(one.watch(), lead(one)):
        await eventually(lambda: one.is_leader)
        change: Obj = {
            "metadata": {"annotations": {ADDRESS_ANNOTATION: "other:1"}},
            "spec": {"holderIdentity": "other"},
        }
        await on_a_cluster.patch(LEASES.named("keda", NAME), change)
        await eventually(lambda: not one.is_leader, seconds=0.5)
        assert one.holder == Holder(identity="other", address="other:1")


NOT_THE_LEASE: dict[str, Obj] = {
    "a Status": {"kind": "Status", "items": "x", "metadata": {"resourceVersion": "x"}},
    "another object": {"kind": "Pod", "metadata": {"name": NAME, "resourceVersion": "9"}, "spec": {}},
    "another lease": {"kind": "Lease", "metadata": {"name": "other", "resourceVersion": "9"}, "spec": {}},
    "a lease that no replica holds": {
        "kind": "Lease",
        "metadata": {"name": NAME, "resourceVersion": "9"},
        "spec": {"holderIdentity": ""},
    },
}


@pytest.mark.parametrize("answer", NOT_THE_LEASE.values(), ids=NOT_THE_LEASE)
async def test_an_answer_that_is_not_our_lease_begins_no_term(
    client: KubeClient, leases: Shelf, caplog: pytest.LogCaptureFixture, answer: Obj
) -> None:
    caplog.set_level(logging.INFO)
    leases.fault = says(answer)
    began = asyncio.Event()

    async def term() -> None:
        began.set()
        await forever()

    async with running(Election(client, spec("one")).run(term)):
        await asyncio.sleep(5 * RETRY_PERIOD)
    assert not began.is_set()
    assert [record for record in caplog.records if record.getMessage() == "leading"] == []


@pytest.mark.parametrize("answer", NOT_THE_LEASE.values(), ids=NOT_THE_LEASE)
async def test_a_leader_that_is_answered_with_something_else_leads_until_its_deadline_and_once_more_afterwards(
    client: KubeClient, leases: Shelf, caplog: pytest.LogCaptureFixture, answer: Obj
) -> None:
    caplog.set_level(logging.INFO)
    election = Election(client, spec("one"))
    async with running(lead(election)):
        await eventually(lambda: election.is_leader)
        leases.fault = says(answer)
        await eventually(lambda: not election.is_leader)
        await asyncio.sleep(DURATION)
        assert not election.is_leader
        leases.fault = None
        await eventually(lambda: election.is_leader)
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("lead")]
    assert [text.partition(",")[0] for text in told] == ["leading", "leadership lost", "leading"]


async def test_between_two_terms_there_is_a_retry_period_whatever_the_server_answers(
    client: KubeClient, leases: Shelf
) -> None:
    """Each renewal is answered with another holder, who has left when the lease is read the next time."""
    answers, began = {"PUT": cycle(["one", "two"]), "GET": cycle(["", "two"])}, list[float]()

    async def fickle(request: web.Request) -> web.StreamResponse:
        holder = next(answers[request.method])
        metadata = {"name": NAME, "namespace": "keda", "resourceVersion": "9"}
        return web.json_response({"kind": "Lease", "metadata": metadata, "spec": {"holderIdentity": holder}})

    async def term() -> None:
        began.append(now())
        await forever()

    leases.fault = fickle
    async with running(Election(client, spec("one")).run(term)):
        await eventually(lambda: len(began) == 4)
    assert min(later - earlier for earlier, later in pairwise(began)) >= 2 * RETRY_PERIOD  # a renewal conflicts too
