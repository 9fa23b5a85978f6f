"""Replicas are read and written through /scale, for every kind that has one, and never blindly."""

from typing import Any

import pytest
from aiohttp import web

from keda_py.errors import ConfigError, Conflict, NotFound, Unavailable
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import MISSING_REMEMBERED, Discovery
from keda_py.kube.scale import Scale, ScaleTarget, read_scale, write_scale
from tests.kube.faulty_server import FaultyServer, refuses, says

PATH = "/apis/apps/v1/namespaces/ns/deployments/web/scale"
DEPLOYMENT = ScaleTarget(group="apps", version="v1", kind="Deployment", resource="deployments")


def scale(spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "ns", "resourceVersion": "7"}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


async def test_a_scale_says_what_is_wanted_and_what_is_there(server: FaultyServer, client: KubeClient) -> None:
    server.answer(f"GET {PATH}", says(scale({"replicas": 3}, {"replicas": 2, "selector": "app=web"})))
    seen = await read_scale(client, DEPLOYMENT, "ns", "web")
    assert seen == Scale(replicas=3, status_replicas=2, selector="app=web", resource_version="7")


async def test_zero_replicas_are_left_out_on_the_wire(server: FaultyServer, client: KubeClient) -> None:
    server.answer(f"GET {PATH}", says(scale({}, {"replicas": 0})))
    assert (await read_scale(client, DEPLOYMENT, "ns", "web")).replicas == 0


@pytest.mark.parametrize("wrong", [{}, {"spec": None, "metadata": {}}, {"spec": {"replicas": "many"}, "metadata": {}}])
async def test_an_answer_that_is_no_scale_is_not_zero_replicas(
    server: FaultyServer, client: KubeClient, wrong: dict[str, Any]
) -> None:
    server.answer(f"GET {PATH}", says(wrong))
    with pytest.raises(Unavailable, match="not a Scale"):
        await read_scale(client, DEPLOYMENT, "ns", "web")


async def test_a_write_carries_the_version_that_was_seen(server: FaultyServer, client: KubeClient) -> None:
    bodies = []

    async def answer(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        return web.json_response(scale({"replicas": 1}, {"replicas": 0}))

    server.answer(f"PUT {PATH}", answer)
    assert (await write_scale(client, DEPLOYMENT, "ns", "web", 1, "7")).replicas == 1
    assert bodies == [
        {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"namespace": "ns", "name": "web", "resourceVersion": "7"},
            "spec": {"replicas": 1},
        }
    ]


async def test_somebody_elses_write_in_between_is_a_conflict(server: FaultyServer, client: KubeClient) -> None:
    server.answer(f"PUT {PATH}", refuses(409, "Conflict"))
    with pytest.raises(Conflict):
        await write_scale(client, DEPLOYMENT, "ns", "web", 1, "7")


async def test_a_write_without_a_version_is_not_sent(server: FaultyServer, client: KubeClient) -> None:
    with pytest.raises(ValueError, match="blind"):
        await write_scale(client, DEPLOYMENT, "ns", "web", 1, "")
    assert not server.seen


async def test_a_scale_of_openshift_has_a_map_for_a_selector(server: FaultyServer, client: KubeClient) -> None:
    config = ScaleTarget(
        group="apps.openshift.io",
        version="v1",
        kind="DeploymentConfig",
        resource="deploymentconfigs",
        scale_api_version="extensions/v1beta1",
    )
    path = "/apis/apps.openshift.io/v1/namespaces/ns/deploymentconfigs/web/scale"
    server.answer(f"GET {path}", says(scale({"replicas": 1}, {"replicas": 1, "selector": {"app": "web", "x": "y"}})))
    assert (await read_scale(client, config, "ns", "web")).selector == "app=web,x=y"


def served(*names: str) -> dict[str, Any]:
    """Make the APIResourceList of `example.com/v1`; `Kind:plural`, with `/scale` for its subresource."""
    resources = []
    for name in names:
        kind, plural = name.split(":")
        resources.append({"name": plural, "kind": kind, "namespaced": True})
        if plural.endswith("/scale"):
            resources[-1] |= {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    return {"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": resources}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
async def test_the_usual_kinds_are_known_without_asking(server: FaultyServer, client: KubeClient, kind: str) -> None:
    target = await Discovery(client).scale_target("apps/v1", kind)
    assert target.resource == f"{kind.lower()}s"
    assert not server.seen


async def test_an_empty_reference_means_a_deployment(client: KubeClient) -> None:
    assert await Discovery(client).scale_target("", "") == DEPLOYMENT


async def test_any_other_kind_is_looked_up_once(server: FaultyServer, client: KubeClient) -> None:
    server.answer("GET /apis/example.com/v1", says(served("Box:boxen", "x:boxen/status", "x:boxen/scale", "Rod:rods")))
    discovery = Discovery(client)
    target = await discovery.scale_target("example.com/v1", "Box")
    assert (target.resource, target.scale_api_version) == ("boxen", "autoscaling/v1")
    assert (await discovery.find("example.com/v1", "Box")).scale_api_version == "autoscaling/v1"
    assert (await discovery.find("example.com/v1", "Rod")).scale_api_version == ""
    assert len(server.seen) == 1


@pytest.mark.parametrize("answer", [refuses(404, "NotFound"), says(served("Rod:rods"))], ids=["group", "kind"])
async def test_a_kind_nobody_serves_is_not_found_and_not_asked_for_at_every_turn(
    server: FaultyServer, client: KubeClient, answer: Any
) -> None:
    server.answer("GET /apis/example.com/v1", answer)
    discovery = Discovery(client)
    for _ in range(3):
        with pytest.raises(NotFound, match=r'no matches for kind "Box" in version "example\.com/v1"'):
            await discovery.scale_target("example.com/v1", "Box")
    assert len(server.seen) == 1


async def test_a_discovery_that_fails_is_an_unknown_and_asked_again(server: FaultyServer, client: KubeClient) -> None:
    server.answer("GET /apis/example.com/v1", refuses(503, "ServiceUnavailable"), says(served("Box:boxes")))
    discovery = Discovery(client)
    with pytest.raises(Unavailable):
        await discovery.scale_target("example.com/v1", "Box")
    assert (await discovery.scale_target("example.com/v1", "Box")).resource == "boxes"


async def test_an_api_version_that_cannot_be_one_is_a_config_error(client: KubeClient) -> None:
    with pytest.raises(ConfigError, match="not GROUP/VERSION"):
        await Discovery(client).scale_target("a/b/c", "Box")


async def test_a_resource_is_found_by_its_plural_in_the_preferred_version(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer("GET /apis/example.com", says({"preferredVersion": {"groupVersion": "example.com/v1"}}))
    server.answer("GET /apis/example.com/v1", says(served("Box:boxes")))
    discovery = Discovery(client)
    assert (await discovery.resource("boxes.example.com")).kind == "Box"
    with pytest.raises(NotFound, match="rods"):
        await discovery.resource("rods.example.com")


async def test_versions_that_are_made_up_are_forgotten_and_those_that_are_served_are_not(
    server: FaultyServer, client: KubeClient
) -> None:
    box = {"name": "boxes", "kind": "Box", "namespaced": True}
    server.answer("GET /apis/shop/v1", says({"resources": [box]}))
    discovery = Discovery(client)
    await discovery.find("shop/v1", "Box")
    for number in range(2 * MISSING_REMEMBERED):
        with pytest.raises(NotFound):
            await discovery.find(f"made-up/v{number}", "Box")
    assert len(discovery) <= MISSING_REMEMBERED + 2
    asked = len(server.seen)
    await discovery.find("shop/v1", "Box")
    await discovery.find("apps/v1", "Deployment")
    assert len(server.seen) == asked


async def test_of_text_that_is_no_version_nothing_is_asked_or_kept(server: FaultyServer, client: KubeClient) -> None:
    discovery = Discovery(client)
    before = len(discovery)
    for text in ("a/b/c", "x" * 100_000, "../secrets"):
        with pytest.raises(ConfigError) as refused:
            await discovery.find(text, "Box")
        assert len(str(refused.value)) < 500
    assert (len(discovery), server.seen) == (before, [])
