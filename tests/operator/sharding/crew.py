"""Three active replicas beside one cluster, each with its share of the same objects: what tests ask of them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from keda_py.clock import SystemClock
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.assembly import Assembly
from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.replicas import FAST, Replica, Replicas
from tests.waiting import eventually

METRIC = "s0-metric-api-value"
NAMES = tuple(f"app-{number}" for number in range(12))


async def three(replicas: Replicas, env: Mapping[str, str] = FAST, **flags: str) -> list[Replica]:
    """All of them at work, and agreed on whose what is."""
    names = ("one", "two", "three")
    started = await asyncio.gather(*(replicas.start(name, env, shards="3", **flags) for name in names))
    for replica in started:
        await replica.operator.leading
    await eventually(lambda: all(is_settled(replica, 3) for replica in started))
    return list(started)


def parts(replica: Replica) -> Assembly:
    return replica.operator.leading.result()


def membership(replica: Replica):
    return parts(replica).rights.membership


def is_settled(replica: Replica, count: int) -> bool:
    share = membership(replica).share
    return share is not None and share.is_settled and len(share.view) == count


def owned(replica: Replica) -> set[str]:
    states = parts(replica).scaled_objects.states
    return {key.name for key, state in states.items() if state.reconciled.fingerprint is not None}


def leader(crew: Sequence[Replica]) -> Replica | None:
    return next((replica for replica in crew if parts(replica).rights.leads()), None)


async def apps(replicas: Replicas, names: Sequence[str] = NAMES) -> None:
    """As many ScaledObjects, at 0 without work."""
    for name in names:
        trigger = metrics_api(replicas.url)
        await replicas.create(deployment(name), scaled_object(trigger, name=name, pollingInterval=1))
    for name in names:
        await replicas.until_condition("Active", "False", name)


def shared_out(crew: Sequence[Replica]) -> bool:
    found = [owned(replica) for replica in crew]
    return sum(map(len, found)) == len(NAMES) and set().union(*found) == set(NAMES)


def all_scaled(replicas: Replicas, count: int) -> bool:
    return all(replicas.replicas(name) == count for name in NAMES)


def listen(replicas: Replicas, note: Callable[[str, int], None]) -> None:
    """Call `note` with the name and count of each Deployment that gets another count from now on."""

    def hear(event: Event) -> None:
        if event.resource.plural == "deployments" and event.previous is not None:
            after = event.object["spec"]["replicas"]
            if event.previous["spec"].get("replicas") != after:
                note(event.object["metadata"]["name"], after)

    replicas.cluster.store.listen(hear)


def changes(replicas: Replicas) -> Mapping[str, list[int]]:
    """The counts that each Deployment gets from now on, one after the other."""
    seen: defaultdict[str, list[int]] = defaultdict(list)
    listen(replicas, lambda name, count: seen[name].append(count))
    return seen


def times(replicas: Replicas) -> list[float]:
    """When Deployments get another count from now on, in seconds from now, by the clock that decisions go by."""
    clock, seen = SystemClock(), []
    began = clock.monotonic()
    listen(replicas, lambda name, count: seen.append(clock.monotonic() - began))
    return seen
