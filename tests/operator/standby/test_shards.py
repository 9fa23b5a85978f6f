"""Several active replicas beside one cluster: a share each, one hand-over after the other, and answers from any."""

import asyncio
from collections import defaultdict

from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.replicas import FAST, Replica, Replicas
from tests.waiting import eventually

METRIC = "s0-metric-api-value"
NAMES = tuple(f"app-{number}" for number in range(12))
FAIL_OVER = 5.0
"""With a Lease of 3 s."""
CALM_SECONDS = 0.5


async def three(replicas: Replicas) -> list[Replica]:
    """All of them at work."""
    started = [await replicas.start(name, FAST, shards="3") for name in ("one", "two", "three")]
    for replica in started:
        await replica.operator.leading
    await eventually(lambda: all(parts(replica).rights.sharing.membership.share.is_settled for replica in started))
    return started


def parts(replica: Replica):
    return replica.operator.leading.result()


def owned(replica: Replica) -> set[str]:
    return {key.name for key, state in parts(replica).scaled_objects.states.items() if state.spec is not None}


async def apps(replicas: Replicas) -> None:
    for name in NAMES:
        trigger = metrics_api(f"{replicas.source.url}/jobs")
        await replicas.create(deployment(name), scaled_object(trigger, name=name, pollingInterval=1))
    for name in NAMES:
        await replicas.until_condition("Active", "False", name)


def shared_out(crew: list[Replica]) -> bool:
    found = [owned(replica) for replica in crew]
    return sum(map(len, found)) == len(NAMES) and set().union(*found) == set(NAMES)


def all_scaled(replicas: Replicas, count: int) -> bool:
    return all(replicas.replicas(name) == count for name in NAMES)


async def test_each_has_a_share_and_any_answers_any_question(replicas: Replicas) -> None:
    crew = await three(replicas)
    await apps(replicas)
    await eventually(lambda: shared_out(crew))
    assert all(owned(replica) for replica in crew)
    replicas.jobs(4)
    await eventually(lambda: all_scaled(replicas, 1))
    for replica in crew:
        for name in NAMES:
            status, body = await replica.get(
                f"/apis/external.metrics.k8s.io/v1beta1/namespaces/default/{METRIC}"
                f"?labelSelector=scaledobject.keda.sh%2Fname%3D{name}"
            )
            assert (status, body["items"][0]["value"]) == (200, "4")
            path = f"/apis/insight.keda-py.dev/v1alpha1/namespaces/default/scaledobjects/{name}"
            assert (await replica.get(path))[0] == 200


async def test_what_a_dead_replica_had_is_looked_after_again_and_nothing_is_scaled_twice(replicas: Replicas) -> None:
    crew = await three(replicas)
    await apps(replicas)
    await eventually(lambda: shared_out(crew))
    scales: defaultdict[str, list[int]] = defaultdict(list)

    def note(event) -> None:
        if event.resource.plural == "deployments":
            counts = scales[event.object["metadata"]["name"]]
            counts.append(event.object["spec"]["replicas"])

    replicas.cluster.store.listen(note)
    dead = crew.pop(0)
    await replicas.kill(dead)
    replicas.jobs(1)
    await eventually(lambda: all_scaled(replicas, 1), FAIL_OVER)
    await eventually(lambda: shared_out(crew))
    await asyncio.sleep(CALM_SECONDS)
    assert all(sum(a != b for a, b in zip([0, *counts], counts, strict=False)) <= 1 for counts in scales.values())


async def test_one_cut_off_writes_nothing_after_its_deadline_and_takes_part_again_later(replicas: Replicas) -> None:
    crew = await three(replicas)
    await apps(replicas)
    await eventually(lambda: shared_out(crew))
    cut = crew[0]
    cut.cable.pull()
    await eventually(lambda: not parts(cut).rights.sharing.membership.is_live, FAIL_OVER)
    replicas.jobs(1)
    await eventually(lambda: all_scaled(replicas, 1), FAIL_OVER)
    assert not cut.operator.task.done()
    cut.cable.plug()
    await eventually(lambda: shared_out(crew))
