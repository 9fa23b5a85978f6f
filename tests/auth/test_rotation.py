"""A changed Secret, ConfigMap, TriggerAuthentication or environment reaches its scalers, and no others, at once."""

import logging
from pathlib import Path

import pytest
from redis.asyncio import Redis

from keda_py.clock import FakeClock
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    SCALED_JOBS,
    SCALED_OBJECTS,
    SECRETS,
    TRIGGER_AUTHENTICATIONS,
)
from keda_py.testing import A_SATURDAY
from tests.auth.resolving import redis_trigger, resolve
from tests.builders import authentication, config_map, deployment, from_key, scaled_job, scaled_object, secret
from tests.waiting import eventually
from tests.worlds.world import World, open_world

READY = ("True", "ScaledObjectReady")


async def change_password(port: int, old: str, new: str) -> None:
    """Change it on the server, for open connections too."""
    async with Redis(port=port, password=old) as server:
        await server.config_set("requirepass", new)
    async with Redis(port=port, password=new) as server:
        await server.client_kill_filter(_type="normal", skipme=True)


async def push_jobs(port: int, password: str, count: int) -> None:
    async with Redis(port=port, password=password) as server:
        await server.delete("jobs")
        if count:
            await server.rpush("jobs", *range(count))


@pytest.mark.parametrize("server_first", [True, False], ids=["the server first", "the Secret first"])
async def test_scaling_goes_on_when_a_password_is_changed(
    world: World, guarded_redis: int, caplog: pytest.LogCaptureFixture, *, server_first: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    await world.apply(
        secret("redis", password="old"),
        authentication("redis", secretTargetRef=[from_key("password", "redis", "password")]),
        deployment("app"),
        scaled_object(redis_trigger("redis", address=f"127.0.0.1:{guarded_redis}")),
    )
    async with world.operator.running():
        await eventually(lambda: world.condition("Ready") == READY, 5)
        await push_jobs(guarded_redis, "old", 5)
        await eventually(lambda: is_scaled(world, up=True))
        await push_jobs(guarded_redis, "old", 0)
        await eventually(lambda: is_scaled(world, up=False))
        rotate = {"stringData": {"password": "hunter2-new"}}
        if server_first:
            await change_password(guarded_redis, "old", "hunter2-new")
            await world.patch(SECRETS, rotate, "redis")
        else:
            await world.patch(SECRETS, rotate, "redis")
            await change_password(guarded_redis, "old", "hunter2-new")
        await push_jobs(guarded_redis, "hunter2-new", 5)
        await eventually(lambda: is_scaled(world, up=True), 4)
        assert world.condition("Ready", "app") == READY
    assert "hunter2-new" not in caplog.text


async def is_scaled(world: World, *, up: bool) -> bool:
    return (world.replicas("app") > 0) is up


async def is_kind(world: World, kind: str, value: tuple[str, str]) -> bool:
    return world.condition(kind, "app") == value


WITHIN = 2.0
"""Seconds from a change to the scaler that uses it."""


@pytest.fixture
async def two_apps(world: World, guarded_redis: int) -> World:
    """Create "app", which cannot log in and will not poll again for an hour, and "other", which can."""
    address = f"127.0.0.1:{guarded_redis}"
    for name, password in (("app", "wrong"), ("other", "old")):
        container = {"env": [{"name": "PASSWORD", "value": password}, {"name": "ADDRESS", "value": address}]}
        await world.apply(
            config_map(name, password=password),
            authentication(name, configMapTargetRef=[from_key("password", name, "password")]),
            deployment(name, **container),
        )
    return world


async def openings(world: World) -> dict[str, object]:
    """Return the built scalers, by object."""
    sets = {
        name: world.operator.assembly.parts.shared.readings.built(ObjectKey("ScaledObject", "default", name))
        for name in ("app", "other")
    }
    return {name: built.scalers[0] for name, built in sets.items() if built}


async def give_right_password(world: World, how: str) -> None:
    match how:
        case "ConfigMap":
            await world.patch(CONFIG_MAPS, {"data": {"password": "old"}}, "app")
        case "TriggerAuthentication":
            right = {"configMapTargetRef": [from_key("password", "other", "password")]}
            await world.patch(TRIGGER_AUTHENTICATIONS, {"spec": right}, "app")
        case "environment":
            app = await world.client.get(DEPLOYMENTS.named("default", "app"))
            app["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = "old"
            await world.client.update(DEPLOYMENTS.named("default", "app"), app)


@pytest.mark.parametrize("how", ["ConfigMap", "TriggerAuthentication", "environment"])
async def test_what_could_not_be_built_is_tried_again_when_its_parameters_change(two_apps: World, how: str) -> None:
    trigger = redis_trigger("app", addressFromEnv="ADDRESS")
    if how == "environment":
        trigger = redis_trigger(addressFromEnv="ADDRESS", passwordFromEnv="PASSWORD")
    other = redis_trigger("other", addressFromEnv="ADDRESS")
    await two_apps.apply(
        scaled_object(trigger, pollingInterval=3600), scaled_object(other, name="other", pollingInterval=3600)
    )
    async with two_apps.operator.running():
        await eventually(lambda: is_kind(two_apps, "Ready", ("False", "ScaledObjectCheckFailed")))
        await eventually(
            lambda: two_apps.operator.assembly.parts.shared.readings.built(
                ObjectKey("ScaledObject", "default", "other")
            )
        )
        before = await openings(two_apps)
        await give_right_password(two_apps, how)
        await eventually(lambda: is_kind(two_apps, "Ready", READY), WITHIN)
        assert (await openings(two_apps))["other"] is before["other"]


@pytest.mark.parametrize("how", ["ConfigMap", "TriggerAuthentication", "environment"])
async def test_a_change_renews_the_scalers_that_use_it_and_no_others(two_apps: World, how: str) -> None:
    """The server requires no password any more, so that any password works."""
    triggers = {
        "app": redis_trigger("app", addressFromEnv="ADDRESS"),
        "other": redis_trigger("other", addressFromEnv="ADDRESS"),
    }
    if how == "environment":
        triggers["app"] = redis_trigger(addressFromEnv="ADDRESS", passwordFromEnv="PASSWORD")
    app = two_apps.get(DEPLOYMENTS, "app")
    address = app["spec"]["template"]["spec"]["containers"][0]["env"][1]["value"]
    async with Redis.from_url(f"redis://{address}", password="old") as server:
        await server.config_set("requirepass", "")
    await two_apps.apply(*(scaled_object(one, name=name, pollingInterval=3600) for name, one in triggers.items()))
    async with two_apps.operator.running():

        async def both_stand() -> bool:
            return len(await openings(two_apps)) == 2

        await eventually(both_stand)
        await eventually(lambda: is_kind(two_apps, "Ready", READY))
        before = await openings(two_apps)
        await give_right_password(two_apps, how)

        async def is_renewed() -> bool:
            return (await openings(two_apps))["app"] is not before["app"]

        await eventually(is_renewed, WITHIN)
        assert (await openings(two_apps))["other"] is before["other"]


async def test_a_secret_that_comes_late_is_waited_for(world: World, guarded_redis: int) -> None:
    await world.apply(
        authentication(
            "redis",
            secretTargetRef=[from_key("address", "redis", "address"), from_key("password", "redis", "password")],
        ),
        deployment("app"),
        scaled_object(redis_trigger("redis"), pollingInterval=3600),
    )
    async with world.operator.running() as operator:
        await eventually(lambda: is_kind(world, "Ready", ("False", "ScaledObjectCheckFailed")))
        await world.apply(secret("redis", address=f"127.0.0.1:{guarded_redis}", password="old"))
        await eventually(lambda: is_kind(world, "Ready", READY), WITHIN)
        assert operator.parts.reader.watches.open == 1
        await world.delete(SCALED_OBJECTS, "app")
        await eventually(lambda: operator.parts.reader.watches.open == 0)


async def test_the_status_of_an_authentication_is_no_change_of_it(world: World, guarded_redis: int) -> None:
    await world.apply(
        secret("redis", password="old"),
        authentication("redis", secretTargetRef=[from_key("password", "redis", "password")]),
        deployment("app"),
        scaled_object(redis_trigger("redis", address=f"127.0.0.1:{guarded_redis}"), pollingInterval=3600),
    )
    async with world.operator.running() as operator:
        told: list[object] = []
        operator.parts.shared.resolver.subscribe(lambda key, index: told.append((key, index)))
        await eventually(lambda: is_kind(world, "Ready", READY))

        async def is_listed() -> bool:
            return bool(world.get(TRIGGER_AUTHENTICATIONS, "redis").get("status"))

        await eventually(is_listed)
        assert told == []
        await world.patch(SECRETS, {"stringData": {"password": "new"}}, "redis")
        await eventually(lambda: told == [(ObjectKey("ScaledObject", "default", "app"), 0)])


async def test_a_scaledjob_by_the_name_of_a_scaledobject_is_told_and_forgotten_by_itself(
    world: World, guarded_redis: int
) -> None:
    trigger = redis_trigger("redis", address=f"127.0.0.1:{guarded_redis}")
    await world.apply(
        secret("redis", password="old"),
        authentication("redis", secretTargetRef=[from_key("password", "redis", "password")]),
        deployment("app"),
        scaled_object(trigger, pollingInterval=3600),
        scaled_job(trigger, name="app", pollingInterval=3600),
    )
    object_key, job_key = (ObjectKey(kind, "default", "app") for kind in ("ScaledObject", "ScaledJob"))
    async with world.operator.running() as operator:
        readings, told = operator.parts.shared.readings, set[object]()
        operator.parts.shared.resolver.subscribe(lambda key, _: told.add(key))
        await eventually(lambda: readings.built(object_key) and readings.built(job_key))
        await world.patch(SECRETS, {"stringData": {"password": "new"}}, "redis")
        await eventually(lambda: told == {object_key, job_key})
        await world.delete(SCALED_JOBS, "app")
        await eventually(lambda: readings.keys() == (object_key,))
        told.clear()
        await world.patch(SECRETS, {"stringData": {"password": "old"}}, "redis")
        await eventually(lambda: told)
        assert told == {object_key}


async def test_a_bound_token_is_replaced_before_it_ends(tmp_path: Path) -> None:
    clock = FakeClock(A_SATURDAY)
    token = {"parameter": "password", "serviceAccountName": "robot"}
    async with open_world(tmp_path, clock=clock) as world:
        await world.apply(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}},
            authentication("token", boundServiceAccountToken=[token]),
        )
        async with world.operator.running() as operator:
            told: list[object] = []
            operator.parts.shared.resolver.subscribe(lambda key, index: told.append((key, index)))
            before = (await resolve(world, redis_trigger("token"))).auth["password"]
            await clock.advance(0.7 * 3600)
            assert told == []
            await clock.advance(0.1 * 3600)
            assert told == [(ObjectKey("ScaledObject", "default", "asker"), 0)]
            assert (await resolve(world, redis_trigger("token"))).auth["password"] != before
