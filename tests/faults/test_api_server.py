"""An API server that is away, slow, or talks nonsense: nothing is taken down, and nobody has to restart anything."""

from pathlib import Path

import pytest

from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, HORIZONTAL_POD_AUTOSCALERS
from tests.builders import cron, deployment, environment, metrics_api, scaled_object
from tests.faults.faulty import Fault, doubles, halves, hangs, lists, loses, refuses, says, waits, watches, writes
from tests.faults.ordeal import LEAP, Ordeal, go_through, ordeal
from tests.operator.environments.builders import LUNCH
from tests.sweeps import chosen

NOTICED_SECONDS = 45
"""Between the restore of a cluster and the count that follows from it: far sooner than bookmarks are missed."""

HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
FAULTS: dict[str, Fault] = {
    "500": refuses(500, "InternalError"),
    "503 come later": refuses(503, "ServiceUnavailable", seconds=1),
    "429 come later": refuses(429, "TooManyRequests", seconds=2),
    "410": refuses(410, "Expired"),
    "504": refuses(504, "Timeout"),
    "409": refuses(409, "Conflict"),
    "401": refuses(401, "Unauthorized"),
    "403": refuses(403, "Forbidden"),
    "404": refuses(404, "NotFound"),
    "a proxy's page": says(HTML, 502, "text/html"),
    "a proxy's page as a success": says(HTML, 200, "text/html"),
    "an empty answer": says(b""),
    "an empty object": says({}),
    "null": says(None),
    "half an answer": halves,
    "a lost answer": loses,
    "another kind of object": says({"kind": "Pod", "metadata": {"name": "x", "resourceVersion": "1"}}),
    "metadata of nonsense": says({"kind": "List", "metadata": "x", "items": {}}),
    "an event without metadata": says(b'{"type": "ADDED", "object": {}}\n'),
    "an event of nonsense": says(b'{"type": "DELETED", "object": {"metadata": {"name": 3}}}\n'),
    "a bookmark without a version": says(b'{"type": "BOOKMARK", "object": {"metadata": []}}\n'),
    "an error that is none": says(b'{"type": "ERROR", "object": {"kind": "Status", "code": "x", "details": 3}}\n'),
    "a 429 of nonsense": says({"kind": "Status", "code": "x", "details": 3}, 429),
    "a redirect": says(b"", 302),
}
FAULTS_OF_LISTS: dict[str, Fault] = {
    "a list without items": lists(says({"kind": "List", "metadata": {"resourceVersion": "1"}})),
    "a list of nonsense": lists(says({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": [{}, 3, None]})),
    "a list of the nameless": lists(
        says({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": 3}, "spec": []}]})
    ),
    "half a list": lists(halves),
}
OF_ANSWERS = chosen(
    FAULTS | FAULTS_OF_LISTS,
    {
        "503 come later",
        "410",
        "401",
        "a proxy's page as a success",
        "half an answer",
        "an event of nonsense",
        "half a list",
    },
)
OF_WRITES = chosen(FAULTS, {"500", "409", "a proxy's page", "a lost answer", "a 429 of nonsense"})


@pytest.mark.parametrize("fault", OF_ANSWERS.values(), ids=OF_ANSWERS)
def test_nonsense_for_every_answer_takes_nothing_down_and_wakes_nothing(tmp_path: Path, fault: Fault) -> None:
    async def scenario(one: Ordeal) -> None:
        world = one.world
        counts = await one.wake()
        await world.create(deployment("asleep"), scaled_object(cron("0 8 * * *", "0 9 * * *"), name="asleep"))
        await one.live(5)
        asleep = world.writes_of(DEPLOYMENTS, "asleep")
        with one.api.failing(fault):
            world.operator.cable.pull()
            world.operator.cable.plug()
            await one.live(45, step=3)
        await one.live(30, step=3)
        assert {version["spec"]["replicas"] for version in counts} <= {1}
        assert {version["spec"]["replicas"] for version in asleep} <= {0}
        assert len(one.shouts.records) < 100
        await one.assert_sound()

    go_through(scenario, tmp_path)


@pytest.mark.parametrize("fault", OF_WRITES.values(), ids=OF_WRITES)
def test_nonsense_for_every_write_delays_a_scale_and_nothing_else(tmp_path: Path, fault: Fault) -> None:
    async def scenario(one: Ordeal) -> None:
        counts = await one.wake()
        one.world.jobs(0)
        one.leap = 5.0
        with one.api.failing(fault, writes):
            await one.live(50, step=2)
        one.leap = LEAP
        await one.until(lambda: one.world.replicas() == 0 and one.world.condition("Active")[0] == "False", 40)
        assert {version["spec"]["replicas"] for version in counts} <= {0, 1}
        assert len(one.shouts.records) < 100
        await one.assert_sound()

    go_through(scenario, tmp_path)


@ordeal
async def test_an_api_server_that_is_away_for_a_minute_is_found_again(one: Ordeal) -> None:
    counts = await one.wake()
    one.world.operator.cable.pull()
    await one.live(60, step=3)
    one.world.operator.cable.plug()
    await one.live(15)
    assert {version["spec"]["replicas"] for version in counts} <= {1}
    await one.assert_sound()


@ordeal
async def test_a_cluster_restored_from_a_backup_is_seen_as_it_is_now(one: Ordeal) -> None:
    world = one.world
    await one.wake()
    backup = world.cluster.store.backup()
    world.jobs(0)
    await one.until(lambda: world.replicas() == 0 and world.condition("Active")[0] == "False")
    await world.create(deployment("late"), scaled_object(metrics_api(world.url), name="late"))
    await one.until(lambda: world.condition("Ready", "late")[0] == "True")
    for number in range(20):
        await world.annotate({"number": str(number)}, "late")
    world.cluster.store.restore(backup)
    assert (world.replicas(), world.condition("Active")[0]) == (1, "True")
    await one.until(lambda: world.replicas() == 0 and world.condition("Active")[0] == "False", NOTICED_SECONDS)
    assert world.find(HORIZONTAL_POD_AUTOSCALERS, "keda-hpa-late") is None
    await one.assert_sound()


@ordeal
async def test_an_environment_that_slept_in_the_backup_wakes_in_the_restored_cluster(one: Ordeal) -> None:
    world = one.world
    await world.create(deployment("web", 3), environment(calendar=LUNCH))
    await one.until(lambda: world.replicas("web") == 0, 300)
    await one.live(20)
    backup = world.cluster.store.backup()
    await one.until(lambda: world.replicas("web") == 3, 600)
    await one.live(20)
    for number in range(100):
        await world.patch(DEPLOYMENTS, {"metadata": {"labels": {"number": str(number)}}}, "web")
    await one.live(10)
    world.cluster.store.restore(backup)
    assert world.replicas("web") == 0
    await one.until(lambda: world.replicas("web") == 3, NOTICED_SECONDS)
    await one.live(20)
    assert world.replicas("web") == 3
    status = world.get(ENVIRONMENTS, "dev")["status"]
    assert (status["phase"], status.get("members", {})) == ("Awake", {})


@ordeal
async def test_versions_that_expired_while_the_api_server_was_away_are_no_reason_to_worry(one: Ordeal) -> None:
    world = one.world
    counts = await one.wake()
    world.operator.cable.pull()
    for number in range(20):
        await world.annotate({"number": str(number)})
    world.cluster.store.forget(world.cluster.store.revision)
    world.operator.cable.plug()
    await one.live(20, step=2)
    assert {version["spec"]["replicas"] for version in counts} <= {1}
    await one.assert_sound()


@ordeal
async def test_events_that_come_twice_and_bookmarks_that_never_come_change_nothing(one: Ordeal) -> None:
    counts = await one.wake()
    with one.api.failing(doubles, watches):
        one.world.operator.cable.pull()
        one.world.operator.cable.plug()
        await one.live(240, step=4)
        await one.assert_sound()
    assert {version["spec"]["replicas"] for version in counts} <= {0, 1}


@ordeal
async def test_an_api_server_that_hangs_at_every_write_delays_a_scale_and_nothing_else(one: Ordeal) -> None:
    await one.wake()
    one.world.jobs(0)
    one.leap = 10.0
    with one.api.failing(hangs, writes):
        await one.live(40, step=10)
        assert one.world.replicas() == 1
    one.leap = LEAP
    await one.until(lambda: one.world.replicas() == 0, 20)
    await one.assert_sound()


@ordeal
async def test_a_slow_api_server_is_waited_for(one: Ordeal) -> None:
    with one.api.failing(waits(3.0)):
        counts = await one.wake()
        await one.assert_sound()
    assert {version["spec"]["replicas"] for version in counts} <= {0, 1}
