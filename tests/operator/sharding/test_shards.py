"""Several active replicas beside one cluster: a share each, one hand-over after the other, and answers from any."""

import asyncio

from keda_py.operator.scaled_objects.state import ObjectState
from tests.operator.replicas import Replica, Replicas
from tests.operator.sharding.crew import METRIC, NAMES, all_scaled, apps, changes, owned, parts, shared_out, three
from tests.waiting import eventually

FAIL_OVER = 5.0
"""With a Lease of 3 s."""
CALM_SECONDS = 0.5


def shown(replica: Replica) -> set[str]:
    """Of which ScaledObjects a replica's metrics tell what they saved."""
    families = parts(replica).parts.shared.instruments.registry.collect()
    samples = (sample for family in families if family.name == "keda_py_replica_seconds" for sample in family.samples)
    return {sample.labels["name"] for sample in samples}


def remembered(replica: Replica) -> list[ObjectState]:
    return list(parts(replica).scaled_objects.states.values())


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
            status, insight = await replica.get(path)
            owner = next(one for one in crew if name in owned(one))
            assert (status, insight["decidedBy"]) == (200, owner.name)
    pages = [parts(replica).parts.shared.instruments for replica in crew]
    for page in pages:
        page.process.sample()
    ours = [page.registry.get_sample_value("keda_py_shards_objects", {"type": "scaledobject"}) for page in pages]
    assert ours == [len(owned(replica)) for replica in crew]
    assert sorted(page.registry.get_sample_value("keda_py_shards_slot") or 0 for page in pages) == [0, 1, 2]
    assert all(page.registry.get_sample_value("keda_py_shards_agreed") for page in pages)


async def test_what_a_dead_replica_had_is_looked_after_again_and_nothing_is_scaled_twice(replicas: Replicas) -> None:
    crew = await three(replicas)
    await apps(replicas)
    await eventually(lambda: shared_out(crew))
    scales = changes(replicas)
    dead = crew.pop(0)
    await replicas.kill(dead)
    replicas.jobs(1)
    await eventually(lambda: all_scaled(replicas, 1), FAIL_OVER)
    await eventually(lambda: shared_out(crew))
    await asyncio.sleep(CALM_SECONDS)
    assert all(scales[name] == [1] for name in NAMES)


async def test_one_cut_off_writes_nothing_after_its_deadline_and_takes_part_again_later(replicas: Replicas) -> None:
    crew = await three(replicas)
    await apps(replicas)
    await eventually(lambda: shared_out(crew))
    cut = crew[0]
    await eventually(lambda: all(state.snapshot for state in remembered(cut)))  # its looks come to nothing
    before = remembered(cut)
    assert shown(cut) == owned(cut)
    cut.cable.pull()
    await eventually(lambda: not parts(cut).rights.membership.is_live, FAIL_OVER)
    replicas.jobs(1)
    await eventually(lambda: all_scaled(replicas, 1), FAIL_OVER)
    assert not cut.operator.task.done()
    await eventually(lambda: not shown(cut))
    cut.cable.plug()
    await eventually(lambda: shared_out(crew))
    assert not {id(state) for state in remembered(cut)} & {id(state) for state in before}
