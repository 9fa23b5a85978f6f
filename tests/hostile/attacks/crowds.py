"""Many objects, each of them within its limits; sources that many share; and what comes and goes."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

from keda_py.kube.resources import (
    CLOUD_EVENT_SOURCES,
    DEPLOYMENTS,
    SCALED_OBJECTS,
    SECRETS,
    TRIGGER_AUTHENTICATIONS,
)
from tests.builders import deployment, scaled_object, secret
from tests.e2e.scene import has_condition
from tests.hostile import innocent
from tests.hostile.attacks.triggers import Trigger, config, metrics_api, redis, using
from tests.hostile.case import Case
from tests.hostile.cleaning import HOSTILE
from tests.hostile.innocent import authentication
from tests.hostile.sources import Behaviour, hangs, repeats, says, sends
from tests.hostile.trial import SLICES, Trial
from tests.hostile.waiting import until
from tests.servers import LOOPBACK

POOL_SECONDS = 1.0
"""The polling interval: after it every question of the pool is under way."""

NUMBER = b'{"value": 1}'


async def crowd(trial: Trial, size: int, trigger: Callable[[int], Trigger], **spec: Any) -> None:
    """So many objects on one Deployment; `trigger` makes the trigger of each from its number."""
    await trial.create(DEPLOYMENTS, deployment(trial.case))

    async def one(index: int) -> None:
        body = scaled_object(trigger(index), name=f"{trial.case}-{index}", **spec)
        body["spec"]["scaleTargetRef"]["name"] = trial.case
        await trial.create(SCALED_OBJECTS, body)

    await trial.each(one, size)


async def _formulas(trial: Trial) -> None:
    source = await trial.serve(says(NUMBER))
    modifiers = {"formula": "sum(map(1..4000, # * 2)) + q", "target": "1"}
    await crowd(trial, 30, lambda _: metrics_api(source.url) | {"name": "q"}, advanced={"scalingModifiers": modifiers})
    await source.asked(10)


async def _hanging(trial: Trial) -> None:
    """A new object of the other tenant does not wait for them either."""
    source = await trial.serve(hangs)
    await crowd(trial, 200, lambda _: metrics_api(source.url))
    await source.asked(20)
    await _newcomer(trial)


async def _newcomer(trial: Trial) -> None:
    """The innocent tenant creates another object, which is ready as soon as it would be alone."""
    name, sources = f"new-{trial.case}", trial.installation.sources
    (_, workload), (_, body) = innocent.scaled(name, innocent.web_trigger(sources))
    for kind, one in ((DEPLOYMENTS, workload), (SCALED_OBJECTS, body)):
        await trial.create_in(innocent.NAMESPACE, kind, one)
    path = SCALED_OBJECTS.named(innocent.NAMESPACE, name)
    await until(trial.client, path, has_condition("Ready", "True"), innocent.NEW_SECONDS)


async def _redis_hanging(trial: Trial) -> None:
    """Each of these keeps a worker busy while it is built, and is built again and again."""
    silent = [await trial.serve(hangs, first=b"\r\n") for _ in range(8)]
    await crowd(trial, 40, lambda n: redis(f"{LOOPBACK}:{silent[n % 8].port}", name=f"l{n}"))
    await silent[0].asked()
    await _newcomer(trial)


async def _thousand_sources(trial: Trial) -> None:
    """As many hosts as there are triggers: no limit of one host holds."""
    every = await trial.serve_everywhere(hangs)
    addresses = [f"http://127.0.{n // 250 + 1}.{n % 250 + 1}:{every.port}" for n in range(600)]
    await _on_several(trial, [metrics_api(url, location=f"a{n}") for n, url in enumerate(addresses)])
    await every.asked(50)
    await _newcomer(trial)


async def _watches(trial: Trial) -> None:
    """As many ConfigMaps, none of which is there."""
    await _on_several(trial, [config(f"missing-{n}") for n in range(600)])
    await trial.looked_at(f"{trial.case}-0")
    await _newcomer(trial)


async def _on_several(trial: Trial, triggers: list[Trigger]) -> None:
    """One object may not have so many triggers."""
    for number, first in enumerate(range(0, len(triggers), 200)):
        await trial.scale_on(*triggers[first : first + 200], name=f"{trial.case}-{number}")


async def _pool(trial: Trial) -> None:
    """Slow questions to the very server that the innocent tenant asks, as long as they may take."""
    url = f"http://localhost:{trial.installation.sources.witness}/hang"
    await trial.scale_on(*(metrics_api(url, location=f"a{n}", timeout="1h") for n in range(150)))
    await asyncio.sleep(POOL_SECONDS)


async def _redis_neighbour(trial: Trial) -> None:
    """The hostile tenant may ask the same Redis: its questions are as long as they can be."""
    sources = trial.installation.sources
    await trial.create(SECRETS, secret(trial.case, password=sources.redis_password))
    await trial.create(TRIGGER_AUTHENTICATIONS, authentication(trial.case, "password"))
    address = f"localhost:{sources.redis}"

    def trigger(index: int) -> Trigger:
        return using(redis(address, name=f"{index}{'k' * 300_000}"), trial.case)

    await crowd(trial, 30, trigger)
    await trial.looked_at(f"{trial.case}-0")


async def _flapping(trial: Trial) -> None:
    """Fails and answers by turns, with a status of its own each time."""
    numbers = count(100)

    async def behave(asked: bytes, reader: Any, writer: Any) -> None:
        number = next(numbers)
        status = "200 OK" if number % 2 else f"{100 + number % 900 if number % 900 > 100 else 500} X"
        await says(NUMBER, status=status)(asked, reader, writer)

    source = await trial.serve(behave)
    await trial.scale_on(*(metrics_api(source.url, location=f"a{n}") for n in range(100)))
    await source.asked(50)


async def _sinks(trial: Trial) -> None:
    sink = await trial.serve(hangs)

    async def one(index: int) -> None:
        body = {"metadata": {"name": f"{trial.case}-{index}"}, "spec": {"destination": {"http": {"uri": sink.url}}}}
        await trial.create(CLOUD_EVENT_SOURCES, body)

    await trial.each(one, 50)
    await crowd(trial, 20, lambda n: {"type": f"none-{n}", "metadata": {}})
    await sink.asked(5)


async def _spy(trial: Trial) -> None:
    """A CloudEventSource of one namespace is told what happens in another."""
    sink = await trial.serve(_takes)
    body = {"metadata": {"name": trial.case}, "spec": {"destination": {"http": {"uri": sink.url}}}}
    await trial.create(CLOUD_EVENT_SOURCES, body)
    await trial.scale_on({"type": "none", "metadata": {}})
    await sink.asked()
    await _newcomer(trial)

    def check() -> None:
        bodies = b"".join(sink.received)
        assert b"hostile" in bodies
        assert b"innocent" not in bodies, "a CloudEventSource was told of another namespace"

    trial.afterwards(check)


async def _takes(asked: bytes, reader: Any, writer: Any) -> None:
    await says(b"", status="202 Accepted")(asked, reader, writer)


async def _churn(trial: Trial) -> None:
    """Created and deleted at once, each with names of its own."""

    async def one(index: int) -> None:
        name = f"{trial.case}-{index}"
        trigger = {"type": f"none-{index}", "name": f"t{index}", "metadata": {"k": str(index)}}
        await trial.create(SCALED_OBJECTS, scaled_object(trigger, name=name))
        await trial.client.delete(SCALED_OBJECTS.named(HOSTILE, name))

    await trial.each(one, 500)


async def _edits(trial: Trial) -> None:
    """A Secret that changes without end, and an object that uses it."""
    source = await trial.serve(says(NUMBER))
    await trial.create(SECRETS, secret(trial.case, apiKey="0"))
    await trial.create(TRIGGER_AUTHENTICATIONS, authentication(trial.case, "apiKey"))
    await trial.scale_on(using(metrics_api(source.url, authMode="apiKey"), trial.case))
    await source.asked()

    async def edit() -> None:
        for number in count():
            change = {"stringData": {"apiKey": str(number)}}
            await trial.client.patch(SECRETS.named(HOSTILE, trial.case), change)

    trial.spawn(edit())


async def _endpoints(trial: Trial) -> None:
    """A Service with 1 000 endpoints, all of them one server that answers at once."""
    everywhere = await trial.serve_everywhere(says(NUMBER))
    addresses = [f"127.0.{n // 250 + 1}.{n % 250 + 1}" for n in range(1000)]
    labels = {"kubernetes.io/service-name": trial.case}
    body = {
        "metadata": {"name": trial.case, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [one], "conditions": {"ready": True}} for one in addresses],
        "ports": [{"port": everywhere.port}],
    }
    await trial.create_in(HOSTILE, SLICES, body)
    url = f"http://{trial.case}.{HOSTILE}.svc:{everywhere.port}/"
    await trial.scale_on(metrics_api(url, aggregateFromKubeServiceEndpoints="true"))
    await everywhere.asked(20)


def _redis(behaviour: Behaviour) -> Callable[[Trial], Any]:
    async def attack(trial: Trial) -> None:
        source = await trial.serve(behaviour, first=b"\r\n")
        await trial.scale_on(redis(f"{LOOPBACK}:{source.port}"))
        await source.asked()

    return attack


def _redis_case(id: str, sentence: str, behaviour: Behaviour) -> Case:
    return Case(id=id, sentence=sentence, attack=_redis(behaviour), wave="redis")


async def _polite(asked: bytes, reader: Any, writer: Any) -> None:
    """PONG to the first question, and then 100 MB to each."""
    writer.write(b"+OK\r\n+OK\r\n+PONG\r\n")
    await reader.read(10_000)
    await repeats(b"$104857600\r\n", b"x" * 65536)(asked, reader, writer)


async def _complaining(asked: bytes, reader: Any, writer: Any) -> None:
    await sends(b"-ERR " + b"e" * 10_000_000 + b"\r\n")(asked, reader, writer)


REDIS = (
    _redis_case("redis-garbage", "a Redis that answers bytes without meaning", repeats(b"", b"\x00\xff" * 1000)),
    _redis_case("redis-bulk", "a Redis that answers a text of 100 MB", repeats(b"$104857600\r\n", b"x" * 65536)),
    _redis_case("redis-bulk-late", "a Redis that answers 100 MB to the second question", _polite),
    _redis_case("redis-line", "a Redis whose line never ends", repeats(b"+", b"x" * 65536)),
    _redis_case(
        "redis-number", "a Redis that answers a number of 60 000 digits", sends(b":" + b"9" * 60_000 + b"\r\n")
    ),
    _redis_case("redis-depth", "a Redis that answers arrays in each other", sends(b"*1\r\n" * 100_000)),
    _redis_case(
        "redis-width",
        "a Redis that promises an array of 2^60 elements",
        repeats(b"*1152921504606846976\r\n", b":1\r\n" * 10_000),
    ),
    _redis_case("redis-error", "a Redis whose error is 10 MB long", _complaining),
    _redis_case("redis-silent", "a Redis that never answers", hangs),
)
CASES = (
    Case(id="formulas", sentence="30 objects whose formulas take nearly all steps that one may take", attack=_formulas),
    Case(
        id="objects-hanging",
        sentence="200 objects whose source hangs, while the other tenant adds one",
        attack=_hanging,
    ),
    Case(id="redis-hanging", sentence="40 objects whose Redis hangs while they are built", attack=_redis_hanging),
    Case(id="hosts", sentence="600 triggers on as many hosts that hang", attack=_thousand_sources),
    Case(id="watches", sentence="600 triggers on as many ConfigMaps", attack=_watches),
    Case(
        id="shared-host",
        sentence="150 questions of an hour to the server that the other tenant asks",
        attack=_pool,
        wave="shared",
    ),
    Case(
        id="shared-redis", sentence="30 keys of 300 kB on the Redis that the other tenant asks", attack=_redis_neighbour
    ),
    Case(
        id="flapping",
        sentence="100 triggers that fail by turns, with all statuses there are",
        attack=_flapping,
        wave="changes",
    ),
    Case(id="edits", sentence="a Secret that changes without end", attack=_edits, wave="changes"),
    Case(id="sinks", sentence="50 CloudEvents sinks that hang", attack=_sinks, wave="sinks"),
    Case(id="spy", sentence="a CloudEvents sink that waits to hear of other namespaces", attack=_spy, wave="sinks"),
    Case(id="churn", sentence="500 objects, created and deleted at once", attack=_churn),
    Case(id="endpoints", sentence="a Service with 1 000 endpoints, to be asked one by one", attack=_endpoints),
    *REDIS,
)
