"""The process: how it leaves, who of two may write, and how quiet it is when nothing happens."""

import asyncio
import re  # noqa: TID251 - a constant pattern over the text of our own test
import signal
from collections import Counter
from datetime import datetime

import aiohttp

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, LEASES, NAMESPACES, SCALED_OBJECTS
from keda_py.kube.transport import Request
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.processes import STARTED, Operator
from tests.e2e.scene import Scene, has_condition
from tests.e2e.source import Source
from tests.waiting import eventually

QUICK_LEASE = {
    "KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION": "4s",
    "KEDA_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE": "2s",
    "KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD": "500ms",
}
DELAY = 4
"""Seconds: enough to be seen as not ready in the first half of them."""
ALIKE = 5
SAMPLE = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


async def test_at_sigterm_it_is_gone_in_no_time_or_after_a_delay_in_which_it_is_not_ready(
    scene: Scene, source: Source, operator: Operator
) -> None:
    source.hang()
    trigger = metrics_api(source.url)
    trigger["metadata"]["timeout"] = str(60 * 1000)
    await scene.create(deployment(), scaled_object(trigger, cooldownPeriod=300))
    await source.asked()
    at = asyncio.get_running_loop().time()
    assert await asyncio.to_thread(operator.end, signal.SIGTERM) == 0
    assert asyncio.get_running_loop().time() - at < 5  # not for as long as the poll waits
    await asyncio.to_thread(operator.start, f"--shutdown-delay={DELAY}s")
    source.value = 1
    live = await scene.until(SCALED_OBJECTS, has_condition("Active", "True"))
    began = datetime.fromisoformat(live["status"]["lastActiveTime"])
    clock, loop = SystemClock(), asyncio.get_running_loop()
    active = clock.now().replace(microsecond=0)
    # One may be the HPA's, and one may be under way: two polls are over then that began meanwhile.
    await source.asked(4)
    async with aiohttp.ClientSession() as session:
        assert await status(session, operator.readyz) == 200
        at = loop.time()
        async with asyncio.TaskGroup() as tasks:
            leaving = tasks.create_task(asyncio.to_thread(operator.end, signal.SIGTERM))

            async def unready() -> bool:
                return await status(session, operator.readyz) == 503

            await eventually(unready, DELAY / 2)
        assert leaving.result() == 0
        assert DELAY <= loop.time() - at < DELAY + 5
    live = await scene.get(SCALED_OBJECTS)
    last = datetime.fromisoformat(live["status"]["lastActiveTime"])
    assert last > began
    assert active <= last <= clock.now()


async def test_of_two_operators_only_the_leader_writes(scene: Scene, source: Source, operator: Operator) -> None:
    await asyncio.to_thread(operator.end)
    second = Operator(operator.kubeconfig)
    try:
        await asyncio.to_thread(operator.start, "--leader-elect", env=QUICK_LEASE)
        first_identity = operator.identity
        follower = second.begin("--leader-elect", env=QUICK_LEASE)
        source.value = 1
        await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=300))
        await scene.replicas(1)
        await scene.event("KEDAScaleTargetActivated")
        assert not any(STARTED in line for line in follower.lines)
        assert {event["reportingInstance"] for event in await scene.events()} == {first_identity}
        lease = await scene.client.get(LEASES.named("keda", "operator.keda.sh"))
        assert lease["spec"]["holderIdentity"] == first_identity
        await asyncio.to_thread(operator.kill)
        await asyncio.to_thread(follower.wait_for, STARTED)
        await scene.create(deployment("later"), scaled_object(metrics_api(source.url), name="later"))
        await scene.replicas(1, "later")
        await scene.event("KEDAScaleTargetActivated", "later")
        told = {event["reportingInstance"] for event in await scene.events("later")}
        assert told == {second.identity}
        assert (await scene.get(DEPLOYMENTS))["spec"]["replicas"] == 1
    finally:
        await asyncio.to_thread(second.end)


async def test_in_steady_state_no_poll_costs_a_request(scene: Scene, source: Source) -> None:
    source.value = 1
    names = [f"app-{number}" for number in range(ALIKE)]
    for name in names:
        await scene.create(deployment(name), scaled_object(metrics_api(source.url), name=name, cooldownPeriod=300))
    for name in names:
        await scene.until(SCALED_OBJECTS, has_condition("HPAActive", "True"), name, 60)
    # A real cluster deletes the namespaces of earlier tests for some seconds more, and lists all their objects for that.
    await eventually(lambda: nothing_is_deleted(scene.client), 120)
    before, began = await requests(scene.client), asyncio.get_running_loop().time()
    await source.asked(ALIKE * 6)
    spent = await requests(scene.client) - before
    seconds = asyncio.get_running_loop().time() - began
    # Watches end and begin again; the HPA controller reads scales at its own pace, every 5 s at the most.
    of_the_hpas = ALIKE * (seconds / 5 + 1)
    reads = spent.pop(("GET", "deployments", "scale"), 0)
    assert reads <= of_the_hpas
    ours = {
        key: count for key, count in spent.items() if key[1] in ("scaledobjects", "deployments", "events", "secrets")
    }
    assert ours == {}


async def nothing_is_deleted(client: KubeClient) -> bool:
    return not any("deletionTimestamp" in live["metadata"] for live in await client.list(NAMESPACES))


async def requests(client: KubeClient) -> Counter[tuple[str, str, str]]:
    """How often the API server has been asked, by verb, resource and subresource, watches left out."""
    page = (await client.raw(Request(method="GET", path="/metrics", resource="metrics"))).decode()
    counts: Counter[tuple[str, str, str]] = Counter()
    for labels, value in SAMPLE.findall(page):
        label = dict(LABEL.findall(labels))
        if label["verb"] != "WATCH":
            counts[label["verb"], label.get("resource", ""), label.get("subresource", "")] += round(float(value))
    return counts


async def status(session: aiohttp.ClientSession, url: str) -> int:
    async with session.get(url) as response:
        return response.status
