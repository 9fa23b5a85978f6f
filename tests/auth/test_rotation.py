"""A changed Secret, ConfigMap, TriggerAuthentication or environment reaches its scalers, and no others, at once."""

import logging

import pytest
from redis.asyncio import Redis

from keda_py.kube.resources import SECRETS
from tests.auth.world import (
    World,
    authentication,
    deployment,
    eventually,
    from_key,
    redis_trigger,
    scaled_object,
    secret,
    started,
)

READY = ("True", "ScaledObjectReady")


async def change_password(port: int, old: str, new: str) -> None:
    """On the server, for those who are connected, too."""
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
        scaled_object("app", redis_trigger("redis", address=f"127.0.0.1:{guarded_redis}")),
    )
    async with started(world):
        await eventually(lambda: world.condition("app", "Ready"), 5)
        await push_jobs(guarded_redis, "old", 5)
        await eventually(lambda: is_scaled(world, up=True))
        await push_jobs(guarded_redis, "old", 0)
        await eventually(lambda: is_scaled(world, up=False))
        rotate = {"stringData": {"password": "hunter2-new"}}
        if server_first:
            await change_password(guarded_redis, "old", "hunter2-new")
            await world.patch(SECRETS, "redis", rotate)
        else:
            await world.patch(SECRETS, "redis", rotate)
            await change_password(guarded_redis, "old", "hunter2-new")
        await push_jobs(guarded_redis, "hunter2-new", 5)
        await eventually(lambda: is_scaled(world, up=True), 4)
        assert await world.condition("app", "Ready") == READY
    assert "hunter2-new" not in caplog.text


async def is_scaled(world: World, *, up: bool) -> bool:
    return (await world.replicas("app") > 0) is up
