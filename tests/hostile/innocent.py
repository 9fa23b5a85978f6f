"""The innocent tenant: one workload on an HTTP source with a key, one on a Redis list with a password."""

from dataclasses import dataclass
from typing import Any

import aiohttp
from redis.asyncio import Redis

from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS, SECRETS, TRIGGER_AUTHENTICATIONS, Obj, Resource
from tests import builders
from tests.builders import deployment, from_key, scaled_object, secret
from tests.e2e.scene import has_condition
from tests.hostile.waiting import until
from tests.servers import LOOPBACK

NAMESPACE = "innocent"
WEB, QUEUE = "web", "queue"
READY_SECONDS = 30.0
NEW_SECONDS = 10.0
"""Until an object that is created during an attack is watched over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where its honest sources are, and what opens them."""

    witness: int
    api_key: str
    redis: int
    redis_password: str

    async def fill(self, full: bool) -> None:
        """Give both workloads work, or take it away."""
        async with aiohttp.ClientSession() as session:
            await session.get(f"http://{LOOPBACK}:{self.witness}/set?value={8 if full else 0}")
        async with Redis(host=LOOPBACK, port=self.redis, password=self.redis_password) as redis:
            await (redis.rpush("jobs", *range(8)) if full else redis.delete("jobs"))

    async def report(self, since: float) -> dict[str, Any]:
        """What the witness has seen since then; `tests/hostile/witness.py` tells of what."""
        url = f"http://{LOOPBACK}:{self.witness}/report?since={since}"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return dict(await answer.json(content_type=None))


def web_trigger(sources: Sources) -> Obj:
    """Its source is called by name: looking that up is a part of every connection."""
    metadata = {"url": f"http://localhost:{sources.witness}/value", "valueLocation": "value", "targetValue": "5"}
    return {"type": "metrics-api", "metadata": metadata | {"authMode": "apiKey"}, "authenticationRef": {"name": WEB}}


def manifests(sources: Sources) -> list[tuple[Resource, Obj]]:
    """Everything it has, in the order of creation."""
    redis = {"address": f"localhost:{sources.redis}", "listName": "jobs", "listLength": "5"}
    return [
        (SECRETS, secret(WEB, apiKey=sources.api_key)),
        (SECRETS, secret(QUEUE, password=sources.redis_password)),
        (TRIGGER_AUTHENTICATIONS, authentication(WEB, "apiKey")),
        (TRIGGER_AUTHENTICATIONS, authentication(QUEUE, "password")),
        *scaled(WEB, web_trigger(sources)),
        *scaled(QUEUE, {"type": "redis", "metadata": redis, "authenticationRef": {"name": QUEUE}}),
    ]


async def scales(client: KubeClient, sources: Sources, seconds: float) -> list[str]:
    """Up with work and down without; what was not so within the seconds."""
    for full in (True, False):
        await sources.fill(full)
        for name in (WEB, QUEUE):
            path = DEPLOYMENTS.named(NAMESPACE, name)
            try:
                await until(client, path, _is_up if full else _is_down, seconds)
            except AssertionError:
                return [f"{name} was not scaled {'up' if full else 'to zero'} within {seconds:g} s"]
    return []


async def ready(client: KubeClient) -> None:
    """Return once both are watched over."""
    for name in (WEB, QUEUE):
        await until(client, SCALED_OBJECTS.named(NAMESPACE, name), has_condition("Ready", "True"), READY_SECONDS)


def _is_up(live: Obj) -> bool:
    return int(live["spec"]["replicas"]) > 0


def _is_down(live: Obj) -> bool:
    return not _is_up(live)


def authentication(name: str, *parameters: str) -> Obj:
    """Of the Secret of the same name."""
    return builders.authentication(name, secretTargetRef=[from_key(one, name) for one in parameters])


def scaled(name: str, trigger: Obj) -> list[tuple[Resource, Obj]]:
    body = scaled_object(trigger, name=name, cooldownPeriod=0, maxReplicaCount=2)
    return [(DEPLOYMENTS, deployment(name)), (SCALED_OBJECTS, body)]
