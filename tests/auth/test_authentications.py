"""TriggerAuthentications as objects: finalizer, Events, and the list of their users."""

from typing import Any

import pytest

from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS as CTA
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS
from keda_py.kube.resources import TRIGGER_AUTHENTICATIONS as TA
from tests.auth.resolving import redis_trigger
from tests.builders import a_namespace, authentication, container, deployment, from_key, scaled_job, scaled_object
from tests.waiting import eventually
from tests.worlds.world import World

# KEDA's own end-to-end tests allow about as much.
SOON = 1.0


async def users(world: World, name: str, resource: Any = TA) -> str:
    return str((world.get(resource, name).get("status") or {}).get("scaledobjects", ""))


async def test_the_status_lists_users_in_the_order_of_their_coming_and_drops_them_as_they_go(world: World) -> None:
    await world.apply(authentication("auth"), *(deployment(name) for name in ("one", "two")))
    async with world.operator.running():
        for name, listed in (("two", "two"), ("one", "two,one")):
            await world.apply(scaled_object(redis_trigger("auth"), redis_trigger("auth", listName="more"), name=name))
            await eventually(lambda want=listed: is_listed(world, want), SOON)
        await world.delete(SCALED_OBJECTS, "two")
        await eventually(lambda: is_listed(world, "one"), SOON)
        trigger = {"spec": {"triggers": [redis_trigger(address="127.0.0.1:1")]}}
        await world.patch(SCALED_OBJECTS, trigger, "one")
        await eventually(lambda: is_listed(world, ""), SOON)


async def is_listed(world: World, wanted: str) -> bool:
    return await users(world, "auth") == wanted


async def test_users_of_a_cluster_wide_one_are_listed_by_name_alone(world: World) -> None:
    cluster_wide = authentication("shared", "ClusterTriggerAuthentication")
    other = scaled_object(redis_trigger("shared", "ClusterTriggerAuthentication"))
    other["metadata"]["namespace"] = "other"
    await world.apply(
        a_namespace("other"),
        cluster_wide,
        scaled_object(redis_trigger("shared", "ClusterTriggerAuthentication")),
        other,
    )

    async def listed() -> bool:
        return await users(world, "shared", CTA) == "app"

    async with world.operator.running():
        await eventually(listed)


@pytest.mark.parametrize("kind", ["TriggerAuthentication", "ClusterTriggerAuthentication"])
async def test_events_tell_of_its_coming_its_changes_and_its_end(world: World, kind: str) -> None:
    resource = TA if kind == "TriggerAuthentication" else CTA
    async with world.operator.running():
        await world.apply(authentication("auth", kind))
        await eventually(lambda: has_event(world, kind, f"{kind}Added", f"New {kind} configured"))
        assert world.get(resource, "auth")["metadata"]["finalizers"] == ["finalizer.keda.sh"]
        await world.patch(resource, {"spec": {"env": [{"parameter": "a", "name": "A"}]}}, "auth")
        updated = "ClusterTriggerAuthentication auth is updated"
        await eventually(lambda: has_event(world, kind, "ClusterTriggerAuthenticationUpdated", updated))
        await world.delete(resource, "auth")
        await eventually(lambda: is_gone(world, resource), SOON)
        await eventually(lambda: has_event(world, kind, f"{kind}Deleted", f"{kind} was deleted"))


async def has_event(world: World, kind: str, reason: str, note: str) -> bool:
    return ("Normal", reason, note) in world.events("auth", kind)


async def is_gone(world: World, resource: Any) -> bool:
    return world.find(resource, "auth") is None


async def test_an_operator_that_starts_lists_users_and_lets_go_of_what_is_being_deleted(world: World) -> None:
    await world.apply(authentication("auth"), deployment("app"), scaled_object(redis_trigger("auth")))
    held = authentication("held")
    held["metadata"]["finalizers"] = ["finalizer.keda.sh"]
    await world.apply(held)
    await world.delete(TA, "held")
    async with world.operator.running():
        await eventually(lambda: is_listed(world, "app"))

        async def held_is_gone() -> bool:
            return world.find(TA, "held") is None

        await eventually(held_is_gone)


async def test_scaledjobs_use_authentications_like_scaledobjects(world: World) -> None:
    trigger = {**redis_trigger("auth", listName=""), "metadata": {"listNameFromEnv": "LIST"}}
    job = scaled_job(trigger, name="app", containers=[container(env=[{"name": "LIST", "value": "jobs"}])])
    await world.apply(authentication("auth", secretTargetRef=[from_key("address", "redis", "address")]), job)

    async def status() -> dict[str, str]:
        return world.get(TA, "auth").get("status") or {}

    async def is_refused() -> bool:
        conditions = (world.get(SCALED_JOBS, "app").get("status") or {}).get("conditions") or ()
        return any(one["type"] == "Ready" and one["status"] == "False" for one in conditions)

    async with world.operator.running() as operator:
        await eventually(is_refused)
        assert await eventually(status) == {"scaledjobs": "app"}
        assert operator.parts.reader.watches.open == 1, "the Secret that is missing is waited for"
        await world.delete(SCALED_JOBS, "app")

        async def is_listed_no_more() -> bool:
            return await status() == {}

        await eventually(is_listed_no_more)
        await eventually(lambda: operator.parts.reader.watches.open == 0)
