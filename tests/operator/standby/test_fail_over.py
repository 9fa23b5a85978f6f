"""The replica that writes goes away, in every way there is; another one goes on. Real processes, real time."""

import asyncio
import signal

from keda_py.kube.resources import SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.processes import Process
from tests.operator.replicas import FAST, Replica, Replicas

CALM_SECONDS = 0.5
"""Until the new leader has nothing to write any more; what it would write later comes by polls of another second."""
ASK_PAUSE = 0.05
"""Twenty questions with it between them ask for a second."""

KEDAS: dict[str, str] = {}
"""15, 10 and 2 s."""
METRIC = "s0-metric-api-value"


def now() -> float:
    return asyncio.get_running_loop().time()


async def idle(replicas: Replicas, **spec: object) -> None:
    """An object that sleeps, and is not polled again before long: a scale is the first look of another replica."""
    wanted = {"pollingInterval": 3600, **spec}
    await replicas.create(deployment(), scaled_object(metrics_api(replicas.url), **wanted))
    await replicas.until_condition("Active", "False")


async def lead_and_follow(replicas: Replicas, env: dict[str, str]) -> tuple[Process, Replica]:
    """A process that leads, and a replica in this one that follows."""
    leader = await replicas.spawn("one", env)
    await replicas.held_by("one")
    follower = await replicas.start("two", env)
    await idle(replicas)
    assert replicas.holder() == "one"
    return leader, follower


async def test_with_kedas_defaults_writes_go_on_within_17_s_of_kill_9(replicas: Replicas) -> None:
    leader, _ = await lead_and_follow(replicas, KEDAS)
    replicas.jobs(1)
    await asyncio.to_thread(leader.end, signal.SIGKILL)
    await replicas.scaled_to(1, 17.0)


async def test_with_a_short_lease_writes_go_on_within_5_s_of_kill_9(replicas: Replicas) -> None:
    leader, _ = await lead_and_follow(replicas, FAST)
    replicas.jobs(1)
    await asyncio.to_thread(leader.end, signal.SIGKILL)
    await replicas.scaled_to(1, 5.0)


async def test_writes_go_on_within_a_second_of_sigterm(replicas: Replicas) -> None:
    first = await replicas.start("one", KEDAS)
    await replicas.held_by("one")
    await replicas.start("two", KEDAS)
    await idle(replicas)
    replicas.jobs(1)
    first.operator.stopping.set()
    await replicas.scaled_to(1, 1.0)
    await replicas.stop(first)


async def test_a_container_restarted_in_its_pod_does_not_wait_for_its_own_lease(replicas: Replicas) -> None:
    first = await replicas.start("one", KEDAS)
    await replicas.held_by("one")
    await idle(replicas)
    replicas.jobs(1)
    await replicas.kill(first)
    await replicas.start("one", KEDAS)
    await replicas.scaled_to(1, 2.0)


async def test_a_leader_cut_off_stops_in_time_goes_on_serving_and_leads_again_later(replicas: Replicas) -> None:
    first = await replicas.start("one")
    await replicas.held_by("one")
    second = await replicas.start("two")
    await idle(replicas)
    first.cable.pull()
    await replicas.held_by("two", 5.0)
    replicas.jobs(4)
    assert await first.value(METRIC) == "4"  # by itself, or of the other one: served it is
    first.cable.plug()
    await replicas.stop(second)
    await replicas.held_by("one", 5.0)
    await replicas.scaled_to(1, 5.0)
    assert not first.operator.task.done()


async def test_a_leader_frozen_for_longer_than_its_lease_writes_nothing_when_it_thaws(replicas: Replicas) -> None:
    leader, follower = await lead_and_follow(replicas, FAST)
    leader.freeze()
    replicas.jobs(1)
    await replicas.scaled_to(1, 5.0)
    # Something for it to do when it wakes, and nothing any more for the other one.
    await replicas.create(scaled_object(metrics_api(replicas.url), name="lost", pollingInterval=1))
    await replicas.until_condition("Ready", "False", "lost")
    await asyncio.sleep(CALM_SECONDS)
    written: set[str] = set()
    replicas.cluster.store.listen(lambda event: written.add(event.resource.plural))
    leader.thaw()
    await asyncio.to_thread(leader.wait_for, "another replica leads", 10.0)
    assert written <= {"leases"}
    assert not follower.operator.task.done()


async def test_a_cooldown_ends_no_earlier_than_without_the_kill(replicas: Replicas) -> None:
    cooldown, poll, fail_over = 4, 1, 5
    replicas.jobs(1)
    first = await replicas.start("one")
    await replicas.held_by("one")
    await replicas.start("two")
    await replicas.create(
        deployment(),
        scaled_object(metrics_api(replicas.url), cooldownPeriod=cooldown, pollingInterval=poll),
    )
    await replicas.scaled_to(1)
    await replicas.until_condition("Active", "True")
    emptied = now()
    replicas.jobs(0)
    await replicas.until_condition("Active", "False")
    await replicas.kill(first)
    await replicas.scaled_to(0, cooldown + poll + fail_over)
    assert now() - emptied >= cooldown - poll  # the last active reading may be a poll old


async def test_a_fallback_holds_through_a_fail_over_and_failures_are_not_counted_anew(replicas: Replicas) -> None:
    first = await replicas.start("one")
    await replicas.held_by("one")
    second = await replicas.start("two")
    fallback = {"failureThreshold": 2, "replicas": 3}
    trigger = metrics_api(replicas.url, metricType="AverageValue")
    replicas.jobs(1)
    await replicas.create(deployment(), scaled_object(trigger, fallback=fallback, pollingInterval=1))
    await replicas.scaled_to(1)
    del replicas.server.answers["/jobs"]
    await replicas.until_condition("Fallback", "True")
    assert await second.value(METRIC) == "15"
    await replicas.kill(first)
    while replicas.holder() != "two":
        assert await second.value(METRIC) == "15"
        await asyncio.sleep(ASK_PAUSE)
    for _ in range(20):
        assert await second.value(METRIC) == "15"
        await asyncio.sleep(ASK_PAUSE)
    live = await replicas.client.get(SCALED_OBJECTS.named("default", "app"))
    assert live["status"]["health"][METRIC]["numberOfFailures"] == 3
