"""CloudEventSources in a cluster: who gets which event, what their condition says, and that nobody waits for them."""

from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import (
    CLOUD_EVENT_SOURCES,
    CLUSTER_CLOUD_EVENT_SOURCES,
    CLUSTER_TRIGGER_AUTHENTICATIONS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    NAMESPACES,
    SCALED_JOBS,
    SCALED_OBJECTS,
    TRIGGER_AUTHENTICATIONS,
    Obj,
    Resource,
)
from keda_py.localkube.cluster import ClusterOptions
from tests.builders import a_namespace, authentication, deployment, from_key, metrics_api, scaled_job, scaled_object
from tests.http_server import HttpServer
from tests.operator.cloud_events.receiver import Receiver
from tests.operator.scaled_objects.test_events import NO_STATUS, allow
from tests.operator.test_metrics_page import read
from tests.waiting import eventually
from tests.worlds.world import NAMESPACE, World, open_world

PAUSED = {"autoscaling.keda.sh/paused": "true"}
ACTIVE = {
    "type": "Active",
    "status": "True",
    "reason": "CloudEventSourceActive",
    "message": "Is configured to send events to the configured destination",
}
FAILED = {
    "type": "Active",
    "status": "False",
    "reason": "CloudEventSourceFailed",
    "message": "Failed to send events to the configured destination",
}
FIVE_ATTEMPTS_SECONDS = 7.5


def source(uri: str, name: str = "sink", **spec: Any) -> Obj:
    spec = {"clusterName": "test-cluster", "destination": {"http": {"uri": uri}}, **spec}
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "eventing.keda.sh/v1alpha1", "kind": "CloudEventSource", "metadata": meta, "spec": spec}


def cluster_source(uri: str, name: str = "sink", **spec: Any) -> Obj:
    body = source(uri, name, **spec)
    return body | {"kind": "ClusterCloudEventSource", "metadata": {"name": name}}


async def create(world: World, *bodies: Obj) -> None:
    kinds = {resource.kind: resource for resource in (CLOUD_EVENT_SOURCES, CLUSTER_CLOUD_EVENT_SOURCES)}
    for body in bodies:
        await world.client.create(kinds[body["kind"]], body)
    await world.clock.settle()


def find(world: World, name: str = "sink", resource: Resource = CLOUD_EVENT_SOURCES) -> Obj:
    return dict(world.get(resource, name))


def conditions(world: World, name: str = "sink", resource: Resource = CLOUD_EVENT_SOURCES) -> list[Obj]:
    return list((find(world, name, resource).get("status") or {}).get("conditions") or [])


@pytest.fixture
def receiver(world: World) -> Receiver:
    return Receiver(world.server)


async def test_the_life_of_a_scaledobject(world: World, receiver: Receiver) -> None:
    await create(world, source(receiver.url))
    await world.create(scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    await world.create(deployment())
    await world.seconds(1)
    await world.annotate(PAUSED)
    await world.seconds(1)
    await world.annotate(dict.fromkeys(PAUSED))
    await world.seconds(1)
    await world.delete(SCALED_OBJECTS)
    await world.seconds(1)
    kinds = ("failed", "failed", "ready", "paused", "unpaused", "removed")
    assert receiver.types == [f"keda.scaledobject.{kind}.v1" for kind in kinds]
    headers, data = receiver.got[-1]
    assert headers["ce-source"].startswith("/test-cluster/")
    assert headers["ce-subject"] == "/test-cluster/default/scaledobject/app"
    assert headers["content-type"] == "application/json"
    assert data == {"reason": "ScaledObjectDeleted", "message": "ScaledObject was deleted"}
    told = [reason for reason, _ in world.notes() if not reason.startswith("KEDA")]
    assert sorted(told) == sorted(data["reason"] for _, data in receiver.got)


async def test_the_life_of_a_scaledjob(world: World, receiver: Receiver) -> None:
    world.jobs(1)
    body = scaled_job(metrics_api(world.url, 1), namespace=NAMESPACE)
    await create(world, source(receiver.url))
    await world.client.create(SCALED_JOBS, body)
    await world.seconds(2)
    for change in ({"spec": {"maxReplicaCount": 3}}, {"metadata": {"annotations": PAUSED}}):
        await world.patch(SCALED_JOBS, change, "work")
        await world.seconds(2)
    await world.delete(SCALED_JOBS, "work")
    await world.seconds(1)
    kinds = ("ready", "rolloutcleanup.started", "rolloutcleanup.completed", "paused", "removed")
    assert receiver.types == [f"keda.scaledjob.{kind}.v1" for kind in kinds]


async def test_the_life_of_an_authentication(world: World, receiver: Receiver) -> None:
    await create(world, source(receiver.url))
    secret = from_key("password", "login")
    login = authentication("login", namespace=NAMESPACE, secretTargetRef=[secret])
    await world.client.create(TRIGGER_AUTHENTICATIONS, login)
    await world.seconds(1)
    change = {"spec": {"secretTargetRef": [secret | {"key": "token"}]}}
    await world.patch(TRIGGER_AUTHENTICATIONS, change, "login")
    await world.seconds(1)
    await world.delete(TRIGGER_AUTHENTICATIONS, "login")
    await world.seconds(1)
    prefix = "keda.authentication.triggerauthentication"
    assert receiver.types == [f"{prefix}.{kind}.v1" for kind in ("created", "updated", "removed")]
    assert receiver.got[1][0]["ce-subject"] == "/test-cluster/default/triggerauthentication/login"


async def test_each_source_gets_what_it_wants_and_no_filter_touches_another(world: World, receiver: Receiver) -> None:
    others = {name: Receiver(world.server, f"/{name}") for name in ("failed", "rest", "cluster")}
    await create(
        world,
        source(
            others["failed"].url, "failed", eventSubscription={"includedEventTypes": ["keda.scaledobject.failed.v1"]}
        ),
        source(others["rest"].url, "rest", eventSubscription={"excludedEventTypes": ["keda.scaledobject.failed.v1"]}),
        cluster_source(others["cluster"].url, clusterName=""),
        source(receiver.url),
    )
    await world.create(scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    await world.create(deployment())
    await world.seconds(1)
    assert set(others["failed"].types) == {"keda.scaledobject.failed.v1"}
    assert others["rest"].types == ["keda.scaledobject.ready.v1"]
    assert receiver.types == others["cluster"].types == [*others["failed"].types, "keda.scaledobject.ready.v1"]
    assert receiver.ids == others["cluster"].ids
    assert others["cluster"].got[0][0]["ce-subject"] == "/kubernetes-default/default/scaledobject/app"


async def tell_of_another_namespace(world: World) -> None:
    """A ScaledObject without a target, in a namespace beside the one of `source`; and a kind that is in none."""
    await world.client.create(NAMESPACES, a_namespace("team"))
    body = scaled_object(metrics_api(world.url))
    body["metadata"]["namespace"] = "team"
    await world.client.create(SCALED_OBJECTS, body)
    secret = {"parameter": "password", "name": "login", "key": "password"}
    login = {"apiVersion": "keda.sh/v1alpha1", "kind": "ClusterTriggerAuthentication", "metadata": {"name": "login"}}
    await world.client.create(CLUSTER_TRIGGER_AUTHENTICATIONS, login | {"spec": {"secretTargetRef": [secret]}})
    await world.seconds(1)


ELSEWHERE = {"/test-cluster/team/scaledobject/app", "/test-cluster//clustertriggerauthentication/login"}


async def test_a_source_of_a_namespace_is_not_told_of_another(world: World, receiver: Receiver) -> None:
    wide = Receiver(world.server, "/wide")
    await create(world, source(receiver.url), cluster_source(wide.url))
    await tell_of_another_namespace(world)
    await world.create(scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    assert {headers["ce-subject"] for headers, _ in receiver.got} == {"/test-cluster/default/scaledobject/app"}
    assert {headers["ce-subject"] for headers, _ in wide.got} > ELSEWHERE


async def test_a_source_of_a_namespace_is_told_of_all_where_the_installation_says_so(
    world: World, receiver: Receiver
) -> None:
    await world.operator.stop()
    world.operator.flags["cloud-event-source-all-namespaces"] = "true"
    await world.operator.start()
    await create(world, source(receiver.url))
    await tell_of_another_namespace(world)
    assert {headers["ce-subject"] for headers, _ in receiver.got} == ELSEWHERE


async def test_a_source_is_active_until_five_attempts_have_failed_and_again_when_one_has_not(
    world: World, receiver: Receiver
) -> None:
    writes = world.writes_of(CLOUD_EVENT_SOURCES, "sink")
    await create(world, source(receiver.url), cluster_source(receiver.url))
    assert conditions(world) == conditions(world, resource=CLUSTER_CLOUD_EVENT_SOURCES) == [ACTIVE]
    receiver.status = 503
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(FIVE_ATTEMPTS_SECONDS)
    assert conditions(world) == conditions(world, resource=CLUSTER_CLOUD_EVENT_SOURCES) == [FAILED]
    receiver.status = 202
    await world.seconds(60)
    assert conditions(world) == conditions(world, resource=CLUSTER_CLOUD_EVENT_SOURCES) == [ACTIVE]
    assert receiver.types == ["keda.scaledobject.ready.v1"] * 2
    assert len(writes) == 4, "created, and one write for each change"
    about = [one for one in world.all(EVENTS, NAMESPACE) if one["reason"] == "CloudEventSourceFailed"]
    assert [one["message"] for one in about] == [f"{FAILED['message']}: status 503"] * 2


async def test_a_destination_that_is_none_is_told_and_events_wait_until_it_is_put_right(
    world: World, receiver: Receiver
) -> None:
    await create(world, source("nowhere"))
    (condition,) = conditions(world)
    assert (condition["status"], condition["reason"]) == ("False", "CloudEventSourceFailed")
    assert condition["message"].startswith(f"{FAILED['message']}: spec.destination.http.uri: ")
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    await world.patch(CLOUD_EVENT_SOURCES, {"spec": {"destination": {"http": {"uri": receiver.url}}}}, "sink")
    await world.seconds(1)
    assert conditions(world) == [ACTIVE]
    assert receiver.types == ["keda.scaledobject.ready.v1"]


async def test_a_sink_that_never_answers_holds_up_nobody(world: World, receiver: Receiver) -> None:
    dead = Receiver(world.server, "/dead")
    dead.open.clear()
    await create(world, source(dead.url, "dead"), source(receiver.url))
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await eventually(lambda: receiver.types == ["keda.scaledobject.ready.v1"])
    await eventually(lambda: world.condition("Ready") == ("True", "ScaledObjectReady"))
    await world.delete(SCALED_OBJECTS)
    await eventually(lambda: receiver.types[1:] == ["keda.scaledobject.removed.v1"])
    assert (dead.asked, dead.got) == (1, [])
    dead.open.set()
    await world.seconds(1)
    assert dead.types == receiver.types


async def test_what_a_sink_has_not_taken_yet_is_sent_at_sigterm(world: World, receiver: Receiver) -> None:
    receiver.statuses = [503]
    await create(world, source(receiver.url))
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.clock.settle()
    assert receiver.types == []
    await world.operator.stop()
    assert receiver.types == ["keda.scaledobject.ready.v1"]


async def test_a_removal_is_told_even_if_the_namespace_goes_too(world: World, receiver: Receiver) -> None:
    await create(world, cluster_source(receiver.url))
    await world.client.create(NAMESPACES, a_namespace("team"))
    body = scaled_object(metrics_api(world.url))
    body["metadata"]["namespace"] = "team"
    await world.client.create(SCALED_OBJECTS, body)
    await world.seconds(1)
    await world.client.delete(NAMESPACES.named("", "team"))
    await world.seconds(2)
    assert receiver.types[-1] == "keda.scaledobject.removed.v1"
    assert receiver.got[-1][0]["ce-subject"] == "/test-cluster/team/scaledobject/app"


async def test_a_source_that_is_deleted_gets_nothing_any_more_even_if_keda_had_put_its_finalizer(
    world: World, receiver: Receiver
) -> None:
    body = source(receiver.url)
    body["metadata"]["finalizers"] = ["finalizer.keda.sh"]
    await create(world, body)
    await world.delete(CLOUD_EVENT_SOURCES, "sink")
    await world.seconds(1)
    assert world.find(CLOUD_EVENT_SOURCES, "sink") is None
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    assert receiver.asked == 0


async def test_the_first_event_after_a_start_is_not_missed(quiet_world: World) -> None:
    world, receiver = quiet_world, Receiver(quiet_world.server)
    await create(world, source(receiver.url))
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.operator.start()
    await world.seconds(1)
    assert receiver.types == ["keda.scaledobject.ready.v1"]


async def test_the_operator_works_where_the_kinds_are_not_installed(quiet_world: World) -> None:
    world = quiet_world
    for resource in (CLOUD_EVENT_SOURCES, CLUSTER_CLOUD_EVENT_SOURCES):
        await world.client.delete(CUSTOM_RESOURCE_DEFINITIONS.named("", f"{resource.plural}.{resource.group}"))
    await world.operator.start()
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    assert world.condition("Ready") == ("True", "ScaledObjectReady")


async def test_the_metrics_page_counts_events_and_sources(world: World, receiver: Receiver) -> None:
    await create(world, source(receiver.url), cluster_source(receiver.url, "wide"))
    receiver.statuses = [503]
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    page = await read(world)
    emitted = 'keda_cloudeventsource_events_emitted_total{{cloudeventsource="{}",eventsink="http",namespace="default",state="{}"}}'
    assert page[emitted.format("sink", "emitted")] == page[emitted.format("wide", "emitted")] == 1
    assert page[emitted.format("sink", "failed")] + page.get(emitted.format("wide", "failed"), 0) == 1
    assert page['keda_cloudeventsource_events_queued{namespace="default"}'] == 0
    assert page['keda_resource_registered_total{namespace="default",type="cloudevent_source"}'] == 2
    await world.delete(CLOUD_EVENT_SOURCES, "sink")
    await world.seconds(1)
    assert [name for name in await read(world) if 'cloudeventsource="sink"' in name] == []


async def test_a_status_that_may_not_be_written_is_tried_seldom_and_events_are_sent_all_the_same(
    tmp_path: Path, server: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_world(tmp_path, server, options=ClusterOptions(enforce_rbac=True)) as world:
        await allow(world, NO_STATUS)
        await world.operator.start()
        receiver = Receiver(world.server)
        await create(world, source(receiver.url))
        await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=10))
        await world.seconds(600)
        assert conditions(world) == []
        assert receiver.types == ["keda.scaledobject.failed.v1"]
        told = [one for one in caplog.records if one.message == "work on cloudeventsource was interrupted"]
        assert [one.levelname for one in told if one.levelname != "DEBUG"] == ["WARNING"]
