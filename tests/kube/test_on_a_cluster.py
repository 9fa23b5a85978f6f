"""The client against a whole API server: the embedded cluster, or a real one with `--kubeconfig`."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from keda_py.clock import SteppedClock, SystemClock
from keda_py.errors import AlreadyExists, Conflict, Invalid, NotFound
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.discovery import Discovery
from keda_py.kube.events import EventRecorder
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.leases.lease import Election
from keda_py.kube.leases.lease_record import LeaseSpec
from keda_py.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NAMESPACES,
    Obj,
    Selection,
)
from keda_py.kube.scale import read_scale, write_scale
from keda_py.kube.status import patch_status
from keda_py.localkube.cluster import LocalCluster
from tests import builders
from tests.builders import box_definition, boxen, deployment
from tests.kube.faulty_server import running
from tests.kubeconfigs import token_kubeconfig
from tests.waiting import PAUSE, eventually


@pytest.fixture
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """Return the path of a kubeconfig."""
    given = request.config.getoption("--kubeconfig", default=None)
    if given:
        yield given
        return
    async with LocalCluster() as local:
        path = tmp_path / "kubeconfig"
        path.write_text(token_kubeconfig(local))
        yield str(path)


@pytest.fixture
async def client(cluster: str) -> AsyncIterator[KubeClient]:
    async with KubeClient(SystemClock(), cluster) as opened:
        yield opened


@pytest.fixture
async def namespace(client: KubeClient) -> AsyncIterator[str]:
    name = f"kube-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, builders.a_namespace(name))
    yield name
    await client.delete(NAMESPACES.named("", name))


def labelled_map(namespace: str, name: str, **data: str) -> Obj:
    built = builders.config_map(name, namespace, **data)
    built["metadata"]["labels"] = {"test": "kube"}
    return built


async def test_an_object_lives_and_dies_under_the_servers_rules(client: KubeClient, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, labelled_map(namespace, "a", x="1"))
    path = CONFIG_MAPS.named(namespace, "a")
    with pytest.raises(AlreadyExists):
        await client.create(CONFIG_MAPS, labelled_map(namespace, "a"))
    patched = await client.patch(path, {"data": {"y": "2", "x": None}})
    assert patched["data"] == {"y": "2"}
    with pytest.raises(Conflict):
        await client.update(path, {**created, "data": {"x": "3"}})
    with pytest.raises(Conflict):
        await client.delete(path, uid=str(uuid4()))
    await client.delete(path, uid=created["metadata"]["uid"])
    with pytest.raises(NotFound):
        await client.get(path)


async def test_an_object_is_applied_by_its_field_manager(client: KubeClient, namespace: str) -> None:
    path = CONFIG_MAPS.named(namespace, "applied")
    applied = await client.patch(path, labelled_map(namespace, "applied", x="1"), PatchKind.APPLY)
    assert applied["data"] == {"x": "1"}
    again = await client.patch(path, labelled_map(namespace, "applied", y="2"), PatchKind.APPLY)
    assert again["data"] == {"y": "2"}


async def test_a_refused_object_says_which_field(client: KubeClient, namespace: str) -> None:
    wrong = deployment("web", 1, namespace=namespace)
    wrong["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    with pytest.raises(Invalid, match=r"spec\.template\.metadata\.labels"):
        await client.create(DEPLOYMENTS, wrong)


async def test_an_informer_follows_a_namespace(client: KubeClient, namespace: str) -> None:
    await client.create(CONFIG_MAPS, labelled_map(namespace, "before", x="1"))
    spec = InformerSpec(resource=CONFIG_MAPS, namespaces=(namespace,), selection=Selection(labels="test=kube"))
    informer, heard = Informer(client, spec), []
    informer.subscribe(lambda old, new: heard.append(("+" if new else "-") + (new or old or {})["metadata"]["name"]))
    async with running(informer.run()):
        await informer.wait_synced()
        await client.create(CONFIG_MAPS, labelled_map(namespace, "after"))
        await client.patch(CONFIG_MAPS.named(namespace, "before"), {"data": {"x": "2"}})
        await client.delete(CONFIG_MAPS.named(namespace, "after"))
        await eventually(lambda: "-after" in heard)
        before = informer.get(namespace, "before")
        assert before is not None
        assert (before["kind"], before["data"]) == ("ConfigMap", {"x": "2"})
    assert heard == ["+before", "+after", "+before", "-after"]


async def test_an_informer_of_one_name_sees_no_other(client: KubeClient, namespace: str) -> None:
    spec = InformerSpec(
        resource=CONFIG_MAPS, namespaces=(namespace,), selection=Selection(fields="metadata.name=wanted")
    )
    informer = Informer(client, spec)
    async with running(informer.run()):
        await informer.wait_synced()
        await client.create(CONFIG_MAPS, labelled_map(namespace, "other"))
        await client.create(CONFIG_MAPS, labelled_map(namespace, "wanted"))
        await eventually(lambda: informer.get(namespace, "wanted") is not None)
        assert len(informer) == 1


async def test_a_thousand_objects_are_listed_in_pages_and_followed(client: KubeClient, namespace: str) -> None:
    spec = InformerSpec(resource=CONFIG_MAPS, namespaces=(namespace,), selection=Selection(labels="test=kube"))
    early, late = Informer(client, spec), Informer(client, spec)
    async with running(early.run()):
        await early.wait_synced()
        for start in range(0, 1100, 50):
            names = [f"c{number}" for number in range(start, start + 50)]
            await asyncio.gather(*(client.create(CONFIG_MAPS, labelled_map(namespace, name)) for name in names))
        await eventually(lambda: len(early) == 1100)
        async with running(late.run()):
            await late.wait_synced()
            assert len(late) == 1100
        listed = await client.list(CONFIG_MAPS, namespace, Selection(labels="test=kube"))
    assert len({obj["metadata"]["name"] for obj in listed}) == 1100


async def test_replicas_go_through_scale_and_a_stale_version_is_a_conflict(client: KubeClient, namespace: str) -> None:
    await client.create(DEPLOYMENTS, deployment("web", namespace=namespace))
    target = await Discovery(client).scale_target("apps/v1", "Deployment")
    seen = await read_scale(client, target, namespace, "web")
    assert (seen.replicas, seen.selector) == (0, "app=web")
    await client.patch(DEPLOYMENTS.named(namespace, "web"), {"spec": {"replicas": 3}})
    with pytest.raises(Conflict):
        await write_scale(client, target, namespace, "web", 1, seen.resource_version)
    newest = await read_scale(client, target, namespace, "web")
    written = await write_scale(client, target, namespace, "web", 0, newest.resource_version)
    assert (written.replicas, written.resource_version != newest.resource_version) == (0, True)
    assert (await client.get(DEPLOYMENTS.named(namespace, "web")))["spec"]["replicas"] == 0


async def test_a_kind_without_scale_is_not_found(client: KubeClient, namespace: str) -> None:
    await client.create(CONFIG_MAPS, labelled_map(namespace, "a"))
    target = await Discovery(client).scale_target("v1", "ConfigMap")
    with pytest.raises(NotFound):
        await read_scale(client, target, namespace, "a")


async def test_a_custom_resource_is_discovered_scaled_and_given_a_status(client: KubeClient, namespace: str) -> None:
    group = f"{namespace}.example.com"
    kind = boxen(group)
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, box_definition(group))
    try:
        box = {"apiVersion": kind.api_version, "kind": "Box", "metadata": {"namespace": namespace, "name": "b"}}
        async with asyncio.timeout(10):
            while True:
                try:
                    created = await client.create(kind, {**box, "spec": {"size": 2}})
                    break
                except NotFound:
                    await asyncio.sleep(PAUSE)
        discovery = Discovery(client)
        assert (await discovery.find(kind.api_version, "Box")).scale_api_version == "autoscaling/v1"
        target = await discovery.scale_target(kind.api_version, "Box")
        patched = await patch_status(client, kind, created, {"size": 1, "selector": "box=b"})
        assert patched is not None
        seen = await read_scale(client, target, namespace, "b")
        assert (seen.replicas, seen.status_replicas, seen.selector) == (2, 1, "box=b")
        await write_scale(client, target, namespace, "b", 5, seen.resource_version)
        assert (await client.get(kind.named(namespace, "b")))["spec"]["size"] == 5
        assert await patch_status(client, kind, patched, {"size": 1, "selector": "box=b"}) is None
        namesake = {**created, "metadata": {**created["metadata"], "uid": str(uuid4())}}
        with pytest.raises(Conflict):
            await patch_status(client, kind, namesake, {"size": 9})
        assert (await discovery.resource(f"boxen.{group}")).kind == "Box"
    finally:
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS.named("", f"boxen.{group}"))


async def test_an_event_and_its_repeat_are_accepted(client: KubeClient, namespace: str) -> None:
    about = await client.create(CONFIG_MAPS, labelled_map(namespace, "a"))
    recorder = EventRecorder(client, instance="pod-1")
    for _ in range(2):
        recorder.record(about, "Normal", "Tested", "something happened")
        await recorder.flush(5.0)
    found = [event for event in await client.list(EVENTS, namespace) if event["reason"] == "Tested"]
    assert [(event["note"], event["series"]["count"]) for event in found] == [("something happened", 2)]
    assert recorder.dropped == 0


async def test_a_lease_is_taken_renewed_and_released(client: KubeClient, namespace: str) -> None:
    def spec(identity: str) -> LeaseSpec:
        return LeaseSpec(
            namespace=namespace,
            name="operator.keda.sh",
            identity=identity,
            duration=6.0,
            renew_deadline=4.0,
            retry_period=0.2,
        )

    one, two = Election(client, spec("one")), Election(client, spec("two"))
    async with running(one.watch(), two.watch()):
        async with running(two.run(asyncio.Event().wait, "two:6443")):
            await eventually(lambda: two.is_leader)
            async with running(one.run(asyncio.Event().wait)):
                await eventually(lambda: one.holder is not None and one.holder.address == "two:6443")
                assert not one.is_leader
        await two.release()
        async with running(one.run(asyncio.Event().wait)):
            await eventually(lambda: one.is_leader)
    lease = await client.get(LEASES.named(namespace, "operator.keda.sh"))
    assert lease["spec"]["holderIdentity"] == "one"


async def test_virtual_time_waits_until_a_change_has_been_heard(tmp_path: Path) -> None:
    clock = SteppedClock(datetime(2026, 1, 1, tzinfo=UTC))
    path, heard = tmp_path / "kubeconfig", []
    async with LocalCluster(clock=clock) as local:
        path.write_text(token_kubeconfig(local))
        async with KubeClient(clock, str(path)) as client:
            spec = InformerSpec(resource=CONFIG_MAPS, namespaces=("default",), selection=Selection(labels="test=kube"))
            informer = Informer(client, spec)
            informer.subscribe(lambda old, new: heard.append(clock.monotonic()))

            async def write(number: int) -> None:
                await clock.sleep(number * 3600.0)
                await client.create(CONFIG_MAPS, labelled_map("default", f"c{number}"))

            async with running(informer.run()):
                await informer.wait_synced()
                async with asyncio.TaskGroup() as group:
                    for number in (1, 2, 3):
                        group.create_task(write(number))
                    await clock.advance(86400.0)
                await eventually(lambda: len(heard) == 3)
    assert heard == [3600.0, 7200.0, 10800.0]
