"""Several replicas: every one serves, one writes, and the others ask it."""

import asyncio
import base64
import ssl
from contextlib import closing

import aiohttp
import pytest

from keda_py.clock import SystemClock
from keda_py.kube.resources import LEASES, SCALED_OBJECTS, SECRETS
from keda_py.serving.certificates import Authority, issue, issue_client, read_authority
from keda_py.serving.server_tls import load_pair
from keda_py.serving.serving_certificate import ServingCertificate
from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.replicas import INSIGHT, METRICS, Replica, Replicas, blind, question
from tests.waiting import eventually

METRIC = "s0-metric-api-value"


async def two(replicas: Replicas) -> tuple[Replica, Replica]:
    """The leader, one that follows, and an object whose HPA is told what the last poll found, an hour ago at most."""
    leader = await replicas.start("one")
    await replicas.held_by("one")
    follower = await replicas.start("two")
    trigger = metrics_api(replicas.url) | {"useCachedMetrics": True}
    await replicas.create(deployment(), scaled_object(trigger, pollingInterval=3600))
    await replicas.until_condition("Active", "True")
    return leader, follower


async def test_a_replica_that_does_not_lead_answers_what_the_holder_knows(replicas: Replicas) -> None:
    replicas.jobs(7)
    leader, follower = await two(replicas)
    replicas.jobs(9)
    assert await leader.value(METRIC) == "7"
    assert await follower.value(METRIC) == "7"
    status, told = await follower.get(INSIGHT)
    assert (status, told["last"]["triggers"][0]["value"]) == (200, 7.0)


async def test_while_nobody_can_be_asked_a_replica_reads_by_itself(replicas: Replicas) -> None:
    replicas.jobs(7)
    leader, follower = await two(replicas)
    replicas.jobs(9)
    await replicas.kill(leader)
    assert replicas.holder() == "one"
    assert await follower.value(METRIC) == "9"
    assert (await follower.get(INSIGHT))[0] == 503


async def test_what_changes_meanwhile_reaches_the_scalers_of_a_replica_that_does_not_lead(replicas: Replicas) -> None:
    replicas.jobs(7)
    leader, follower = await two(replicas)
    await replicas.kill(leader)
    assert await follower.value(METRIC) == "7"
    replicas.server.answers["/others"] = '{"value": 3}'
    trigger = metrics_api(f"{replicas.server.url}/others")
    await replicas.client.patch(SCALED_OBJECTS.named("default", "app"), {"spec": {"triggers": [trigger]}})

    async def is_followed() -> bool:
        return await follower.value(METRIC) == "3"

    await eventually(is_followed, 2.0)


async def test_a_holder_that_accepts_and_says_nothing_delays_no_more_than_one_question(replicas: Replicas) -> None:
    """As a machine that is frozen, or at the other side of a broken network."""
    replicas.jobs(7)

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.read()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    annotations = {"keda-py.dev/serving-address": f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"}
    lease = {"holderIdentity": "ghost", "leaseDurationSeconds": 3600}
    body = {"metadata": {"namespace": "keda", "name": "operator.keda.sh", "annotations": annotations}, "spec": lease}
    await replicas.client.create(LEASES, body)
    follower = await replicas.start("one")
    await replicas.create(deployment(), scaled_object(metrics_api(replicas.url)))
    began = asyncio.get_running_loop().time()
    values = [await follower.value(METRIC) for _ in range(5)]
    assert values == ["7"] * 5
    assert asyncio.get_running_loop().time() - began < 2.0
    silent.close()


async def authority_of(replicas: Replicas) -> Authority:
    """The one that all replicas share."""
    data = (await replicas.client.get(SECRETS.named("keda", "kedaorg-certs")))["data"]
    ca, key = base64.b64decode(data["ca.crt"]), base64.b64decode(data["ca.key"])
    found = read_authority(ServingCertificate(ca=ca, certificate=b"", key=b"", ca_key=key))
    assert found is not None
    return found


def shows(pair: ServingCertificate) -> ssl.SSLContext:
    context = blind()
    load_pair(context, pair)
    return context


async def test_a_peer_may_ask_the_holder_for_metrics_and_insight_and_for_nothing_else(replicas: Replicas) -> None:
    replicas.jobs(7)
    leader, follower = await two(replicas)
    peer = shows(issue_client(await authority_of(replicas), ["keda-operator.keda.svc"], SystemClock().now()))

    async def answered(replica: Replica, path: str) -> int:
        return (await replica.get(path, peer))[0]

    assert [await answered(leader, path) for path in (question(METRIC), INSIGHT)] == [200, 200]
    assert [await answered(leader, path) for path in ("/apis", METRICS, f"{METRICS}/namespaces")] == [403, 403, 403]
    assert await answered(follower, question(METRIC)) == 421  # never passed on again


async def test_nobody_else_is_a_peer(replicas: Replicas) -> None:
    leader = await replicas.start("one")
    await replicas.held_by("one")
    authority, now = await authority_of(replicas), SystemClock().now()
    stranger = shows(issue_client(authority, ["shop.default.svc"], now))
    assert (await leader.get(question(METRIC), stranger))[0] == 403
    server = shows(issue(authority, ["keda-operator.keda.svc"], now))
    with pytest.raises(aiohttp.ClientError):
        await leader.get(question(METRIC), server)
