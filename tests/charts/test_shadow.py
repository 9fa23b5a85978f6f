"""The chart's shadow: rights to read and none to write, and with these none of its requests is refused."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, SCALED_OBJECTS
from keda_py.localkube.access.identity import service_account
from keda_py.localkube.cluster import ClusterOptions
from keda_py.operator.shadow.app import Shadow, run_shadow
from keda_py.settings.settings import load_settings
from tests.builders import (
    a_namespace,
    authentication,
    box_definition,
    boxen,
    config_map,
    deployment,
    from_key,
    metrics_api,
    obj,
    scaled_job,
    scaled_object,
    secret,
)
from tests.charts.rendering import Obj, only, render
from tests.charts.rights import noted
from tests.http_server import http_server
from tests.kubeconfigs import token_kubeconfig
from tests.worlds.world import World, open_world

SHADOW = service_account("keda", "keda-py-shadow")
GROUP = "example.com"
READING = {"get", "list", "watch"}


@pytest.mark.parametrize("values", [{}, {"watchNamespace": "shop"}, {"clusterScoped": {"create": False}}])
def test_no_role_of_a_shadow_gives_a_right_to_write(values: dict[str, Any]) -> None:
    objects = render(shadow={"enabled": True}, webhooks={"enabled": True}, **values)
    verbs = {verb for one in objects for rule in one.get("rules", ()) for verb in rule["verbs"]}
    assert verbs <= READING
    assert all(one["metadata"]["name"].startswith("keda-py-shadow") for one in objects)
    kinds = {one["kind"] for one in objects}
    assert kinds.isdisjoint(
        {"APIService", "ValidatingWebhookConfiguration", "CustomResourceDefinition", "Certificate", "Issuer"}
    )
    bound = {one["roleRef"]["name"] for one in objects if "roleRef" in one}
    assert bound <= {"keda-py-shadow", "keda-py-shadow-watched"}


@pytest.mark.parametrize("values", [{}, {"watchNamespace": "shop"}], ids=["everywhere", "one namespace"])
async def test_no_request_of_a_shadow_writes_and_none_is_refused(values: dict[str, Any], tmp_path: Path) -> None:
    objects = render(shadow={"enabled": True}, **values)
    options = ClusterOptions(enforce_rbac=True)
    async with http_server() as server, open_world(tmp_path, server, options=options) as world:
        await world.apply(a_namespace("keda"), a_namespace("shop"), *objects)
        world.namespace = "shop"
        await be_a_tenant(world, world.url)
        world.jobs(3)
        before = [one["metadata"]["resourceVersion"] for one in world.all(SCALED_OBJECTS)]
        kubeconfig = tmp_path / "shadow"
        kubeconfig.write_text(token_kubeconfig(world.cluster, SHADOW, world.operator.api_server))
        stopping, begun = asyncio.Event(), asyncio.get_running_loop().create_future()
        settings = load_settings(*told(objects, str(kubeconfig)))
        with noted(SHADOW.name) as used:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(run_shadow(settings, world.clock, stopping, begun.set_result))
                shadow: Shadow = await asyncio.wait_for(begun, 60)
                await world.seconds(90)
                stopping.set()
        assert {one.claim.matter.value for one in shadow.ledger.holding()} == {"Replicas", "HPA", "Jobs"}
        assert shadow.ledger.compared == 3
        assert {request.headers.get("Authorization") for request in server.asked} == {"Bearer hush"}
        assert {right.verb for right in used} == READING
        assert [one["metadata"]["resourceVersion"] for one in world.all(SCALED_OBJECTS)] == before
        page = world.cluster.routes.metrics.answer().body
        assert isinstance(page, bytes)
        assert b'code="403"' not in page


async def be_a_tenant(world: World, url: str) -> None:
    """Objects that need a Secret, a ConfigMap, the token of no account, and a target of another kind."""
    await world.client.create(CUSTOM_RESOURCE_DEFINITIONS, box_definition(GROUP))
    references = {
        "secretTargetRef": [from_key("token", "hidden", "token")],
        "configMapTargetRef": [from_key("place", "open", "place")],
    }
    trigger = metrics_api(url, authenticationRef={"name": "auth"})
    trigger["metadata"]["authMode"] = "bearer"
    box = obj(f"{GROUP}/v1", "Box", "box", "shop", spec={"replicas": 0})
    target = {"apiVersion": f"{GROUP}/v1", "kind": "Box", "name": "box"}
    await world.create(secret("hidden", token="hush"), config_map("open", place="here"), authentication(**references))
    await world.create(deployment(), scaled_object(trigger))
    await world.client.create(boxen(GROUP), box)
    await world.create(scaled_object(trigger, name="boxed", scaleTargetRef=target), scaled_job(trigger))


def told(objects: list[Obj], kubeconfig: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Flags and variables of the rendered container, on free ports."""
    pod = only(objects, "Deployment", "keda-py-shadow", "keda")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    pairs = (argument.removeprefix("--").partition("=") for argument in container["args"][1:])
    own = {"kubeconfig": kubeconfig, "metrics-bind-address": "0", "health-probe-bind-address": "0"}
    flags = {name: value for name, _, value in pairs} | own | {"shadow-report-address": "127.0.0.1:0"}
    env = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    return {name: [value] for name, value in flags.items()}, env | {"POD_NAMESPACE": "keda"}
