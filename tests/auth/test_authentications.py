"""TriggerAuthentications as objects: finalizer, Events, and the list of their users."""

from typing import Any

import pytest

from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS as CTA
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS
from keda_py.kube.resources import TRIGGER_AUTHENTICATIONS as TA
from tests.auth.world import (
    World,
    authentication,
    deployment,
    eventually,
    from_key,
    redis_trigger,
    scaled_object,
    started,
)

# KEDA's own end-to-end tests allow about as much.
SOON = 1.0


async def users(world: World, name: str, resource: Any = TA) -> str:
    return str(((await world.get(resource, name)).get("status") or {}).get("scaledobjects", ""))


async def test_the_status_lists_users_in_the_order_of_their_coming_and_drops_them_as_they_go(world: World) -> None:
    await world.apply(authentication("auth"), *(deployment(name) for name in ("one", "two")))
    async with started(world):
        for name, listed in (("two", "two"), ("one", "two,one")):
            await world.apply(scaled_object(name, redis_trigger("auth"), redis_trigger("auth", listName="more")))
            await eventually(lambda want=listed: is_listed(world, want), SOON)
        await world.delete(SCALED_OBJECTS, "two")
        await eventually(lambda: is_listed(world, "one"), SOON)
        trigger = {"spec": {"triggers": [redis_trigger(address="127.0.0.1:1")]}}
        await world.patch(SCALED_OBJECTS, "one", trigger)
        await eventually(lambda: is_listed(world, ""), SOON)


async def is_listed(world: World, wanted: str) -> bool:
    return await users(world, "auth") == wanted


async def test_users_of_a_cluster_wide_one_are_listed_by_name_alone(world: World) -> None:
    cluster_wide = authentication("shared", "ClusterTriggerAuthentication")
    other = scaled_object("app", redis_trigger("shared", "ClusterTriggerAuthentication"))
    other["metadata"]["namespace"] = "other"
    await world.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}},
        cluster_wide,
        scaled_object("app", redis_trigger("shared", "ClusterTriggerAuthentication")),
        other,
    )

    async def listed() -> bool:
        return await users(world, "shared", CTA) == "app"

    async with started(world):
        await eventually(listed)


@pytest.mark.parametrize("kind", ["TriggerAuthentication", "ClusterTriggerAuthentication"])
async def test_events_tell_of_its_coming_its_changes_and_its_end(world: World, kind: str) -> None:
    resource = TA if kind == "TriggerAuthentication" else CTA
    async with started(world):
        await world.apply(authentication("auth", kind))
        await eventually(lambda: has_event(world, kind, f"{kind}Added", f"New {kind} configured"))
        assert (await world.get(resource, "auth"))["metadata"]["finalizers"] == ["finalizer.keda.sh"]
        await world.patch(resource, "auth", {"spec": {"env": [{"parameter": "a", "name": "A"}]}})
        updated = "ClusterTriggerAuthentication auth is updated"
        await eventually(lambda: has_event(world, kind, "ClusterTriggerAuthenticationUpdated", updated))
        await world.delete(resource, "auth")
        await eventually(lambda: is_gone(world, resource), SOON)
        await eventually(lambda: has_event(world, kind, f"{kind}Deleted", f"{kind} was deleted"))


async def has_event(world: World, kind: str, reason: str, note: str) -> bool:
    return ("Normal", reason, note) in await world.events(kind, "auth")


async def is_gone(world: World, resource: Any) -> bool:
    return not await world.exists(resource, "auth")


async def test_an_operator_that_starts_lists_users_and_lets_go_of_what_is_being_deleted(world: World) -> None:
    await world.apply(authentication("auth"), deployment("app"), scaled_object("app", redis_trigger("auth")))
    held = authentication("held")
    held["metadata"]["finalizers"] = ["finalizer.keda.sh"]
    await world.apply(held)
    await world.delete(TA, "held")
    async with started(world):
        await eventually(lambda: is_listed(world, "app"))

        async def held_is_gone() -> bool:
            return not await world.exists(TA, "held")

        await eventually(held_is_gone)


async def test_scaledjobs_use_authentications_like_scaledobjects(world: World) -> None:
    job = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledJob",
        "metadata": {"name": "app", "namespace": "default"},
        "spec": {
            "jobTargetRef": {
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "app", "image": "x", "env": [{"name": "LIST", "value": "jobs"}]}],
                    }
                }
            },
            "triggers": [{**redis_trigger("auth", listName=""), "metadata": {"listNameFromEnv": "LIST"}}],
        },
    }
    await world.apply(authentication("auth", secretTargetRef=[from_key("address", "redis", "address")]), job)

    async def status() -> dict[str, str]:
        return (await world.get(TA, "auth")).get("status") or {}

    async def is_refused() -> bool:
        conditions = ((await world.get(SCALED_JOBS, "app")).get("status") or {}).get("conditions") or ()
        return any(one["type"] == "Ready" and one["status"] == "False" for one in conditions)

    async with started(world) as operator:
        await eventually(is_refused)
        assert await eventually(status) == {"scaledjobs": "app"}
        assert operator.parts.reader.watches.open == 1, "the Secret that is missing is waited for"
        await world.delete(SCALED_JOBS, "app")

        async def is_listed_no_more() -> bool:
            return await status() == {}

        await eventually(is_listed_no_more)
        await eventually(lambda: operator.parts.reader.watches.open == 0)
