"""Several replicas, one sender: each event once, and none lost with the Lease."""

import asyncio

from keda_py.kube.resources import SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.http_server import HttpServer
from tests.operator.cloud_events.receiver import Receiver
from tests.operator.cloud_events.test_sources import source
from tests.operator.replicas import Replicas
from tests.waiting import eventually

LEASE_SECONDS = 3
READY, REMOVED = "keda.scaledobject.ready.v1", "keda.scaledobject.removed.v1"


async def is_stored(replicas: Replicas) -> None:
    """What the Event tells of: before, the next that leads would tell it again."""
    await eventually(lambda: replicas.condition("Ready") == ("True", "ScaledObjectReady"))


async def test_an_event_is_sent_once_however_many_replicas_there_are(replicas: Replicas, server: HttpServer) -> None:
    receiver = Receiver(server)
    await replicas.create(source(receiver.url))
    first = await replicas.start("first")
    await replicas.held_by("first")
    await replicas.start("second")
    await replicas.create(deployment(), scaled_object(metrics_api(f"{server.url}/jobs")))
    await eventually(lambda: receiver.types == [READY])
    await is_stored(replicas)
    await replicas.stop(first)
    await replicas.held_by("second")
    await replicas.client.delete(SCALED_OBJECTS.named("default", "app"))
    await eventually(lambda: REMOVED in receiver.types)
    await replicas.stop(replicas.running["second"])
    assert receiver.types == [READY, REMOVED]


async def test_what_waits_when_the_lease_is_lost_is_sent_when_it_is_held_again(
    replicas: Replicas, server: HttpServer
) -> None:
    receiver = Receiver(server, status=503)
    await replicas.create(source(receiver.url))
    only = await replicas.start("only")
    await replicas.create(deployment(), scaled_object(metrics_api(f"{server.url}/jobs")))
    await is_stored(replicas)
    await eventually(lambda: receiver.asked > 1)  # by then the operator has heard that it is stored
    only.cable.pull()
    lost_at = asyncio.get_running_loop().time() + LEASE_SECONDS
    await eventually(lambda: asyncio.get_running_loop().time() > lost_at)
    receiver.status = 204
    only.cable.plug()
    await eventually(lambda: receiver.types == [READY])
    await replicas.stop(only)
