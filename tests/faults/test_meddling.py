"""Others who delete, edit and forbid what the operator works with: it waits, says so, and goes on when it may."""

from datetime import timedelta
from typing import Any

from keda_py.apis.kinds.crds import build_crds
from keda_py.kube.client import PatchKind
from keda_py.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    SCALED_OBJECTS,
    SECRETS,
    Resource,
)
from keda_py.localkube.model.calls import User
from tests.builders import authentication, cron, deployment, from_key, metrics_api, scaled_object, secret
from tests.faults.faulty import of, refuses, writes
from tests.faults.ordeal import Ordeal, ordeal
from tests.worlds.world import HPA

OPERATOR = User(name="operator", groups=())
RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(group=RBAC, version="v1", kind="ClusterRole", plural="clusterroles", namespaced=False)
BINDINGS = Resource(group=RBAC, version="v1", kind="ClusterRoleBinding", plural="clusterrolebindings", namespaced=False)
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
hpas = of(HORIZONTAL_POD_AUTOSCALERS.plural)
SCALED_OBJECT_CRD = CUSTOM_RESOURCE_DEFINITIONS.named("", "scaledobjects.keda.sh")


async def give(one: Ordeal, rules: list[Any]) -> None:
    change = [{"op": "replace", "path": "/rules", "value": rules}]
    await one.world.client.patch(ROLES.named("", "operator"), change, PatchKind.JSON)


@ordeal
async def test_rights_that_are_taken_away_stop_everything_and_given_back_start_it(one: Ordeal) -> None:
    world = one.world
    await world.operator.stop()
    kinds = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": "operator"}}
    await world.client.create(ROLES, {**kinds, "kind": "ClusterRole", "rules": EVERYTHING})
    subjects = [{"kind": "User", "name": OPERATOR.name, "apiGroup": RBAC}]
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "operator"}
    await world.client.create(BINDINGS, {**kinds, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects})
    world.operator.user = OPERATOR
    await world.operator.start()
    counts = await one.wake()
    await give(one, [])
    world.operator.cable.pull()
    world.operator.cable.plug()
    world.jobs(0)
    await one.live(300, step=10)
    assert {version["spec"]["replicas"] for version in counts} <= {1}
    assert len(one.shouts.records) < 100
    await give(one, EVERYTHING)
    await one.until(lambda: world.replicas() == 0, 90)
    await one.assert_sound()


@ordeal
async def test_a_crd_that_is_deleted_and_made_again_begins_anew(one: Ordeal) -> None:
    world = one.world
    await one.wake()
    await world.client.delete(SCALED_OBJECT_CRD)
    await one.until(lambda: world.find(HORIZONTAL_POD_AUTOSCALERS, HPA) is None)
    assert world.replicas() == 1
    await one.live(30, step=5)
    crd = next(crd for crd in build_crds() if crd["metadata"]["name"] == "scaledobjects.keda.sh")
    await world.cluster.apply([crd])
    await one.live(30, step=5)
    spec = {"cooldownPeriod": 30, "pollingInterval": 5}
    await world.create(scaled_object(metrics_api(world.url), **spec))
    await one.until(lambda: world.condition("Ready")[0] == "True", 60)
    await one.assert_sound()


@ordeal
async def test_a_scale_target_that_is_deleted_and_made_again_is_scaled_again(one: Ordeal) -> None:
    world = one.world
    await one.wake()
    await world.delete(DEPLOYMENTS)
    await one.live(30, step=5)
    assert world.condition("Ready")[0] != "True"
    await world.create(deployment())
    assert await one.until(lambda: world.replicas() == 1) <= 6
    assert len(one.shouts.records) < 10
    await one.assert_sound()


@ordeal
async def test_an_hpa_that_somebody_fights_over_is_put_right_each_time(one: Ordeal) -> None:
    world = one.world
    await one.wake()
    spec = world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"]
    for change in ({"maxReplicas": 99}, {"minReplicas": 2}, {"scaleTargetRef": {"name": "elsewhere"}}):
        await world.patch(HORIZONTAL_POD_AUTOSCALERS, {"spec": change}, HPA)
        assert await one.until(lambda: world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"] == spec) <= 2
    for _ in range(3):
        await world.delete(HORIZONTAL_POD_AUTOSCALERS, HPA)
        await one.until(lambda: world.find(HORIZONTAL_POD_AUTOSCALERS, HPA) is not None, 5)
    assert world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"] == spec
    await one.assert_sound()


@ordeal
async def test_a_secret_that_is_deleted_and_made_again_is_taken_up_within_seconds(one: Ordeal) -> None:
    world = one.world
    key = authentication(secretTargetRef=[from_key("apiKey", "key", "key")])
    trigger = metrics_api(world.url, authenticationRef={"name": "auth"})
    trigger["metadata"] |= {"authMode": "apiKey"}
    await world.cluster.apply([secret("key", key="sesame"), key])
    world.jobs(1)
    await world.create(deployment(), scaled_object(trigger, cooldownPeriod=30, pollingInterval=5))
    await one.until(lambda: world.replicas() == 1 and world.condition("Ready")[0] == "True")
    one.settle()
    counts = world.writes_of(DEPLOYMENTS)
    await world.client.delete(SECRETS.named("default", "key"))
    await one.live(120, step=5)
    assert {version["spec"]["replicas"] for version in counts} <= {1}
    assert len(one.shouts.records) < 10
    await world.cluster.apply([secret("key", key="open")])
    await one.live(10)
    assert world.server.asked[-1].headers["X-API-KEY"] == "open"
    await one.assert_sound()


@ordeal
async def test_an_object_deleted_while_the_api_server_is_away_is_let_go(one: Ordeal) -> None:
    world = one.world
    await one.wake()
    world.operator.cable.pull()
    await world.delete(SCALED_OBJECTS)
    await one.live(60, step=5)
    assert world.replicas() == 1
    world.operator.cable.plug()
    await one.until(lambda: world.find(SCALED_OBJECTS) is None, 30)
    assert world.find(HORIZONTAL_POD_AUTOSCALERS, HPA) is None


@ordeal
async def test_a_webhook_of_others_that_refuses_our_scales_is_asked_at_each_poll_and_told_of(one: Ordeal) -> None:
    world = one.world
    counts = await one.wake()
    refusal = refuses(403, "Forbidden")
    with one.api.failing(refusal, lambda call: writes(call) and call.path.endswith("/scale")):
        world.jobs(0)
        await one.live(90, step=2)
        assert {version["spec"]["replicas"] for version in counts} <= {1}
        assert "KEDAScaleTargetDeactivationFailed" in world.reasons()
        assert one.api.spoilt["PUT"] <= 90 / 5 + 2
        assert len(one.shouts.records) < 10
    await one.until(lambda: world.replicas() == 0, 10)
    await one.assert_sound()


@ordeal
async def test_a_webhook_of_others_that_fails_for_our_hpas_is_waited_for(one: Ordeal) -> None:
    world = one.world
    with one.api.failing(refuses(500, "InternalError"), lambda call: writes(call) and hpas(call)):
        await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=30, pollingInterval=5))
        await one.live(120, step=5)
        assert world.find(HORIZONTAL_POD_AUTOSCALERS, HPA) is None
        assert len(one.shouts.records) < 10
    await one.until(lambda: world.condition("Ready")[0] == "True", 61)
    one.settle()
    await one.assert_sound()


@ordeal
async def test_a_clock_set_by_an_hour_moves_schedules_at_once_and_neither_polls_nor_cooldowns(one: Ordeal) -> None:
    world = one.world
    await one.wake(cooldownPeriod=300)
    hours = scaled_object(cron("50 12 * * *", "40 13 * * *"), name="hours", cooldownPeriod=0)
    await world.create(deployment("hours"), hours)
    world.jobs(0)
    emptied = world.clock.monotonic()
    await one.live(10)
    for step, replicas in ((1, 1), (-1, 0), (1, 1), (1, 0)):
        world.clock.step(timedelta(hours=step))
        assert await one.until(lambda wanted=replicas: world.replicas("hours") == wanted, 10) <= 4
        asked = len(world.server.asked)
        await one.live(50, step=5)
        assert 9 <= len(world.server.asked) - asked <= 12
    left = 300 - (world.clock.monotonic() - emptied)
    await one.live(left - 12)
    assert world.replicas() == 1
    await one.until(lambda: world.replicas() == 0, 15)
