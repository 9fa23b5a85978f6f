"""Destinations that cannot be used are told by their field; Azure Event Grid takes a batch and wants a key."""

import base64
import json
from typing import Any

import pytest
from aiohttp import web

from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, SECRETS, TRIGGER_AUTHENTICATIONS, Obj
from tests import builders
from tests.builders import deployment, from_key, metrics_api, scaled_object, secret
from tests.operator.cloud_events.test_sources import ACTIVE, cluster_source, conditions, create, source
from tests.worlds.world import NAMESPACE, World

REFERENCE = {"name": "topic"}


def topic(endpoint: str, **more: Any) -> Obj:
    return {"destination": {"azureEventGridTopic": {"endpoint": endpoint}}, "authenticationRef": REFERENCE, **more}


def of_topic(kind: str = "TriggerAuthentication", **spec: Any) -> Obj:
    return builders.authentication(
        "topic", kind, NAMESPACE, **spec or {"secretTargetRef": [from_key("accessKey", "topic", "key")]}
    )


async def give_key(world: World, text: str, namespace: str = NAMESPACE) -> None:
    await world.client.create(SECRETS, secret("topic", namespace, key=text))


class Topic:
    """Takes batches from whoever has the key."""

    def __init__(self, world: World, key: str) -> None:
        self.key, self.url = key, f"{world.server.url}/api/events"
        self.asked: list[str] = []
        self.got: list[Any] = []
        world.server.answers["/api/events"] = self._answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        if request.headers.get("aeg-sas-key") != self.key:
            return web.Response(status=401)
        assert request.headers["content-type"] == "application/cloudevents-batch+json; charset=utf-8"
        self.got += json.loads(await request.read())
        return web.Response()


async def test_a_topic_of_event_grid_gets_structured_events(world: World) -> None:
    grid = Topic(world, "open sesame")
    await give_key(world, "open sesame")
    await world.client.create(TRIGGER_AUTHENTICATIONS, of_topic())
    await world.seconds(1)
    await create(world, source("", **topic(grid.url)))
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    assert conditions(world) == [ACTIVE]
    assert grid.asked == ["/api/events?api-version=2018-01-01"]
    (event,) = grid.got
    assert event.pop("id")
    assert event.pop("time").startswith("2026-11-20T12:00:")
    assert event.pop("source").startswith("/test-cluster/")
    assert event == {
        "specversion": "1.0",
        "type": "keda.scaledobject.ready.v1",
        "subject": "/test-cluster/default/scaledobject/app",
        "datacontenttype": "application/json",
        "data": {"reason": "ScaledObjectReady", "message": "ScaledObject is ready for scaling"},
    }


async def test_a_changed_key_is_used_at_once(world: World) -> None:
    grid = Topic(world, "new")
    await give_key(world, "old", "keda")
    await world.client.create(CLUSTER_TRIGGER_AUTHENTICATIONS, of_topic("ClusterTriggerAuthentication"))
    await world.seconds(1)
    reference = {"name": "topic", "kind": "ClusterTriggerAuthentication"}
    await create(world, cluster_source("", **topic(grid.url, authenticationRef=reference)))
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    assert (len(grid.asked) > 0, grid.got) == (True, [])
    key = base64.b64encode(b"new").decode()
    await world.client.patch(SECRETS.named("keda", "topic"), {"data": {"key": key}})
    await world.seconds(1)
    assert [event["type"] for event in grid.got] == ["keda.scaledobject.ready.v1"]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"destination": {}}, "spec.destination: is empty"),
        ({"destination": {"http": {"uri": ""}}}, "spec.destination.http.uri: "),
        ({"destination": {"http": {"uri": "sink"}}}, "spec.destination.http.uri: "),
        ({"destination": {"http": {"uri": "ftp://sink/"}}}, "spec.destination.http.uri: "),
        ({"destination": {"http": {"uri": "http://[::1"}}}, "spec.destination.http.uri: "),
        (topic("nowhere"), "spec.destination.azureEventGridTopic.endpoint: "),
        (topic("https://topic.example", authenticationRef=None), "spec.authenticationRef: no access key"),
        (topic("https://topic.example"), 'spec.authenticationRef: podIdentity "azure-workload" cannot be used'),
    ],
)
async def test_a_destination_that_cannot_be_used_is_told_by_its_field(world: World, spec: Obj, told: str) -> None:
    identity = of_topic(podIdentity={"provider": "azure-workload"})
    await world.client.create(TRIGGER_AUTHENTICATIONS, identity)
    await world.seconds(1)
    await create(world, source("", **{name: value for name, value in spec.items() if value is not None}))
    await world.seconds(1)
    (condition,) = conditions(world)
    assert (condition["status"], condition["reason"]) == ("False", "CloudEventSourceFailed")
    assert condition["message"].startswith(f"Failed to send events to the configured destination: {told}")
